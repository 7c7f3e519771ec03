#include "link_world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/chunk.h"

enum { PATIENCE_S = 40 };

/* ---- doorbells ---- */

static void ring(struct link_world *w, bool *bell)
{
    pthread_mutex_lock(&w->lock);
    *bell = true;
    pthread_cond_signal(&w->rung);
    pthread_mutex_unlock(&w->lock);
}

static void ring_store(void *arg)
{
    struct link_world *w = arg;

    ring(w, &w->store_rings);
}

static void ring_links(void *arg)
{
    struct link_world *w = arg;

    ring(w, &w->links_ring);
}

static void ring_agents(void *arg)
{
    struct link_world *w = arg;

    ring(w, &w->agents_ring);
}

/* ---- the coordinator's side ---- */

static void send_to(void *arg, struct link *link, const struct message *m)
{
    (void)arg;
    link_server_send(link, m);
}

static void close_of(void *arg, struct link *link)
{
    (void)arg;
    link_server_close_link(link);
}

static void ignore_change(void *arg, uint64_t session)
{
    (void)arg;
    (void)session;
}

static void tell_time(struct link_world *w)
{
    control_time(w->control, w->now, w->wall);
    link_server_time(w->server, w->now, w->wall);
}

void passes(struct link_world *w, unsigned seconds)
{
    w->now.ns += seconds * NS_PER_S;
    w->wall.ns += seconds * NS_PER_S;
    tell_time(w);
    control_tick(w->control, w->now, w->wall);
    link_server_tick(w->server);
}

/* ---- the agents' side ---- */

static void on_up(void *arg, struct channel *c)
{
    struct agent_end *a = channel_owner(c);

    (void)arg;
    a->up = true;
}

static void note_wanted(struct agent_end *a, const struct symbols_wanted *s)
{
    a->wanted_messages++;
    for (uint32_t i = 0; i < s->count && a->wanted_count < 8; i++)
        a->wanted[a->wanted_count++] = s->ids[i];
}

static void on_frame(void *arg, struct channel *c, struct slice body)
{
    struct agent_end *a = channel_owner(c);
    struct message m;
    const char *why = "";

    (void)arg;
    if (message_decode(body, &m, &why) != ST_OK)
        fail_msg("the coordinator says what is no message: %s", why);
    if (m.type == MESSAGE_WELCOME) {
        a->welcomes++;
    } else if (m.type == MESSAGE_PLAN) {
        a->plans++;
        a->plan = m.plan;
    } else if (m.type == MESSAGE_CHUNK_ACK) {
        a->acks++;
        a->ack = m.chunk_ack;
    } else if (m.type == MESSAGE_REFUSAL) {
        a->refusals++;
        a->refusal = m.refusal;
    } else if (m.type == MESSAGE_HEARTBEAT_REPLY) {
        a->replies++;
    } else if (m.type == MESSAGE_SYMBOLS_WANTED) {
        note_wanted(a, &m.symbols_wanted);
    }
    message_deinit(&m);
}

static void on_down(void *arg, struct channel *c, enum status why)
{
    struct agent_end *a = channel_owner(c);

    (void)arg;
    (void)why;
    a->channel = NULL;
    a->up = false;
}

/* ---- turning ---- */

static bool take(bool *bell)
{
    bool rings = *bell;

    *bell = false;
    return rings;
}

static void turn(struct link_world *w, const struct timespec *deadline, const char *what)
{
    struct channel_handler agents = {on_up, on_frame, on_down, w};
    bool store, links, hears;

    pthread_mutex_lock(&w->lock);
    while (!(w->store_rings && !w->hold_store) && !w->links_ring && !w->agents_ring)
        if (pthread_cond_timedwait(&w->rung, &w->lock, deadline) != 0) {
            pthread_mutex_unlock(&w->lock);
            fail_msg("waited in vain until %s", what);
        }
    store = !w->hold_store && take(&w->store_rings);
    links = take(&w->links_ring);
    hears = take(&w->agents_ring);
    pthread_mutex_unlock(&w->lock);

    tell_time(w);
    if (store) {
        store_complete(w->store);
        link_server_attend(w->server);
    }
    if (links)
        link_server_drain(w->server);
    if (hears)
        channel_hub_drain(w->hub, &agents);
}

