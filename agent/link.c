#include "agent/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/channel.h"
#include "common/chunk.h"
#include "common/id.h"
#include "common/log.h"

enum link_state { LINK_DOWN, LINK_DIALING, LINK_GREETING, LINK_UP };

struct link {
    struct link_options options;
    char *url;
    struct channel_hub *hub;
    struct channel *channel; /* NULL when down */
    struct wire_writer *writer;
    enum link_state state;
    struct mono deadline; /* DOWN: dial again; DIALING, GREETING: give up; UP: silence is over */
    struct mono next_heartbeat, hello_sent;
    struct mono now; /* of the running call, for the channel's callbacks */
    struct wall wall;
    uint64_t backoff_ns;
    uint64_t heartbeat_ns, idle_ns;
    uint32_t window;
    uint64_t sending; /* number of the last chunk sent on this connection */
    uint64_t under_way[LINK_WINDOW_MAX]; /* numbers, ascending */
    uint32_t under_way_count;
    bool taken; /* some chunk was acknowledged on this connection */
    bool put_off; /* the last one ended with chunks under way, none taken; or it was replaced */
    int64_t boot_ns; /* the coordinator's time when our monotonic clock stood at zero */
    bool knows_time; /* it has told */
    bool complained; /* one log line for each loss of the coordinator */
    struct link_counters counters;
};

/* ---- going down and coming back ---- */

/* Between half and all of the back-off, so that a fleet does not come back in step. */
static struct mono jittered(const struct link *l)
{
    uint64_t half = l->backoff_ns / 2;

    return mono_after(l->now, half + random_u64() % (half + 1));
}

static void go_down(struct link *l, const char *why)
{
    if (!l->complained)
        log_warn("event=coordinator_lost url=%s why=\"%s\" action=\"spooling, dialing again\"",
                 l->url, why);
    l->complained = true;
    if (l->state == LINK_UP)
        l->put_off |= l->under_way_count > 0 && !l->taken;
    l->state = LINK_DOWN;
    l->channel = NULL;
    l->deadline = jittered(l);
    l->backoff_ns *= 2;
    if (l->backoff_ns > LINK_BACKOFF_MAX_NS)
        l->backoff_ns = LINK_BACKOFF_MAX_NS;
}

/* The channel's `down` follows and does the rest. */
static void give_up(struct link *l, const char *why)
{
    if (!l->complained)
        log_warn("event=coordinator_given_up url=%s why=\"%s\"", l->url, why);
    l->complained = true;
    channel_close(l->channel);
    l->deadline = mono_after(l->now, LINK_WELCOME_NS); /* not again each tick */
}

static void dial(struct link *l)
{
    enum status st;

    l->counters.dials++;
    st = channel_dial(l->hub, l->url, &l->channel);
    if (st != ST_OK) {
        go_down(l, status_text(st));
        return;
    }
    l->state = LINK_DIALING;
    l->deadline = mono_after(l->now, LINK_WELCOME_NS);
}

/* ---- saying ---- */

static enum status say(struct link *l, const struct message *m)
{
    enum status st;

    if (l->channel == NULL)
        return ST_BAD_STATE;
    st = message_encode(m, l->writer);
    if (st == ST_OK)
        st = channel_send(l->channel, wire_writer_bytes(l->writer));
    if (st == ST_OK)
        l->counters.bytes_sent += wire_writer_bytes(l->writer).length;
    return st;
}

void link_send(struct link *l, const struct message *m)
{
    enum status st;

    if (l->state != LINK_UP)
        return;
    st = say(l, m);
    if (st != ST_OK && st != ST_CLOSED)
        log_warn("event=message_not_sent type=%s why=\"%s\"", message_name(m->type),
                 status_text(st));
}

static void say_hello(struct link *l)
{
    struct message m = {.type = MESSAGE_HELLO};
    enum status st;

    l->options.handler.fill_hello(l->options.handler.arg, &m.hello);
    m.hello.sent = l->wall;
    l->hello_sent = l->now;
    st = say(l, &m);
    message_deinit(&m);
    if (st != ST_OK)
        give_up(l, status_text(st));
    else
        l->state = LINK_GREETING;
}

static void say_heartbeat(struct link *l)
{
    struct message m = {.type = MESSAGE_HEARTBEAT};
    struct spool_counters spool = spool_read_counters(l->options.spool);

    l->options.handler.fill_heartbeat(l->options.handler.arg, &m.heartbeat);
    m.heartbeat.cost.bytes_sent = l->counters.bytes_sent;
    m.heartbeat.sent = l->wall;
    m.heartbeat.sent_mono = l->now;
    m.heartbeat.spool_chunks = spool.chunks;
    m.heartbeat.spool_bytes = spool.bytes;
    m.heartbeat.spool_dropped_chunks = spool.dropped_chunks;
    m.heartbeat.spool_dropped_samples = spool.dropped_samples;
    m.heartbeat.clock_offset_ns = link_clock_offset_ns(l, l->now, l->wall);
    link_send(l, &m);
    l->next_heartbeat = mono_after(l->now, l->heartbeat_ns);
}

