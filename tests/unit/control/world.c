#include "world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chunk.h"

/* Epoch of the held wall clock: any day will do. */
static const struct wall beginning = {UINT64_C(1790000000) * NS_PER_S};

/* ---- the store's doorbell ---- */

static void ring(void *arg)
{
    struct world *w = arg;

    pthread_mutex_lock(&w->lock);
    w->ringing = true;
    pthread_cond_signal(&w->rung);
    pthread_mutex_unlock(&w->lock);
}

void world_settle(struct world *w)
{
    while (store_waiting_bytes(w->store) > 0) {
        pthread_mutex_lock(&w->lock);
        while (!w->ringing)
            pthread_cond_wait(&w->rung, &w->lock);
        w->ringing = false;
        pthread_mutex_unlock(&w->lock);
        store_complete(w->store);
    }
}

/* ---- what control says ---- */

struct link *world_link(unsigned number)
{
    return (struct link *)(uintptr_t)(16 * number); /* never followed */
}

struct said *said_to(struct world *w, unsigned link)
{
    assert_in_range(link, 1, WORLD_LINKS_MAX - 1);
    return &w->said[link];
}

static struct said *said_by_pointer(struct world *w, struct link *link)
{
    return said_to(w, (unsigned)((uintptr_t)link / 16));
}

static void keep(void *arg, struct link *link, const struct message *m)
{
    struct said *s = said_by_pointer(arg, link);

    assert_false(s->closed);
    if (m->type == MESSAGE_PLAN) {
        assert_int_equal(s->welcomes, 1); /* welcome comes first */
        s->plan = m->plan;
        s->plans++;
    } else if (m->type == MESSAGE_WELCOME) {
        s->welcomes++;
    } else if (m->type == MESSAGE_REFUSAL) {
        s->refusals++;
        s->refusal = m->refusal.reason;
    } else {
        fail_msg("control does not say %s", message_name(m->type));
    }
}

static void keep_close(void *arg, struct link *link)
{
    said_by_pointer(arg, link)->closed = true;
}

static void keep_change(void *arg, uint64_t session)
{
    struct world *w = arg;

    (void)session;
    w->changes++;
}

const struct plan_item *only_item(struct world *w, unsigned link)
{
    const struct plan *p = &said_to(w, link)->plan;

    assert_int_equal(p->item_count, 1);
    return &p->items[0];
}

/* ---- life ---- */

static void open_world(struct world *w)
{
    struct store_options store = {
        .directory = w->directory, .map_bytes = UINT64_C(1) << 30, .wake = ring, .arg = w};
    char why[STORE_WHY_MAX] = "";

    if (store_open(&store, &w->store, why) != ST_OK)
        fail_msg("%s", why);
    struct control_options control = {.store = w->store,
                                      .window = 8,
                                      .send = keep,
                                      .close = keep_close,
                                      .changed = keep_change,
                                      .arg = w};
    assert_int_equal(control_new(&control, w->now, w->wall, &w->control), ST_OK);
}

static void close_world(struct world *w)
{
    world_settle(w);
    control_free(w->control);
    store_close(w->store);
}

int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    strcpy(w->directory, "/tmp/fleetprof-control-XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->rung, NULL);
    w->now.ns = 5000 * NS_PER_S;
    w->wall = beginning;
    open_world(w);
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

int world_tear_down(void **state)
{
    struct world *w = *state;

    close_world(w);
    remove_directory(w->directory);
    pthread_cond_destroy(&w->rung);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return 0;
}

void world_restart(struct world *w)
{
    close_world(w);
    memset(w->said, 0, sizeof(w->said));
    open_world(w);
}

void world_pass(struct world *w, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        w->now.ns += NS_PER_S;
        w->wall.ns += NS_PER_S;
        control_tick(w->control, w->now, w->wall);
        world_settle(w);
    }
}

/* ---- what agents say ---- */

void says_hello(struct world *w, unsigned link, struct hello_of of)
{
    struct hello h = {.incarnation = of.incarnation,
                      .plan_revision = of.revision,
                      .version = "0.1.0",
                      .cpus = 2,
                      .sent = {12345}}; /* the agent's clock is worth nothing */
    char why[CONTROL_WHY_MAX] = "";

    snprintf(h.host, sizeof(h.host), "%s", of.host);
    if (of.labels != NULL)
        assert_int_equal(labels_set_pair(&h.labels, of.labels), ST_OK);
    while (h.running_count < 4 && !id128_is_zero(of.running[h.running_count])) {
        h.running[h.running_count] = of.running[h.running_count];
        h.running_count++;
    }
    memset(said_to(w, link), 0, sizeof(struct said));
    if (control_hello(w->control, world_link(link), &h, w->now, w->wall, why) != ST_OK)
        fail_msg("%s", why);
    labels_deinit(&h.labels);
    world_settle(w);
}

