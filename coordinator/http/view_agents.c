/* view_agents - the inventory: every known host, what it is, what it runs and what that costs. */
#include <inttypes.h>
#include <stdio.h>

#include "coordinator/http/call.h"
#include "coordinator/http/params.h"

/* A plan that its host has not answered yet is running nowhere. */
static const char *running_state(enum profiler_state s)
{
    return s == PROFILER_NONE ? "planned" : profiler_state_name(s);
}

static json_t *view_running(const struct agent_view *a)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list != NULL && i < a->running_count; i++) {
        const struct running_view *r = &a->running[i];
        json_t *item = json_pack("{s:o, s:s, s:o, s:s, s:o}", "profiler", json_id128(r->profiler),
                                 "event", event_name(r->event), "hz", json_hz(r->period_ns),
                                 "state", running_state(r->state), "reason", json_text(r->reason));

        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *view_spool(const struct heartbeat *h)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "chunks", json_u64(h->spool_chunks), "bytes",
                     json_u64(h->spool_bytes), "dropped_chunks", json_u64(h->spool_dropped_chunks),
                     "dropped_samples", json_u64(h->spool_dropped_samples));
}

static json_t *view_share(double share)
{
    return share < 0 ? json_null() : json_finite(share, 0);
}

static json_t *view_agent(const struct agent_view *a)
{
    char incarnation[17];

    (void)snprintf(incarnation, sizeof(incarnation), "%016" PRIx64, a->incarnation);
    return json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host",
        json_text(a->host), "connected", a->connected, "last_seen", json_time(a->last_seen),
        "labels", json_labels(a->labels), "version", json_text(a->version), "cpus",
        (json_int_t)a->cpus, "degraded", json_text(a->degraded), "incarnation", incarnation,
        "clock_offset_ms", json_real((double)a->clock_offset_ns / (double)NS_PER_MS), "running",
        view_running(a), "core_share", view_share(a->core_share), "lost_share",
        view_share(a->lost_share), "cost", json_cost(&a->last.cost), "spool", view_spool(&a->last),
        "plan_revision", json_u64(a->plan_revision), "acked_revision", json_u64(a->acked_revision));
}

struct selection {
    const struct selector *select;
    json_t *list;
    bool failed;
};

static void add(void *arg, const struct agent_view *a)
{
    struct selection *s = arg;

    if (s->select != NULL && !selector_matches(s->select, a->labels))
        return;
    if (json_array_append_new(s->list, view_agent(a)) != 0)
        s->failed = true;
}

void route_agents(struct call *c)
{
    struct selection s = {0};
    struct selector *select;

    if (!params_selector(c, "select", &select))
        return;
    s.select = select;
    s.list = json_array();
    control_each_agent(c->api->options.control, add, &s);
    selector_free(select);
    if (s.failed) {
        json_decref(s.list);
        s.list = NULL;
    }
    call_answer(c, 200, json_pack("{s:o}", "agents", s.list));
}
