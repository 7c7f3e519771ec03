/* link - see link.h. */
#include "coordinator/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/store/store.h"

struct link *link_new(struct link_context *x, struct channel *channel)
{
    struct link *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->context = x;
    l->channel = channel;
    l->deadline = mono_after(x->now, LINK_HELLO_NS);
    return l;
}

static void look_after(void *arg, void *peer)
{
    (void)arg;
    link_attend(peer);
}

void link_free(struct link *l)
{
    struct link_context *x = l->context;
    struct link **at = &x->attention;

    control_gone(x->control, l, x->now);
    symbol_desk_gone(x->desk, l, look_after, NULL);
    uploads_orphan(&l->uploads);
    while (*at != NULL && *at != l)
        at = &(*at)->next_attention;
    if (*at != NULL)
        *at = l->next_attention;
    free(l);
}

void link_attend(struct link *l)
{
    struct link_context *x = l->context;

    if (l->attended)
        return;
    l->attended = true;
    l->next_attention = x->attention;
    x->attention = l;
}

/* ---- going out ---- */

void link_send(struct link *l, const struct message *m)
{
    struct link_context *x = l->context;
    enum status st;

    if (l->state == LINK_CLOSED)
        return;
    st = message_encode(m, x->writer);
    if (st == ST_OK)
        st = channel_send(l->channel, wire_writer_bytes(x->writer));
    if (st == ST_OK || st == ST_CLOSED) /* closed: `down` follows */
        return;
    log_warn("event=link_closed host=%s peer=%s why=\"%s: %s\"", l->host, channel_peer(l->channel),
             message_name(m->type), status_text(st));
    x->counters.unreadable++;
    link_leave(l);
}

void link_leave(struct link *l)
{
    l->state = LINK_CLOSED;
    channel_close(l->channel);
}

void link_tick(struct link *l)
{
    struct link_context *x = l->context;

    if (l->state == LINK_NEW && mono_reached(x->now, l->deadline)) {
        x->counters.hello_late++;
        log_info("event=hello_late peer=%s", channel_peer(l->channel));
        link_leave(l);
    } else if (l->state == LINK_UP && l->paused) {
        link_attend(l);
    }
}

static void refuse(struct link *l, enum message_type about, uint64_t number,
                   enum refusal_reason reason, const char *text)
{
    struct message m = {.type = MESSAGE_REFUSAL};

    l->context->counters.refused[reason]++;
    /* The counters go on when the log has had enough of this one. */
    log_line(l->refusals++ < LINK_REFUSALS_MAX ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
             "event=refused host=%s peer=%s message=%s reason=%s why=\"%s\"", l->host,
             channel_peer(l->channel), message_name(about), refusal_name(reason), text);
    m.refusal.about = about;
    m.refusal.number = number;
    m.refusal.reason = reason;
    snprintf(m.refusal.text, sizeof(m.refusal.text), "%s", text);
    link_send(l, &m);
    if (about != MESSAGE_CHUNK && l->refusals >= LINK_REFUSALS_MAX)
        link_leave(l);
}

/* ---- chunks ---- */

/* The store cannot write: without an acknowledgement the agent keeps the chunk and sends it again
 * after its back-off, on a new connection. */
static void put_off(struct link *l, enum status why)
{
    struct link_context *x = l->context;

    x->counters.chunks_put_off++;
    if (!x->putting_off)
        log_error("event=chunks_put_off why=\"%s\" action=\"agents keep them\"", status_text(why));
    x->putting_off = true;
    link_leave(l);
}

static void tell_control(struct link_context *x, struct upload *u, const struct ingest_result *r)
{
    if (x->putting_off)
        log_info("event=chunks_taken_again");
    x->putting_off = false;
    if (r->status == ST_OK) /* a duplicate was counted when it came first */
        control_chunk_stored(x->control, u->host, &r->info);
}

static void want_symbols(struct link *l, const struct ingest_result *r)
{
    for (uint32_t i = 0; i < r->new_binary_count; i++)
        if (symbol_desk_want(l->context->desk, &r->new_binaries[i], l, l->context->now) != ST_OK)
            return; /* the desk is full; a later chunk says it again */
}

static void on_ingested(void *arg, const struct ingest_result *r)
{
    struct upload *u = arg;
    struct link *l = u->owner;
    bool stored = r->refusal == 0 && (r->status == ST_OK || r->status == ST_EXISTS);

    if (stored)
        tell_control(u->context, u, r);
    if (l == NULL) {
        upload_free(u);
        return;
    }
    if (r->refusal != 0) {
        refuse(l, MESSAGE_CHUNK, u->number, r->refusal, r->text);
    } else if (!stored) {
        uploads_fail(&l->uploads, u);
        put_off(l, r->status);
        return;
    } else {
        want_symbols(l, r);
    }
    l->ack_due |= uploads_finish(&l->uploads, u);
    link_attend(l);
}

static bool is_overfull(const struct link *l)
{
    const struct link_context *x = l->context;

    return l->uploads.count >= 2 * x->window || l->uploads.bytes >= LINK_UNPROCESSED_MAX ||
           store_waiting_bytes(x->store) >= LINK_STORE_WAITING_MAX;
}