void turn_until(struct link_world *w, const char *what, bool (*is)(void *arg), void *arg)
{
    struct timespec deadline;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_S;
    while (!is(arg))
        turn(w, &deadline, what);
}

struct expected_count {
    const uint32_t *counter;
    uint32_t count;
};

static bool is_reached(void *arg)
{
    const struct expected_count *e = arg;

    return *e->counter >= e->count;
}

void turn_until_count(struct link_world *w, const char *what, const uint32_t *counter,
                      uint32_t count)
{
    struct expected_count e = {counter, count};

    turn_until(w, what, is_reached, &e);
}

static bool is_down(void *arg)
{
    const struct agent_end *a = arg;

    return a->channel == NULL;
}

void turn_until_down(struct link_world *w, const struct agent_end *a)
{
    turn_until(w, "the connection is closed", is_down, (void *)(uintptr_t)a);
}

void turn_around(struct link_world *w, struct agent_end *a)
{
    struct message m = {.type = MESSAGE_HEARTBEAT};
    uint32_t replies = a->replies;

    says(w, a, &m);
    turn_until_count(w, "the heartbeat is answered", &a->replies, replies + 1);
}

/* ---- life ---- */

static bool store_is_idle(void *arg)
{
    const struct link_world *w = arg;

    return store_waiting_bytes(w->store) == 0;
}

static void open_daemon(struct link_world *w)
{
    struct store_options store = {
        .directory = w->directory, .map_bytes = UINT64_C(1) << 30, .wake = ring_store, .arg = w};
    struct control_options control = {
        .window = 4, .send = send_to, .close = close_of, .changed = ignore_change, .arg = w};
    struct link_server_options server = {
        .window = 4, .now = w->now, .wall = w->wall, .wake = ring_links, .arg = w};
    char why[STORE_WHY_MAX] = "";

    if (store_open(&store, &w->store, why) != ST_OK)
        fail_msg("%s", why);
    assert_int_equal(ingest_new(w->store, NULL, &w->ingest), ST_OK);
    control.store = w->store;
    assert_int_equal(control_new(&control, w->now, w->wall, &w->control), ST_OK);
    server.store = w->store;
    server.ingest = w->ingest;
    server.control = w->control;
    assert_int_equal(link_server_open(&server, &w->server), ST_OK);
    if (link_server_listen(w->server, "tcp://127.0.0.1:0", why) != ST_OK)
        fail_msg("%s", why);
}

int link_world_set_up(void **state)
{
    struct link_world *w = calloc(1, sizeof(*w));
    struct channel_options hub = {.frame_bytes_max = 64 << 20,
                                  .queued_bytes_max = 64 << 20,
                                  .connections_max = LINK_WORLD_AGENTS,
                                  .wake = ring_agents,
                                  .arg = w};

    assert_non_null(w);
    strcpy(w->directory, "/tmp/fleetprof-link-XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->rung, NULL);
    w->now = clock_mono();
    w->wall = clock_wall();
    open_daemon(w);
    assert_int_equal(channel_hub_new(&hub, &w->hub), ST_OK);
    *state = w;
    return 0;
}

static void remove_directory(const char *path)
{
    DIR *d = opendir(path);
    char file[512];

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            unlink(file);
    }
    closedir(d);
    rmdir(path);
}

int link_world_tear_down(void **state)
{
    struct link_world *w = *state;

    w->hold_store = false;
    channel_hub_free(w->hub);
    turn_until(w, "nothing waits", store_is_idle, w);
    link_server_close(w->server);
    while (store_waiting_bytes(w->store) > 0)
        store_complete(w->store);
    control_free(w->control);
    ingest_free(w->ingest);
    store_close(w->store);
    remove_directory(w->directory);
    pthread_cond_destroy(&w->rung);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return 0;
}

/* ---- what agents do ---- */

static bool is_up(void *arg)
{
    const struct agent_end *a = arg;

    return a->up;
}

struct agent_end *connects(struct link_world *w, unsigned agent)
{
    struct agent_end *a = &w->agents[agent];
    char url[64];

    *a = (struct agent_end){0};
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", link_server_port(w->server));
    assert_int_equal(channel_dial(w->hub, url, &a->channel), ST_OK);
    channel_set_owner(a->channel, a);
    turn_until(w, "the agent is connected", is_up, a);
    return a;
}

