#include "api_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "coordinator/query/symbolize.h"

enum { SAMPLES = 99, SAMPLES_IN_FUNCTION = 90 };

static void on_wake(void *arg)
{
    struct api_world *w = arg;

    (void)uv_async_send(&w->async);
}

static void on_async(uv_async_t *async)
{
    struct api_world *w = async->data;

    control_time(w->control, clock_mono(), clock_wall());
    store_complete(w->store);
}

static void keep_plan(void *arg, struct link *link, const struct message *m)
{
    struct api_world *w = arg;

    (void)link;
    if (m->type == MESSAGE_PLAN)
        w->plan = m->plan;
}

static void ignore_close(void *arg, struct link *link)
{
    (void)arg;
    (void)link;
}

static void on_session_changed(void *arg, uint64_t session)
{
    struct api_world *w = arg;

    if (w->api != NULL) /* control speaks while it reads the store back */
        api_session_changed(w->api, session);
}

static void two_counters(void *arg, void (*visit)(void *to, const char *name, uint64_t value),
                         void *to)
{
    (void)arg;
    visit(to, "frames_in", 7);
    visit(to, "connections_open", 1);
}

static void open_store(struct api_world *w)
{
    const struct store_options options = {
        .directory = w->directory,
        .map_bytes = UINT64_C(1) << 30,
        .wake = on_wake,
        .arg = w,
    };
    char why[STORE_WHY_MAX] = "";

    assert_int_equal(uv_async_init(&w->loop, &w->async, on_async), 0);
    w->async.data = w;
    if (store_open(&options, &w->store, why) != ST_OK)
        fail_msg("%s", why);
    assert_int_equal(ingest_new(w->store, NULL, &w->ingest), ST_OK);
    assert_int_equal(symbol_cache_new(1 << 20, &w->symbols), ST_OK);
}

static void open_api(struct api_world *w)
{
    const struct control_options control = {
        .store = w->store,
        .window = 4,
        .send = keep_plan,
        .close = ignore_close,
        .changed = on_session_changed,
        .arg = w,
    };
    const struct api_options api = {
        .loop = &w->loop,
        .store = w->store,
        .ingest = w->ingest,
        .symbols = w->symbols,
        .link_counters = two_counters,
    };
    struct api_options with_control = api;

    assert_int_equal(control_new(&control, clock_mono(), clock_wall(), &w->control), ST_OK);
    with_control.control = w->control;
    assert_int_equal(api_new(&with_control, &w->api), ST_OK);
}

