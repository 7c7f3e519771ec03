/* metrics - /metrics: every counter of the coordinator in the Prometheus text format. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/http/call.h"

enum metric_type { COUNTER, GAUGE };

static void put_head(FILE *f, const char *name, enum metric_type type, const char *help)
{
    (void)fprintf(f, "# HELP fleetprof_%s %s\n# TYPE fleetprof_%s %s\n", name, help, name,
                  type == COUNTER ? "counter" : "gauge");
}

static void put(FILE *f, const char *name, enum metric_type type, const char *help, uint64_t value)
{
    put_head(f, name, type, help);
    (void)fprintf(f, "fleetprof_%s %" PRIu64 "\n", name, value);
}

static void put_seconds(FILE *f, const char *name, enum metric_type type, const char *help,
                        uint64_t ns)
{
    put_head(f, name, type, help);
    (void)fprintf(f, "fleetprof_%s %.9f\n", name, (double)ns / (double)NS_PER_S);
}

/* One of a family; `label` and `value` come from our own tables and need no escaping. */
static void put_labelled(FILE *f, const char *name, const char *label, const char *label_value,
                         uint64_t value)
{
    (void)fprintf(f, "fleetprof_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, label_value, value);
}

static void put_process(FILE *f, const struct call *c)
{
    put_head(f, "build_info", GAUGE, "The version that runs; always 1.");
    put_labelled(f, "build_info", "version", FLEETPROF_VERSION, 1);
    put_seconds(f, "start_time_seconds", GAUGE, "When the coordinator started, since 1970.",
                c->api->started.ns);
}

static void put_store(FILE *f, struct store *store)
{
    struct store_counters n = store_read_counters(store);

    put(f, "store_writes_total", COUNTER, "Writes that were submitted.", n.writes);
    put(f, "store_commits_total", COUNTER, "Durable commits of groups of writes.", n.commits);
    put(f, "store_failed_commits_total", COUNTER, "Commits that failed and were tried again.",
        n.failed_commits);
    put_seconds(f, "store_commit_seconds_total", COUNTER, "Time spent in commits.", n.commit_ns);
    put(f, "store_chunks_total", COUNTER, "Chunks that were stored.", n.chunks);
    put(f, "store_duplicate_chunks_total", COUNTER, "Chunks that were stored before.",
        n.duplicate_chunks);
    put(f, "store_written_bytes_total", COUNTER, "Bytes of stored chunks.", n.bytes);
    put(f, "store_catalog_bytes", GAUGE, "Size of the catalog on disk.", n.catalog_bytes);
    put(f, "store_chunk_file_bytes", GAUGE, "Size of the chunk files on disk.", n.chunk_file_bytes);
    put(f, "store_strings", GAUGE, "Strings in the dictionary.", n.strings);
    put(f, "store_binaries", GAUGE, "Binaries in the dictionary.", n.binaries);
    put(f, "store_frames", GAUGE, "Frames in the dictionary.", n.frames);
    put(f, "store_nodes", GAUGE, "Calling contexts in the dictionary.", n.nodes);
    put(f, "store_disk_full", GAUGE, "1 while the disk has no room for a commit.", n.disk_full);
}

static void put_ingest(FILE *f, const struct ingest *ingest)
{
    struct ingest_counters n = ingest_read_counters(ingest);

    put(f, "ingest_chunks_total", COUNTER, "Chunks that were taken.", n.chunks);
    put(f, "ingest_duplicate_chunks_total", COUNTER, "Chunks that had come before.", n.duplicates);
    put(f, "ingest_samples_total", COUNTER, "Samples in the chunks that were taken.", n.samples);
    put(f, "ingest_bytes_total", COUNTER, "Packed bytes of the chunks that were taken.", n.bytes);
    put(f, "ingest_folded_samples_total", COUNTER,
        "Samples whose stacks did not fit into the full dictionary.", n.folded_samples);
    put_head(f, "ingest_refused_total", COUNTER, "Chunks that were refused, by reason.");
    for (unsigned i = 1; i < REFUSAL_REASONS; i++)
        put_labelled(f, "ingest_refused_total", "reason", refusal_name((enum refusal_reason)i),
                     n.refused[i]);
    put(f, "ingest_symbol_tables_total", COUNTER, "Symbol tables that were taken.",
        n.symbol_tables);
    put(f, "ingest_symbol_tables_refused_total", COUNTER, "Symbol tables that were refused.",
        n.symbol_refused);
}

static void put_control(FILE *f, const struct control *control)
{
    struct control_counters n = control_read_counters(control);

    put(f, "agents", GAUGE, "Agents that are known.", n.agents);
    put(f, "agents_connected", GAUGE, "Agents that are connected.", n.connected);
    put(f, "sessions_live", GAUGE, "Sessions that have not ended.", n.sessions_live);
    put(f, "control_hellos_total", COUNTER, "Agents that said hello.", n.hellos);
    put(f, "control_plans_sent_total", COUNTER, "Plans that were sent to agents.", n.plans_sent);
    put(f, "control_links_replaced_total", COUNTER, "Links closed for a newer one of their host.",
        n.replaced);
    put(f, "control_links_timed_out_total", COUNTER, "Links closed because of silence.",
        n.timed_out);
    put(f, "control_session_starts_total", COUNTER, "Sessions that were started.", n.starts);
    put(f, "control_session_stops_total", COUNTER, "Sessions that were stopped.", n.stops);
    put(f, "control_session_rate_changes_total", COUNTER, "Changes of a session's rate.",
        n.rate_changes);
}

static void put_http(FILE *f, const struct call *c)
{
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    struct http_counters n = http_read_counters(c->request);
    const struct api *a = c->api;

    put(f, "http_requests_total", COUNTER, "Requests that came in.", n.requests);
    put_head(f, "http_answers_total", COUNTER, "Answers, by class of their code.");
    for (unsigned i = 0; i < 6; i++)
        put_labelled(f, "http_answers_total", "class", classes[i], n.answers[i]);
    put_head(f, "http_refused_total", COUNTER, "Requests that were refused before any route.");
    put_labelled(f, "http_refused_total", "reason", "body", n.refused_body);
    put_labelled(f, "http_refused_total", "reason", "path", n.refused_path);
    put_labelled(f, "http_refused_total", "reason", "site", n.refused_site);
    put(f, "http_connections", GAUGE, "Connections that are open.", n.connections);
    put(f, "http_streams", GAUGE, "Event streams that are open.", n.streams);
    put(f, "http_events_dropped_total", COUNTER, "Events not sent to readers that were too slow.",
        n.events_dropped);
    put(f, "questions_total", COUNTER, "Questions that were asked of the samples.",
        a->questions_asked);
    put(f, "questions_refused_total", COUNTER, "Questions refused because too many were running.",
        a->questions_refused);
    put(f, "questions_running", GAUGE, "Questions that run or wait for a worker.", a->questions);
}

/* The link and the debuginfod client tell their counters by name; those that go up and down are
 * named here. */
static void put_link_counter(void *to, const char *name, uint64_t value)
{
    static const char *const gauges[] = {"connections_open", "symbols_missing", "symbols_pending"};
    const char *family = strncmp(name, "debuginfod_", strlen("debuginfod_")) == 0 ? "" : "link_";
    enum metric_type type = COUNTER;
    char full[128];

    for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
        if (strcmp(name, gauges[i]) == 0)
            type = GAUGE;
    (void)snprintf(full, sizeof(full), "%s%.80s%s", family, name, type == COUNTER ? "_total" : "");
    put(to, full, type, "Of the link to agents and servers; see the status page of the API.",
        value);
}

void route_metrics(struct call *c)
{
    const struct api_options *o = &c->api->options;
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);

    if (f != NULL) {
        put_process(f, c);
        put_store(f, o->store);
        put_ingest(f, o->ingest);
        put_control(f, o->control);
        if (o->link_counters != NULL)
            o->link_counters(o->arg, put_link_counter, f);
        put_http(f, c);
    }
    if (f != NULL && fclose(f) == 0) {
        http_answer_take(c->request, 200, "text/plain; version=0.0.4; charset=utf-8",
                         (uint8_t *)text, length, NULL);
        return;
    }
    free(text);
    call_fail(c, ST_NOMEM, "%s", status_text(ST_NOMEM));
}