static void hand_to_ingest(struct link *l, struct upload *u, struct slice bytes)
{
    struct link_context *x = l->context;
    enum status st;

    u->owner = l;
    u->context = x;
    x->counters.chunks++;
    st = ingest_chunk(x->ingest, l->host, bytes, x->wall, on_ingested, u);
    if (st == ST_OK)
        return;
    uploads_untake(&l->uploads, u);
    put_off(l, st);
}

/* One that is not new: it came again, or too many came at once. */
static void answer_old_chunk(struct link *l, uint64_t number, enum status why)
{
    struct link_context *x = l->context;

    if (why == ST_FULL) {
        refuse(l, MESSAGE_CHUNK, number, REFUSAL_LIMIT,
               "64 chunks are unacknowledged: keep to the window of the welcome");
        link_leave(l);
    } else if (why == ST_EXISTS || why == ST_BAD_STATE) {
        x->counters.chunks_again++;
        if (why == ST_EXISTS) { /* else the acknowledgement is still to come */
            l->ack_due = true;
            link_attend(l);
        }
    } else {
        put_off(l, why);
    }
}

static void take_chunk(struct link *l, const struct chunk_message *m)
{
    struct upload *u;
    enum status st = uploads_take(&l->uploads, m->number, m->bytes.length, l->host, &u);

    if (st != ST_OK) {
        answer_old_chunk(l, m->number, st);
        return;
    }
    hand_to_ingest(l, u, m->bytes);
    if (l->state == LINK_UP && !l->paused && is_overfull(l)) {
        l->paused = true;
        l->context->counters.pauses++;
        channel_pause(l->channel, true);
    }
}

/* ---- symbols ---- */

static void on_symbols(void *arg, const struct symbols_result *result)
{
    struct link_context *x = arg;
    const struct build_id *id = &result->id;
    enum status st = result->status;
    char text[BUILD_ID_TEXT_MAX];
    struct link *next;

    if (st == ST_OK || st == ST_EXISTS) {
        x->counters.symbols_got++;
        next = symbol_desk_got(x->desk, id);
        if (next != NULL)
            link_attend(next);
        return;
    }
    if (st == ST_IO || st == ST_NO_SPACE || st == ST_NOMEM) {
        symbol_desk_put_back(x->desk, id);
        return;
    }
    log_warn("event=symbols_not_stored build_id=%s why=\"%s\"", build_id_format(id, text),
             status_text(st));
    next = symbol_desk_lacks(x->desk, id, x->now);
    if (next != NULL)
        link_attend(next);
}

static void lacks_symbols(struct link *l, const struct build_id *id)
{
    struct link *next = symbol_desk_lacks(l->context->desk, id, l->context->now);

    if (next != NULL)
        link_attend(next);
    link_attend(l); /* it may be asked for another */
}

static void take_symbols(struct link *l, const struct symbols_part *part)
{
    struct link_context *x = l->context;
    const struct symbols_source source = {
        .origin = SYMBOL_FROM_AGENT, .from = l->host, .name = "", .now = x->wall};
    enum status st;

    if (!symbol_desk_heard(x->desk, &part->id, l, x->now)) {
        refuse(l, MESSAGE_SYMBOLS, 0, REFUSAL_NOT_WANTED,
               "symbols are sent when they are asked for");
        return;
    }
    st = ingest_symbols(x->ingest, &source, part, on_symbols, x);
    if (part->parts == 0) {
        x->counters.symbols_lacking++;
        lacks_symbols(l, &part->id);
    } else if (st == ST_INVALID || st == ST_TOO_BIG) {
        refuse(l, MESSAGE_SYMBOLS, 0, st == ST_INVALID ? REFUSAL_MALFORMED : REFUSAL_TOO_BIG,
               st == ST_INVALID ? "the parts of an upload come in order"
                                : "a packed symbol table is at most SYMTAB_PACKED_MAX bytes");
        lacks_symbols(l, &part->id);
    } else if (st == ST_EXISTS || st == ST_NOT_FOUND) { /* nobody needs them */
        (void)symbol_desk_got(x->desk, &part->id);
        link_attend(l);
    } else if (st != ST_OK) { /* too many at once, or no memory */
        symbol_desk_put_back(x->desk, &part->id);
    }
}

/* Who comes back may have what was asked for before: in a life of ours, or on a connection, that is
 * over. Each hello looks at the next few. */
static void offer_missing_symbols(struct link *l)
{
    struct link_context *x = l->context;
    struct build_id ids[LINK_MISSING_MAX];
    uint32_t count = ingest_missing_symbols(x->ingest, &x->missing_cursor, ids, LINK_MISSING_MAX);

    for (uint32_t i = 0; i < count; i++)
        if (symbol_desk_want(x->desk, &ids[i], l, x->now) != ST_OK)
            return;
    link_attend(l);
}