int api_set_up(void **state)
{
    struct api_world *w = calloc(1, sizeof(*w));
    struct http_options options = {.tcp_host = "127.0.0.1"};
    char why[HTTP_WHY_MAX];

    assert_non_null(w);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    strcpy(w->directory, "/tmp/fleetprof-api-XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    (void)snprintf(w->path, sizeof(w->path), "%s/api.sock", w->directory);
    open_store(w);
    open_api(w);
    options.loop = &w->loop;
    options.unix_path = w->path;
    options.handle = api_handle;
    options.arg = w->api;
    assert_int_equal(http_server_open(&options, &w->server, why), ST_OK);
    w->client = client_unix(w->path);
    *state = w;
    return 0;
}

static void on_idle(void *arg)
{
    struct api_world *w = arg;

    w->idle = true;
}

static bool is_idle(void *arg)
{
    const struct api_world *w = arg;

    return w->idle;
}

static void on_closed(void *arg)
{
    struct api_world *w = arg;

    w->closed = true;
}

static bool is_closed(void *arg)
{
    const struct api_world *w = arg;

    return w->closed;
}

void api_begin_end(struct api_world *w)
{
    if (!w->ending)
        api_quiesce(w->api, on_idle, w);
    w->ending = true;
}

void api_close(struct api_world *w)
{
    if (w->closed)
        return;
    api_begin_end(w);
    loop_until(&w->loop, is_idle, w);
    http_server_close(w->server, on_closed, w);
    loop_until(&w->loop, is_closed, w);
}

int api_tear_down(void **state)
{
    struct api_world *w = *state;
    char command[96];

    api_close(w);
    client_free(w->client);
    store_close(w->store);
    api_free(w->api);
    control_free(w->control);
    ingest_free(w->ingest);
    symbol_cache_free(w->symbols);
    uv_close((uv_handle_t *)&w->async, NULL);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    (void)snprintf(command, sizeof(command), "rm -r %s", w->directory);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

/* ---- asking ---- */

json_t *ask(struct api_world *w, const char *method, const char *target, const char *body,
            unsigned code)
{
    char request[4096];

    (void)snprintf(request, sizeof(request),
                   "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s", method, target,
                   body == NULL ? 0 : strlen(body), body == NULL ? "" : body);
    client_ask(&w->loop, w->client, request);
    if (client_code(w->client) != code)
        fail_msg("%s %s %s: %s", method, target, body == NULL ? "" : body, w->client->received);
    return json_loads(client_body(w->client), 0, NULL);
}

const json_t *at(const json_t *json, const char *path)
{
    const json_t *value = json;

    for (const char *p = path; *p != '\0' && value != NULL;) {
        char step[64];
        size_t length = strcspn(p, ".");

        (void)snprintf(step, sizeof(step), "%.*s", (int)length, p);
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(step))
                                     : json_object_get(value, step);
        p += length + (p[length] == '.' ? 1 : 0);
    }
    if (value == NULL)
        fail_msg("there is no %s", path);
    return value;
}

const char *text_at(const json_t *json, const char *path)
{
    const json_t *value = at(json, path);

    assert_true(json_is_string(value));
    return json_string_value(value);
}

double number_at(const json_t *json, const char *path)
{
    const json_t *value = at(json, path);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* ---- the agent ---- */

static struct link *the_link(struct api_world *w)
{
    return (struct link *)w; /* opaque to control, which only hands it back */
}

static bool has_plan(void *arg)
{
    const struct api_world *w = arg;

    return w->plan.item_count > 0;
}

void agent_connects(struct api_world *w)
{
    struct hello hello = {.host = "web1", .incarnation = 0x1234, .version = "0.1.0", .cpus = 1};
    char why[CONTROL_WHY_MAX];

    hello.sent = clock_wall();
    assert_int_equal(labels_set(&hello.labels, "host", "web1"), ST_OK);
    assert_int_equal(labels_set(&hello.labels, "service", "checkout"), ST_OK);
    assert_int_equal(
        control_hello(w->control, the_link(w), &hello, clock_mono(), clock_wall(), why), ST_OK);
    labels_deinit(&hello.labels);
}

static struct chunk_info info_of(struct api_world *w)
{
    struct mono now = clock_mono();

    return (struct chunk_info){
        .profiler = w->plan.items[0].profiler,
        .sequence = ++w->sequence,
        .incarnation = 0x1234,
        .start = now,
        .end = mono_after(now, NS_PER_S),
        .wall_start = clock_wall(),
        .event = EVENT_CPU,
        .period_ns = w->plan.items[0].period_ns,
        .inclusion = 1,
        .cpus = 1,
        .ledger = {.expected = SAMPLES, .delivered = SAMPLES},
    };
}

static void on_stored(void *arg, const struct ingest_result *result)
{
    struct api_world *w = arg;

    assert_int_equal(result->status, ST_OK);
    control_chunk_stored(w->control, "web1", &result->info);
    w->stored++;
}

static bool is_stored(void *arg)
{
    const struct api_world *w = arg;

    return w->stored == w->sequence;
}

void agent_uploads(struct api_world *w, const char *function)
{
    char *strings[] = {"main", (char *)(uintptr_t)function, "burn"};
    struct chunk_frame frames[] = {{FRAME_NAMED, CHUNK_NO_PARENT, 0, 0},
                                   {FRAME_NAMED, CHUNK_NO_PARENT, 1, 0}};
    struct chunk_node nodes[] = {{CHUNK_NO_PARENT, 0}, {0, 1}};
    struct chunk_process process = {.pid = 1, .comm = 2, .start_ns = 1};
    struct chunk_thread thread = {.process = 0, .tid = 1, .name = 2};
    struct chunk_group groups[] = {{1, 0, SAMPLES_IN_FUNCTION},
                                   {0, 0, SAMPLES - SAMPLES_IN_FUNCTION}};
    uint32_t ticks[SAMPLES];
    struct chunk c = {
        .dictionary = {.strings = strings,
                       .string_count = 3,
                       .frames = frames,
                       .frame_count = 2,
                       .nodes = nodes,
                       .node_count = 2},
        .samples = {.processes = &process,
                    .process_count = 1,
                    .threads = &thread,
                    .thread_count = 1,
                    .groups = groups,
                    .group_count = 2,
                    .ticks = ticks,
                    .sample_count = SAMPLES},
    };
    struct blob packed;

    loop_until(&w->loop, has_plan, w);
    c.info = info_of(w);
    for (uint32_t i = 0; i < SAMPLES; i++)
        ticks[i] = (i % SAMPLES_IN_FUNCTION) * 100;
    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &packed), ST_OK);
    assert_int_equal(
        ingest_chunk(w->ingest, "web1", blob_slice(&packed), clock_wall(), on_stored, w), ST_OK);
    blob_deinit(&packed);
    loop_until(&w->loop, is_stored, w);
}
