/* coordinator - see coordinator.h. The only place of the daemon where its parts know of each other.
 *
 * The end goes in steps, each taken when the one before has come true: requests and chunks are no
 * longer taken, what is in work becomes durable and is acknowledged and answered, connections
 * close, what their closing leaves to write is written, and then everything is freed in reverse. */
#include "coordinator/coordinator.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/url.h"
#include "coordinator/control/control.h"
#include "coordinator/http/api.h"
#include "coordinator/http/server.h"
#include "coordinator/ingest/ingest.h"
#include "coordinator/link_server.h"
#include "coordinator/query/symbolize.h"
#include "coordinator/store/store.h"
#include "coordinator/symbols/debuginfod.h"
#include "coordinator/worker_pool.h"

enum {
    TICK_MS = 1000,
    STOP_TICK_MS = 20, /* while stopping: how often the next step is looked for */
    WORKERS_MIN = 4, /* threads that answer questions; a long one must not hold up the others */
    WORKERS_MAX = 16,
};
#define STOP_LINKS_NS (2 * NS_PER_S) /* for last words to agents that do not read */

enum phase {
    PHASE_RUNNING,
    PHASE_ANSWERING, /* the API's commands and questions end */
    PHASE_CLOSING_HTTP,
    PHASE_STORING, /* what agents have sent becomes durable, and is acknowledged */
    PHASE_RECORDING, /* connections are closed; when agents were last seen is written */
    PHASE_STOPPED,
};

struct coordinator {
    uv_loop_t loop;
    bool loop_open;
    uv_async_t store_wake, link_wake, stop_wake;
    uv_timer_t tick;
    uv_signal_t sigterm, sigint;
    enum phase phase;
    struct mono links_deadline;

    struct worker_pool pool;
    struct store *store;
    struct ingest *ingest;
    struct symbol_cache *symbols;
    struct control *control;
    struct link_server *links;
    struct debuginfod *debuginfod;
    struct api *api;
    struct http_server *http;
};

/* ---- time ---- */

static void tell_time(struct coordinator *c)
{
    struct mono now = clock_mono();
    struct wall wall = clock_wall();

    if (c->control != NULL)
        control_time(c->control, now, wall);
    if (c->links != NULL)
        link_server_time(c->links, now, wall);
}

/* ---- doorbells: other threads ring, the loop answers ---- */

static void ring_store(void *arg)
{
    struct coordinator *c = arg;

    uv_async_send(&c->store_wake);
}

static void ring_links(void *arg)
{
    struct coordinator *c = arg;

    uv_async_send(&c->link_wake);
}

static void advance_stop(struct coordinator *c);

static void on_store_wake(uv_async_t *a)
{
    struct coordinator *c = a->data;

    tell_time(c);
    store_complete(c->store);
    if (c->links != NULL)
        link_server_attend(c->links);
    advance_stop(c);
}

static void on_link_wake(uv_async_t *a)
{
    struct coordinator *c = a->data;

    if (c->links == NULL)
        return;
    tell_time(c);
    link_server_drain(c->links);
}

static void on_tick(uv_timer_t *t)
{
    struct coordinator *c = t->data;

    tell_time(c);
    if (c->control != NULL)
        control_tick(c->control, clock_mono(), clock_wall());
    if (c->links != NULL)
        link_server_tick(c->links);
    debuginfod_tick(c->debuginfod, clock_mono(), clock_wall());
    advance_stop(c);
}

/* ---- from control to its neighbours ---- */

static void send_to_agent(void *arg, struct link *link, const struct message *m)
{
    (void)arg;
    link_server_send(link, m);
}

static void close_agent(void *arg, struct link *link)
{
    (void)arg;
    link_server_close_link(link);
}

static void session_changed(void *arg, uint64_t session)
{
    struct coordinator *c = arg;

    if (c->api != NULL)
        api_session_changed(c->api, session);
}

static void read_link_counters(void *arg, void (*visit)(void *to, const char *name, uint64_t value),
                               void *to)
{
    struct coordinator *c = arg;

    if (c->links != NULL)
        link_server_counters(c->links, visit, to);
    debuginfod_counters(c->debuginfod, visit, to);
}

/* ---- the end ---- */

static void on_idle(void *arg);
static void on_http_closed(void *arg);

static void begin_stop(struct coordinator *c)
{
    if (c->phase != PHASE_RUNNING)
        return;
    c->phase = PHASE_ANSWERING;
    c->links_deadline = mono_after(clock_mono(), STOP_LINKS_NS);
    if (c->links != NULL)
        link_server_quiesce(c->links);
    debuginfod_stop(c->debuginfod);
    if (c->tick.type == UV_TIMER)
        uv_timer_start(&c->tick, on_tick, STOP_TICK_MS, STOP_TICK_MS);
    if (c->api != NULL)
        api_quiesce(c->api, on_idle, c);
    else
        on_idle(c);
}

