/* link_server - see link_server.h. */
#include "coordinator/link_server.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/channel.h"
#include "common/log.h"
#include "coordinator/link.h"

struct link_server {
    struct link_context context;
    struct channel_hub *hub;
    struct channel_listener *first; /* tcp */
    struct link *links;
};

enum status link_server_open(const struct link_server_options *options, struct link_server **out)
{
    struct channel_options hub = {
        .frame_bytes_max = MESSAGE_BYTES_MAX,
        .queued_bytes_max = LINK_QUEUED_MAX,
        .connections_max = LINK_CONNECTIONS_MAX,
        .wake = options->wake,
        .arg = options->arg,
    };
    struct link_server *s = calloc(1, sizeof(*s));
    enum status st;

    if (s == NULL)
        return ST_NOMEM;
    s->context = (struct link_context){
        .control = options->control,
        .ingest = options->ingest,
        .store = options->store,
        .window = options->window,
        .now = options->now,
        .wall = options->wall,
    };
    st = symbol_desk_new(&s->context.desk);
    if (st == ST_OK)
        st = wire_writer_new(MESSAGE_BYTES_MAX, &s->context.writer);
    if (st == ST_OK)
        st = channel_hub_new(&hub, &s->hub);
    if (st != ST_OK) {
        link_server_close(s);
        return st;
    }
    *out = s;
    return ST_OK;
}

enum status link_server_listen(struct link_server *s, const char *url,
                               char why[LINK_SERVER_WHY_MAX])
{
    struct channel_listener *l;
    enum status st = channel_listen(s->hub, url, &l);

    if (st != ST_OK) {
        snprintf(why, LINK_SERVER_WHY_MAX, "cannot listen on %s: %s", url, status_text(st));
        return st;
    }
    if (s->first == NULL && channel_listener_port(l) != 0)
        s->first = l;
    return ST_OK;
}

uint16_t link_server_port(const struct link_server *s)
{
    return s->first != NULL ? channel_listener_port(s->first) : 0;
}

void link_server_close(struct link_server *s)
{
    if (s == NULL)
        return;
    channel_hub_free(s->hub);
    for (struct link *l = s->links; l != NULL; l = l->next)
        l->state = LINK_CLOSED; /* what control still says as the others leave goes nowhere */
    while (s->links != NULL) {
        struct link *l = s->links;

        s->links = l->next;
        link_free(l);
    }
    wire_writer_free(s->context.writer);
    symbol_desk_free(s->context.desk);
    free(s);
}

void link_server_time(struct link_server *s, struct mono now, struct wall wall)
{
    s->context.now = now;
    s->context.wall = wall;
}

/* ---- what the channels tell ---- */

static void on_up(void *arg, struct channel *c)
{
    struct link_server *s = arg;
    struct link *l = s->context.quiescing ? NULL : link_new(&s->context, c);

    if (l == NULL) {
        channel_close(c);
        return;
    }
    channel_set_owner(c, l);
    l->next = s->links;
    if (l->next != NULL)
        l->next->previous = l;
    s->links = l;
}

static void on_frame(void *arg, struct channel *c, struct slice body)
{
    struct link *l = channel_owner(c);

    (void)arg;
    if (l != NULL)
        link_frame(l, body);
}

static void on_down(void *arg, struct channel *c, enum status why)
{
    struct link_server *s = arg;
    struct link *l = channel_owner(c);

    if (l == NULL)
        return;
    if (l->host[0] != '\0')
        log_info("event=agent_down host=%s peer=%s why=\"%s\"", l->host, channel_peer(c),
                 status_text(why));
    if (l->previous != NULL)
        l->previous->next = l->next;
    else
        s->links = l->next;
    if (l->next != NULL)
        l->next->previous = l->previous;
    link_free(l);
}

void link_server_drain(struct link_server *s)
{
    struct channel_handler handler = {on_up, on_frame, on_down, s};

    channel_hub_drain(s->hub, &handler);
    links_attend(&s->context);
}

void link_server_attend(struct link_server *s)
{
    links_attend(&s->context);
}

static void look_after(void *arg, void *peer)
{
    (void)arg;
    link_attend(peer);
}

void link_server_tick(struct link_server *s)
{
    for (struct link *l = s->links, *next; l != NULL; l = next) {
        next = l->next;
        link_tick(l);
    }
    symbol_desk_expire(s->context.desk, s->context.now, look_after, NULL);
    links_attend(&s->context);
}

/* ---- the end ---- */

void link_server_quiesce(struct link_server *s)
{
    s->context.quiescing = true;
    for (struct link *l = s->links; l != NULL; l = l->next)
        channel_pause(l->channel, true);
}

bool link_server_is_quiet(const struct link_server *s)
{
    for (const struct link *l = s->links; l != NULL; l = l->next)
        if (channel_queued_bytes(l->channel) > 0)
            return false;
    return true;
}

/* ---- for control, and for people ---- */

void link_server_send(struct link *l, const struct message *m)
{
    link_send(l, m);
}

void link_server_close_link(struct link *l)
{
    link_leave(l);
}

bool link_server_expects_symbols(void *server, const struct build_id *id)
{
    const struct link_server *s = server;

    return symbol_desk_is_pending(s->context.desk, id);
}

void link_server_counters(const struct link_server *s,
                          void (*visit)(void *to, const char *name, uint64_t value), void *to)
{
    const struct link_counters *counters = &s->context.counters;
    struct channel_counters channels = channel_hub_counters(s->hub);
    char name[64];

#define X(field, help) visit(to, #field, counters->field);
    LINK_COUNTER_LIST(X)
#undef X
    for (size_t r = 1; r < REFUSAL_REASONS; r++) {
        snprintf(name, sizeof(name), "refused_%s", refusal_name((enum refusal_reason)r));
        visit(to, name, counters->refused[r]);
    }
    visit(to, "connections_open", channels.open);
    visit(to, "connections_accepted", channels.accepted);
    visit(to, "connections_refused_full", channels.refused_full);
    visit(to, "connections_closed", channels.closed);
    visit(to, "frames_in", channels.frames_in);
    visit(to, "frames_out", channels.frames_out);
    visit(to, "bytes_in", channels.bytes_in);
    visit(to, "bytes_out", channels.bytes_out);
    visit(to, "frames_too_big", channels.too_big);
    visit(to, "bad_greetings", channels.bad_greeting);
    visit(to, "symbols_missing", symbol_desk_count(s->context.desk));
    visit(to, "symbols_pending", symbol_desk_pending(s->context.desk));
}