/* ---- chunks ---- */

static bool has_room(const struct link *l)
{
    return l->under_way_count < l->window &&
           channel_queued_bytes(l->channel) + CHUNK_PACKED_MAX < LINK_QUEUED_BYTES_MAX;
}

static enum status send_next_chunk(struct link *l)
{
    struct message m = {.type = MESSAGE_CHUNK};
    struct blob chunk;
    uint64_t number;
    enum status st = spool_next(l->options.spool, l->sending, &number, &chunk);

    if (st != ST_OK)
        return st;
    m.chunk.number = number;
    m.chunk.bytes = blob_slice(&chunk);
    st = say(l, &m);
    blob_deinit(&chunk);
    if (st != ST_OK)
        return st;
    l->sending = number;
    l->under_way[l->under_way_count++] = number;
    l->counters.chunks_sent++;
    return ST_OK;
}

static void send_chunks(struct link *l)
{
    while (l->state == LINK_UP && has_room(l))
        if (send_next_chunk(l) != ST_OK)
            return; /* no more, or the channel is full or going down: the next tick looks again */
}

static void take_ack(struct link *l, const struct chunk_ack *a)
{
    uint32_t done = 0;

    while (done < l->under_way_count && l->under_way[done] <= a->number)
        done++;
    if (done > 0) {
        spool_acknowledge(l->options.spool, l->under_way[done - 1]);
        l->taken = true;
        l->put_off = false;
        l->backoff_ns = LINK_BACKOFF_MIN_NS;
    }
    memmove(l->under_way, l->under_way + done,
            (l->under_way_count - done) * sizeof(l->under_way[0]));
    l->under_way_count -= done;
    l->counters.chunks_acknowledged += done;
    l->window = a->window < LINK_WINDOW_MAX ? a->window : LINK_WINDOW_MAX;
    send_chunks(l);
}

/* ---- hearing ---- */

/* Where the coordinator's clock stands, by an answer that took `round_trip_ns`. */
static void note_clock(struct link *l, struct wall theirs, struct mono asked)
{
    uint64_t round_trip_ns = mono_since(l->now, asked);

    l->boot_ns = (int64_t)(theirs.ns + round_trip_ns / 2 - l->now.ns);
    l->knows_time = true;
}

static void take_welcome(struct link *l, const struct welcome *w)
{
    l->state = LINK_UP;
    l->counters.welcomes++;
    /* A coordinator whose disk is full welcomes and then hangs up; one that two agents of one name
     * fight over does so too. Neither is helped by ten dials a second. */
    if (!l->put_off)
        l->backoff_ns = LINK_BACKOFF_MIN_NS;
    l->window = w->window < LINK_WINDOW_MAX ? w->window : LINK_WINDOW_MAX;
    l->heartbeat_ns = w->heartbeat_ns;
    l->idle_ns = w->idle_limit_ns;
    l->sending = 0; /* what was under way on the last connection goes again */
    l->under_way_count = 0;
    l->taken = false;
    l->complained = false;
    note_clock(l, w->now, l->hello_sent);
    log_info("event=welcomed url=%s window=%" PRIu32, l->url, l->window);
    l->options.handler.welcomed(l->options.handler.arg);
    say_heartbeat(l);
    send_chunks(l);
}

static void take_refusal(struct link *l, const struct refusal *r)
{
    if (r->about == MESSAGE_CHUNK)
        l->counters.chunks_refused++;
    l->put_off |= r->reason == REFUSAL_REPLACED;
    log_warn("event=refused about=%" PRIu64 " number=%" PRIu64 " reason=%s why=\"%s\"", r->about,
             r->number, refusal_name(r->reason), r->text);
}