static void on_idle(void *arg)
{
    struct coordinator *c = arg;
    struct http_server *http = c->http;

    c->phase = PHASE_CLOSING_HTTP;
    c->http = NULL;
    http_server_close(http, on_http_closed, c);
}

static void on_http_closed(void *arg)
{
    struct coordinator *c = arg;

    c->phase = PHASE_STORING;
    advance_stop(c);
}

static void close_handle(uv_handle_t *h)
{
    if (h->type != UV_UNKNOWN_HANDLE) /* zero: a start that failed never came to it */
        uv_close(h, NULL);
}

/* Everything that could still call back is silent: free it, last started first. */
static void close_all(struct coordinator *c)
{
    api_free(c->api);
    debuginfod_free(c->debuginfod);
    control_free(c->control);
    symbol_cache_free(c->symbols);
    ingest_free(c->ingest);
    store_close(c->store);
    c->api = NULL;
    c->debuginfod = NULL;
    c->control = NULL;
    c->symbols = NULL;
    c->ingest = NULL;
    c->store = NULL;
    close_handle((uv_handle_t *)&c->sigint);
    close_handle((uv_handle_t *)&c->sigterm);
    close_handle((uv_handle_t *)&c->tick);
    close_handle((uv_handle_t *)&c->stop_wake);
    close_handle((uv_handle_t *)&c->link_wake);
    close_handle((uv_handle_t *)&c->store_wake);
}

/* Nothing is on its way into the store. */
static bool is_stored(const struct coordinator *c)
{
    return c->pool.busy == 0 && (c->store == NULL || store_waiting_bytes(c->store) == 0);
}

static void advance_stop(struct coordinator *c)
{
    bool stored = is_stored(c);

    if (c->phase == PHASE_STORING && stored) {
        bool late = mono_reached(clock_mono(), c->links_deadline);

        if (c->links != NULL && !late && !link_server_is_quiet(c->links))
            return;
        link_server_close(c->links);
        c->links = NULL;
        c->phase = PHASE_RECORDING;
        stored = is_stored(c);
    }
    if (c->phase == PHASE_RECORDING && stored) {
        c->phase = PHASE_STOPPED;
        close_all(c);
    }
}

static void on_signal(uv_signal_t *s, int number)
{
    log_info("event=stopping signal=%d", number);
    begin_stop(s->data);
}

static void on_stop_wake(uv_async_t *a)
{
    begin_stop(a->data);
}

void coordinator_stop(struct coordinator *c)
{
    uv_async_send(&c->stop_wake);
}

/* ---- the start ---- */

static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("event=descriptor_limit_kept");
}

static void size_worker_pool(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    char text[24];

    if (cpus < WORKERS_MIN)
        cpus = WORKERS_MIN;
    if (cpus > WORKERS_MAX)
        cpus = WORKERS_MAX;
    snprintf(text, sizeof(text), "%ld", cpus);
    (void)setenv("UV_THREADPOOL_SIZE", text, 0); /* an operator's own setting stays */
}

static enum status open_loop(struct coordinator *c)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&c->store_wake, (uv_handle_t *)&c->link_wake,
                              (uv_handle_t *)&c->stop_wake,  (uv_handle_t *)&c->tick,
                              (uv_handle_t *)&c->sigterm,    (uv_handle_t *)&c->sigint};

    if (uv_loop_init(&c->loop) != 0)
        return ST_NOMEM;
    c->loop_open = true;
    c->pool.loop = &c->loop;
    /* None of these can fail but for want of descriptors, and then nothing else would work. */
    if (uv_async_init(&c->loop, &c->store_wake, on_store_wake) != 0 ||
        uv_async_init(&c->loop, &c->link_wake, on_link_wake) != 0 ||
        uv_async_init(&c->loop, &c->stop_wake, on_stop_wake) != 0 ||
        uv_timer_init(&c->loop, &c->tick) != 0 || uv_signal_init(&c->loop, &c->sigterm) != 0 ||
        uv_signal_init(&c->loop, &c->sigint) != 0)
        return ST_IO;
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        handles[i]->data = c;
    return ST_OK;
}

static enum status open_store(struct coordinator *c, const struct coordinator_config *config,
                              char why[COORDINATOR_WHY_MAX])
{
    struct store_options options = {
        .directory = config->store, .map_bytes = config->map_bytes, .wake = ring_store, .arg = c};
    struct workers workers = worker_pool_workers(&c->pool);
    enum status st = store_open(&options, &c->store, why);

    if (st == ST_OK)
        st = ingest_new(c->store, &workers, &c->ingest);
    if (st == ST_OK)
        st = symbol_cache_new(SYMBOL_CACHE_BYTES, &c->symbols);
    return st;
}

static enum status open_control(struct coordinator *c, const struct coordinator_config *config)
{
    struct control_options options = {.store = c->store,
                                      .window = (uint32_t)config->window,
                                      .send = send_to_agent,
                                      .close = close_agent,
                                      .changed = session_changed,
                                      .arg = c};