static void ask_for_symbols(struct link *l)
{
    struct link_context *x = l->context;
    struct message m = {.type = MESSAGE_SYMBOLS_WANTED};

    m.symbols_wanted.count =
        symbol_desk_ask(x->desk, l, x->now, m.symbols_wanted.ids, MESSAGE_BUILD_IDS_MAX);
    if (m.symbols_wanted.count == 0)
        return;
    x->counters.symbols_asked += m.symbols_wanted.count;
    link_send(l, &m);
}

/* ---- control messages ---- */

static void take_hello(struct link *l, const struct hello *h)
{
    struct link_context *x = l->context;
    char why[CONTROL_WHY_MAX] = "";
    enum status st;

    if (l->state == LINK_UP) {
        refuse(l, MESSAGE_HELLO, 0, REFUSAL_MALFORMED, "a connection says hello once");
        return;
    }
    memcpy(l->host, h->host, sizeof(l->host));
    l->state = LINK_UP;
    st = control_hello(x->control, l, h, x->now, x->wall, why);
    if (st == ST_OK) {
        log_info("event=agent_up host=%s incarnation=%016llx peer=%s", l->host,
                 (unsigned long long)h->incarnation, channel_peer(l->channel));
        offer_missing_symbols(l);
        return;
    }
    refuse(l, MESSAGE_HELLO, 0, st == ST_FULL ? REFUSAL_LIMIT : REFUSAL_MALFORMED, why);
    link_leave(l);
}

static void take_heartbeat(struct link *l, const struct heartbeat *h)
{
    struct link_context *x = l->context;
    struct message m = {.type = MESSAGE_HEARTBEAT_REPLY,
                        .heartbeat_reply = {.sent_mono = h->sent_mono, .now = x->wall}};

    control_heartbeat(x->control, l, h, x->now, x->wall);
    link_send(l, &m);
}

static void take_refusal(struct link *l, const struct refusal *r)
{
    l->context->counters.agent_refusals++;
    log_warn("event=agent_refused host=%s message=%s reason=%s why=\"%s\"", l->host,
             message_name((enum message_type)r->about), refusal_name(r->reason), r->text);
}

static void dispatch(struct link *l, const struct message *m)
{
    struct link_context *x = l->context;

    switch (m->type) {
    case MESSAGE_HELLO:
        take_hello(l, &m->hello);
        return;
    case MESSAGE_HEARTBEAT:
        take_heartbeat(l, &m->heartbeat);
        return;
    case MESSAGE_PLAN_ACK:
        control_plan_ack(x->control, l, &m->plan_ack);
        return;
    case MESSAGE_PROFILER_STATE:
        control_profiler_state(x->control, l, &m->profiler_state, x->wall);
        return;
    case MESSAGE_CHUNK:
        take_chunk(l, &m->chunk);
        return;
    case MESSAGE_SYMBOLS:
        take_symbols(l, &m->symbols);
        return;
    case MESSAGE_REFUSAL:
        take_refusal(l, &m->refusal);
        return;
    case MESSAGE_NONE:
    case MESSAGE_WELCOME:
    case MESSAGE_HEARTBEAT_REPLY:
    case MESSAGE_PLAN:
    case MESSAGE_CHUNK_ACK:
    case MESSAGE_SYMBOLS_WANTED:
        refuse(l, m->type, 0, REFUSAL_UNKNOWN_TYPE, "only the coordinator says this");
        return;
    }
}

static enum refusal_reason reason_of(enum status st)
{
    if (st == ST_TOO_BIG)
        return REFUSAL_TOO_BIG;
    if (st == ST_UNSUPPORTED)
        return REFUSAL_VERSION;
    if (st == ST_NOT_FOUND)
        return REFUSAL_UNKNOWN_TYPE;
    return REFUSAL_MALFORMED;
}

void link_frame(struct link *l, struct slice body)
{
    struct message m;
    const char *why = "";
    enum status st;

    if (l->state == LINK_CLOSED)
        return;
    st = message_decode(body, &m, &why);
    if (st != ST_OK) {
        refuse(l, m.type, 0, reason_of(st), why);
        if (st == ST_UNSUPPORTED)
            link_leave(l);
        return;
    }
    if (l->state == LINK_NEW && m.type != MESSAGE_HELLO) {
        refuse(l, m.type, 0, REFUSAL_NO_HELLO, "a connection says hello first");
    } else {
        control_heard(l->context->control, l, l->context->now);
        dispatch(l, &m);
    }
    message_deinit(&m);
}

/* ---- what has become due ---- */

static void acknowledge(struct link *l)
{
    struct message m = {.type = MESSAGE_CHUNK_ACK,
                        .chunk_ack = {.number = l->uploads.acked, .window = l->context->window}};

    l->ack_due = false;
    l->context->counters.acks++;
    link_send(l, &m);
}

void links_attend(struct link_context *x)
{
    while (x->attention != NULL) {
        struct link *l = x->attention;

        x->attention = l->next_attention;
        l->attended = false;
        if (l->state != LINK_UP)
            continue;
        if (l->ack_due)
            acknowledge(l);
        if (l->paused && !x->quiescing && !is_overfull(l)) {
            l->paused = false;
            channel_pause(l->channel, false);
        }
        ask_for_symbols(l);
    }
}