static void take(struct link *l, const struct message *m)
{
    const struct link_handler *h = &l->options.handler;

    if (l->state == LINK_GREETING && m->type != MESSAGE_WELCOME && m->type != MESSAGE_REFUSAL)
        return; /* of no use before the welcome; it is said again after it */
    switch (m->type) {
    case MESSAGE_WELCOME:
        take_welcome(l, &m->welcome);
        break;
    case MESSAGE_HEARTBEAT_REPLY:
        note_clock(l, m->heartbeat_reply.now, m->heartbeat_reply.sent_mono);
        break;
    case MESSAGE_PLAN:
        h->plan(h->arg, &m->plan);
        break;
    case MESSAGE_CHUNK_ACK:
        take_ack(l, &m->chunk_ack);
        break;
    case MESSAGE_SYMBOLS_WANTED:
        h->symbols_wanted(h->arg, &m->symbols_wanted);
        break;
    case MESSAGE_REFUSAL:
        take_refusal(l, &m->refusal);
        break;
    case MESSAGE_NONE:
    case MESSAGE_HELLO:
    case MESSAGE_HEARTBEAT:
    case MESSAGE_PLAN_ACK:
    case MESSAGE_PROFILER_STATE:
    case MESSAGE_CHUNK:
    case MESSAGE_SYMBOLS:
        l->counters.malformed++; /* an agent's to say, not a coordinator's */
        break;
    }
}

static void refuse(struct link *l, enum message_type about, enum status st, const char *why)
{
    struct message m = {.type = MESSAGE_REFUSAL};

    l->counters.malformed++;
    m.refusal.about = about;
    m.refusal.reason = refusal_for(st);
    (void)snprintf(m.refusal.text, sizeof(m.refusal.text), "%s", why);
    (void)say(l, &m);
}

static void on_up(void *arg, struct channel *c)
{
    struct link *l = arg;

    if (c == l->channel)
        say_hello(l);
}

static void on_frame(void *arg, struct channel *c, struct slice body)
{
    struct link *l = arg;
    struct message m;
    const char *why = NULL;
    enum status st;

    if (c != l->channel)
        return;
    st = message_decode(body, &m, &why);
    if (st != ST_OK) {
        refuse(l, m.type, st, why);
        return;
    }
    take(l, &m);
    if (l->state == LINK_UP)
        l->deadline = mono_after(l->now, l->idle_ns);
    message_deinit(&m);
}

static void on_down(void *arg, struct channel *c, enum status why)
{
    struct link *l = arg;

    if (c == l->channel)
        go_down(l, status_text(why));
}

/* ---- the owner's calls ---- */

enum status link_new(const struct link_options *options, struct link **out)
{
    const struct channel_options channel = {.frame_bytes_max = MESSAGE_BYTES_MAX,
                                            .queued_bytes_max = LINK_QUEUED_BYTES_MAX,
                                            .connections_max = 4,
                                            .wake = options->wake,
                                            .arg = options->wake_arg};
    struct link *l = calloc(1, sizeof(*l));
    enum status st = ST_NOMEM;

    if (l == NULL)
        return ST_NOMEM;
    l->options = *options;
    l->backoff_ns = LINK_BACKOFF_MIN_NS;
    l->url = strdup(options->url);
    if (l->url == NULL)
        goto out;
    st = wire_writer_new(MESSAGE_BYTES_MAX, &l->writer);
    if (st != ST_OK)
        goto out;
    st = channel_hub_new(&channel, &l->hub);
    if (st != ST_OK)
        goto out;
    *out = l;
    l = NULL;
out:
    link_free(l);
    return st;
}

void link_free(struct link *l)
{
    if (l == NULL)
        return;
    channel_hub_free(l->hub);
    wire_writer_free(l->writer);
    free(l->url);
    free(l);
}

static void set_time(struct link *l, struct mono now, struct wall wall)
{
    l->now = now;
    l->wall = wall;
}

void link_drain(struct link *l, struct mono now, struct wall wall)
{
    const struct channel_handler handler = {on_up, on_frame, on_down, l};

    set_time(l, now, wall);
    channel_hub_drain(l->hub, &handler);
}

void link_tick(struct link *l, struct mono now, struct wall wall)
{
    set_time(l, now, wall);
    if (l->state == LINK_UP) {
        if (mono_reached(now, l->next_heartbeat))
            say_heartbeat(l);
        send_chunks(l);
    }
    if (!mono_reached(now, l->deadline))
        return;
    switch (l->state) {
    case LINK_DOWN:
        dial(l);
        break;
    case LINK_DIALING:
    case LINK_GREETING:
        give_up(l, "no welcome in time");
        break;
    case LINK_UP:
        give_up(l, "silent for too long");
        break;
    }
}

bool link_is_up(const struct link *l)
{
    return l->state == LINK_UP;
}

bool link_has_unsent(const struct link *l)
{
    return spool_read_counters(l->options.spool).chunks > 0;
}

size_t link_queued_bytes(const struct link *l)
{
    return l->channel == NULL ? 0 : channel_queued_bytes(l->channel);
}

int64_t link_clock_offset_ns(const struct link *l, struct mono now, struct wall wall)
{
    return l->knows_time ? (int64_t)((uint64_t)l->boot_ns + now.ns - wall.ns) : 0;
}

struct link_counters link_read_counters(const struct link *l)
{
    return l->counters;
}