    return control_new(&options, clock_mono(), clock_wall(), &c->control);
}

static enum status open_links(struct coordinator *c, const struct coordinator_config *config,
                              char why[COORDINATOR_WHY_MAX])
{
    struct link_server_options options = {.control = c->control,
                                          .ingest = c->ingest,
                                          .store = c->store,
                                          .window = (uint32_t)config->window,
                                          .now = clock_mono(),
                                          .wall = clock_wall(),
                                          .wake = ring_links,
                                          .arg = c};
    enum status st = link_server_open(&options, &c->links);

    if (st == ST_OK && config->listen.count == 0)
        st = link_server_listen(c->links, COORDINATOR_LISTEN_DEFAULT, why);
    for (unsigned i = 0; i < config->listen.count && st == ST_OK; i++) {
        const char *url = config->listen.items[i];

        st = link_server_listen(c->links, url, why);
        if (st == ST_OK && url_is_remote(url))
            log_warn("event=insecure url=%s why=\"agents connect without TLS: whoever can reach "
                     "this address can read and forge profiles\"",
                     url);
        else if (st == ST_OK)
            log_info("event=listening url=%s", url);
    }
    return st;
}

static enum status open_debuginfod(struct coordinator *c, const struct coordinator_config *config)
{
    const struct debuginfod_options options = {.ingest = c->ingest,
                                               .workers = worker_pool_workers(&c->pool),
                                               .urls = &config->debuginfod,
                                               .bytes_max = config->debuginfod_bytes,
                                               .directory = config->store,
                                               .expected = link_server_expects_symbols,
                                               .arg = c->links};

    return debuginfod_new(&options, &c->debuginfod);
}

/* The folder of the API's socket, when it is the last part of the path that is missing. */
static void make_folder_of(const char *path)
{
    char folder[256];
    const char *slash = strrchr(path, '/');

    if (slash == NULL || slash == path || (size_t)(slash - path) >= sizeof(folder))
        return;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    (void)mkdir(folder, 0755); /* if it cannot be made, binding the socket says why */
}

static enum status open_http(struct coordinator *c, const struct coordinator_config *config,
                             char why[COORDINATOR_WHY_MAX])
{
    struct api_options api = {.loop = &c->loop,
                              .store = c->store,
                              .control = c->control,
                              .ingest = c->ingest,
                              .symbols = c->symbols,
                              .link_counters = read_link_counters,
                              .arg = c};
    struct http_options http = {.loop = &c->loop,
                                .tcp_host = config->http_port != 0 ? config->http_host : NULL,
                                .tcp_port = (uint16_t)config->http_port,
                                .handle = api_handle};
    enum status st = api_new(&api, &c->api);

    if (st != ST_OK)
        return st;
    if (config->http_socket != NULL && config->http_socket[0] != '\0') {
        http.unix_path = config->http_socket;
        make_folder_of(config->http_socket);
    }
    http.arg = c->api;
    return http_server_open(&http, &c->http, why);
}

static enum status start_handles(struct coordinator *c)
{
    if (uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS) != 0 ||
        uv_signal_start(&c->sigterm, on_signal, SIGTERM) != 0 ||
        uv_signal_start(&c->sigint, on_signal, SIGINT) != 0)
        return ST_IO;
    return ST_OK;
}

enum status coordinator_new(const struct coordinator_config *config, struct coordinator **out,
                            char why[COORDINATOR_WHY_MAX])
{
    struct coordinator *c = calloc(1, sizeof(*c));
    enum status st = c != NULL ? coordinator_config_check(config, why) : ST_NOMEM;

    if (st != ST_OK)
        goto out;
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    size_worker_pool();
    st = open_loop(c);
    if (st == ST_OK)
        st = open_store(c, config, why);
    if (st == ST_OK)
        st = open_control(c, config);
    if (st == ST_OK)
        st = open_links(c, config, why);
    if (st == ST_OK)
        st = open_debuginfod(c, config);
    if (st == ST_OK)
        st = open_http(c, config, why);
    if (st == ST_OK)
        st = start_handles(c);
    if (st != ST_OK)
        goto out;
    log_info("event=started version=" FLEETPROF_VERSION " store=%s http_socket=%s http_port=%u",
             config->store, config->http_socket, http_server_port(c->http));
    *out = c;
    c = NULL;
out:
    coordinator_free(c);
    return st;
}

enum status coordinator_run(struct coordinator *c)
{
    uv_run(&c->loop, UV_RUN_DEFAULT);
    log_info("event=stopped");
    return ST_OK;
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL)
        return;
    if (c->loop_open && c->phase != PHASE_STOPPED)
        begin_stop(c);
    if (c->loop_open) {
        uv_run(&c->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&c->loop);
    }
    free(c);
}

uint16_t coordinator_agent_port(const struct coordinator *c)
{
    return c->links != NULL ? link_server_port(c->links) : 0;
}