void says_bytes(struct agent_end *a, const void *bytes, size_t length)
{
    assert_int_equal(channel_send(a->channel, (struct slice){bytes, length}), ST_OK);
}

void says(struct link_world *w, struct agent_end *a, const struct message *m)
{
    struct wire_writer *writer = NULL;
    struct slice bytes;

    (void)w;
    assert_int_equal(wire_writer_new(64 << 20, &writer), ST_OK);
    assert_int_equal(message_encode(m, writer), ST_OK);
    bytes = wire_writer_bytes(writer);
    says_bytes(a, bytes.bytes, bytes.length);
    wire_writer_free(writer);
}

void introduces_itself(struct link_world *w, struct agent_end *a, const char *host)
{
    struct message m = {.type = MESSAGE_HELLO};

    snprintf(m.hello.host, sizeof(m.hello.host), "%s", host);
    snprintf(m.hello.version, sizeof(m.hello.version), "0.1.0");
    m.hello.incarnation = 1;
    m.hello.cpus = 1;
    says(w, a, &m);
    turn_until_count(w, "the agent is given a plan", &a->plans, 1);
}

static bool has_item(void *arg)
{
    const struct agent_end *a = arg;

    return a->plan.item_count > 0;
}

struct id128 is_planned(struct link_world *w, struct agent_end *a)
{
    struct session_request r = {.event = EVENT_CPU, .hz = 99, .duration_ns = 60 * NS_PER_S};
    char why[CONTROL_WHY_MAX] = "";

    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_OK);
    turn_until(w, "the plan has an item", has_item, a);
    return a->plan.items[0].profiler;
}

void uploads(struct link_world *w, struct agent_end *a, uint64_t number, struct id128 profiler,
             uint64_t sequence, const struct build_id *binary)
{
    char *strings[] = {"burn", "/usr/bin/burn"};
    struct chunk_binary binaries[] = {{.id = *binary, .path = 1}};
    struct chunk_frame frames[] = {{FRAME_NATIVE, 0, CHUNK_NO_PARENT, 0x1234}};
    struct chunk_node nodes[] = {{CHUNK_NO_PARENT, 0}};
    struct chunk_process process = {.pid = 1, .comm = 0, .start_ns = 1};
    struct chunk_thread thread = {.process = 0, .tid = 1, .name = 0};
    struct chunk_group group = {.leaf = 0, .thread = 0, .count = 1};
    uint32_t tick = 5;
    struct chunk c = {
        .info = {.profiler = profiler,
                 .sequence = sequence,
                 .incarnation = 1,
                 .start = {w->now.ns},
                 .end = {w->now.ns + NS_PER_S},
                 .wall_start = w->wall,
                 .event = EVENT_CPU,
                 .period_ns = NS_PER_S / 99,
                 .inclusion = 1,
                 .cpus = 1,
                 .ledger = {.expected = 99, .delivered = 1, .idle = 98}},
        .dictionary = {.strings = strings,
                       .string_count = 2,
                       .binaries = binaries,
                       .binary_count = 1,
                       .frames = frames,
                       .frame_count = 1,
                       .nodes = nodes,
                       .node_count = 1},
        .samples = {.processes = &process,
                    .process_count = 1,
                    .threads = &thread,
                    .thread_count = 1,
                    .groups = &group,
                    .group_count = 1,
                    .ticks = &tick,
                    .sample_count = 1},
    };
    struct message m = {.type = MESSAGE_CHUNK, .chunk = {.number = number}};
    struct blob packed;

    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &packed), ST_OK);
    m.chunk.bytes = blob_slice(&packed);
    says(w, a, &m);
    blob_deinit(&packed);
}

/* ---- counters ---- */

struct wanted_counter {
    const char *name;
    uint64_t value;
    bool found;
};

static void look(void *to, const char *name, uint64_t value)
{
    struct wanted_counter *c = to;

    if (strcmp(name, c->name) != 0)
        return;
    c->value = value;
    c->found = true;
}

uint64_t server_counter(const struct link_world *w, const char *name)
{
    struct wanted_counter c = {.name = name};

    link_server_counters(w->server, look, &c);
    assert_true(c.found);
    return c.value;
}