void says_heartbeat(struct world *w, unsigned link, uint64_t spool_chunks)
{
    struct heartbeat h = {.spool_chunks = spool_chunks};

    control_heartbeat(w->control, world_link(link), &h, w->now, w->wall);
    world_settle(w);
}

void says_state(struct world *w, unsigned link, struct id128 profiler, enum profiler_state state,
                uint64_t last_sequence, const char *reason)
{
    struct profiler_report r = {
        .profiler = profiler, .state = state, .last_sequence = last_sequence};

    snprintf(r.reason, sizeof(r.reason), "%s", reason);
    control_profiler_state(w->control, world_link(link), &r, w->wall);
    world_settle(w);
}

void acknowledges(struct world *w, unsigned link, uint64_t revision)
{
    struct plan_ack a = {revision};

    control_plan_ack(w->control, world_link(link), &a);
}

/* ---- what operators say ---- */

static void keep_done(void *arg, enum status st, uint64_t session)
{
    struct world *w = arg;

    (void)session;
    w->done = st;
    w->commands_done++;
}

static void remember(void *arg, const struct session_view *s)
{
    uint64_t *newest = arg;

    if (*newest == 0)
        *newest = s->record->id;
}

uint64_t starts(struct world *w, const char *selector, uint32_t hz, unsigned seconds)
{
    struct session_request r = {.selector = selector,
                                .event = EVENT_CPU,
                                .hz = hz,
                                .duration_ns = seconds * NS_PER_S,
                                .owner = "ops",
                                .note = ""};
    char why[CONTROL_WHY_MAX] = "";
    uint64_t newest = 0;

    if (control_start(w->control, &r, w->wall, keep_done, w, why) != ST_OK)
        fail_msg("%s", why);
    world_settle(w);
    assert_int_equal(w->done, ST_OK);
    control_each_session(w->control, remember, &newest);
    assert_int_not_equal(newest, 0);
    return newest;
}

void stops(struct world *w, uint64_t session)
{
    char why[CONTROL_WHY_MAX] = "";

    if (control_stop(w->control, session, NULL, w->wall, keep_done, w, why) != ST_OK)
        fail_msg("%s", why);
    world_settle(w);
    assert_int_equal(w->done, ST_OK);
}

/* ---- chunks ---- */

struct chunk_write {
    struct store_write write;
    struct chunk_info info;
    enum status status;
};

static enum status apply_chunk(struct store_write *write, struct store_txn *t)
{
    struct chunk_write *c = (struct chunk_write *)write;

    /* Nobody here looks at the samples. */
    return store_txn_chunk(t, &c->info, (struct slice){(const uint8_t *)"samples", 7});
}

static void chunk_done(struct store_write *write, enum status st)
{
    ((struct chunk_write *)write)->status = st;
}

void stores_chunk(struct world *w, const char *host, struct id128 profiler, uint64_t sequence,
                  unsigned first, unsigned last, bool final)
{
    uint64_t expected = UINT64_C(99) * (last - first);
    struct chunk_write c = {
        .info = {.profiler = profiler,
                 .sequence = sequence,
                 .incarnation = 1,
                 .final = final,
                 .start = {first * NS_PER_S},
                 .end = {last * NS_PER_S},
                 .wall_start = {beginning.ns + first * NS_PER_S},
                 .event = EVENT_CPU,
                 .period_ns = NS_PER_S / 99,
                 .inclusion = 1,
                 .cpus = 1,
                 .ledger = {.expected = expected, .delivered = expected}},
        .write = {.apply = apply_chunk, .done = chunk_done, .bytes = 7},
    };

    store_submit(w->store, &c.write);
    world_settle(w);
    assert_int_equal(c.status, ST_OK);
    control_chunk_stored(w->control, host, &c.info);
    world_settle(w);
}

/* ---- views ---- */

struct session_view view_of(struct world *w, uint64_t session)
{
    struct session_view v;

    assert_int_equal(control_session(w->control, session, &v), ST_OK);
    return v;
}

const struct session_host_view *host_of(struct world *w, uint64_t session, const char *host)
{
    struct session_view v = view_of(w, session);

    for (uint32_t i = 0; i < v.hosts; i++)
        if (strcmp(v.host_views[i].host, host) == 0)
            return &v.host_views[i];
    fail_msg("%s is not in the session", host);
    return NULL;
}

enum session_state state_of(struct world *w, uint64_t session)
{
    return view_of(w, session).record->state;
}
