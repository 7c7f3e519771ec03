/* view_status - the coordinator at a glance: fleet, sessions, store, ingest, the agents' link. */
#include "coordinator/http/call.h"

static void count_session(void *arg, const struct session_view *s)
{
    uint64_t *total = arg;

    (void)s;
    ++*total;
}

static json_t *view_sessions_count(struct control *control)
{
    uint64_t total = 0;

    control_each_session(control, count_session, &total);
    return json_pack("{s:I, s:o}", "running",
                     (json_int_t)control_read_counters(control).sessions_live, "total",
                     json_u64(total));
}

static json_t *view_agents_count(const struct control *control)
{
    struct control_counters n = control_read_counters(control);

    return json_pack("{s:I, s:I}", "known", (json_int_t)n.agents, "connected",
                     (json_int_t)n.connected);
}

static json_t *view_store(struct store *store)
{
    struct store_counters n = store_read_counters(store);

    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:b}", "catalog_bytes",
                     json_u64(n.catalog_bytes), "chunk_bytes", json_u64(n.chunk_file_bytes),
                     "chunks", json_u64(n.chunks), "strings", (json_int_t)n.strings, "binaries",
                     (json_int_t)n.binaries, "frames", (json_int_t)n.frames, "nodes",
                     (json_int_t)n.nodes, "commits", json_u64(n.commits), "disk_full", n.disk_full);
}

static json_t *view_refused(const struct ingest_counters *n)
{
    json_t *refused = json_object();

    for (unsigned i = 1; refused != NULL && i < REFUSAL_REASONS; i++)
        if (json_object_set_new(refused, refusal_name((enum refusal_reason)i),
                                json_u64(n->refused[i])) != 0) {
            json_decref(refused);
            return NULL;
        }
    return refused;
}

static json_t *view_ingest(const struct ingest *ingest)
{
    struct ingest_counters n = ingest_read_counters(ingest);

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "chunks", json_u64(n.chunks), "duplicates",
                     json_u64(n.duplicates), "samples", json_u64(n.samples), "bytes",
                     json_u64(n.bytes), "folded_samples", json_u64(n.folded_samples), "refused",
                     view_refused(&n));
}

static void add_counter(void *to, const char *name, uint64_t value)
{
    (void)json_object_set_new(to, name, json_u64(value)); /* short of memory: one is not shown */
}

static json_t *view_link(const struct api_options *o)
{
    json_t *link = json_object();

    if (link != NULL && o->link_counters != NULL)
        o->link_counters(o->arg, add_counter, link);
    return link;
}

void route_status(struct call *c)
{
    const struct api_options *o = &c->api->options;
    uint64_t started_ns = c->api->started.ns;
    uint64_t uptime_ns = c->now.ns > started_ns ? c->now.ns - started_ns : 0;

    call_answer(c, 200,
                json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", FLEETPROF_VERSION,
                          "started", json_time(c->api->started), "uptime_s",
                          json_seconds(uptime_ns), "agents", view_agents_count(o->control),
                          "sessions", view_sessions_count(o->control), "store",
                          view_store(o->store), "ingest", view_ingest(o->ingest), "link",
                          view_link(o)));
}
