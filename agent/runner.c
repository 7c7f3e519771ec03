#include "agent/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cost.h"
#include "agent/profiler.h"
#include "common/log.h"

struct runner {
    struct runner_options options;
    struct plan_state plan;
    struct profiler *profiler; /* of the cpu event; NULL: nothing runs */
    bool sampling; /* its first sample was seen and reported */
    struct id128 given_up; /* could not be started, or was ended here: not tried again */
    struct profiler_report
        reports[RUNNER_REPORTS_MAX]; /* the last of each profiler, oldest first */
    uint32_t report_count;
};

/* ---- reports ---- */

static void remember(struct runner *r, const struct profiler_report *report)
{
    uint32_t i = 0;

    while (i < r->report_count && !id128_equal(r->reports[i].profiler, report->profiler))
        i++;
    if (i == RUNNER_REPORTS_MAX)
        i = 0;
    if (i < r->report_count) {
        r->report_count--;
        memmove(r->reports + i, r->reports + i + 1, (r->report_count - i) * sizeof(*r->reports));
    }
    r->reports[r->report_count++] = *report;
}

static void report(struct runner *r, const struct profiler_report *report)
{
    char id[ID128_TEXT_MAX];

    log_info("event=profiler_%s profiler=%s samples=%" PRIu64 " last_sequence=%" PRIu64
             " reason=\"%s\"",
             profiler_state_name(report->state), id128_format(report->profiler, id),
             report->samples, report->last_sequence, report->reason);
    remember(r, report);
    r->options.report(r->options.arg, report);
}

static void report_state(struct runner *r, enum profiler_state state, const char *reason)
{
    struct profiler_report p = {
        .profiler = profiler_id(r->profiler),
        .state = state,
        .period_ns = profiler_period_ns(r->profiler),
        .samples = profiler_samples(r->profiler),
        .last_sequence = state == PROFILER_ENDED ? profiler_sequence(r->profiler) : 0,
    };

    (void)snprintf(p.reason, sizeof(p.reason), "%s", reason);
    report(r, &p);
}

static void report_refused(struct runner *r, const struct plan_item *item, const char *why)
{
    struct profiler_report p = {
        .profiler = item->profiler, .state = PROFILER_REFUSED, .period_ns = item->period_ns};

    (void)snprintf(p.reason, sizeof(p.reason), "%s", why);
    report(r, &p);
}

void runner_repeat_reports(const struct runner *r)
{
    for (uint32_t i = 0; i < r->report_count; i++)
        r->options.report(r->options.arg, &r->reports[i]);
}

/* ---- samples and chunks ---- */

static void take_sample(void *arg, const struct resolved_sample *sample)
{
    struct runner *r = arg;

    profiler_add(r->profiler, sample);
    if (r->sampling)
        return;
    r->sampling = true;
    report_state(r, PROFILER_SAMPLING, "");
}

static struct profiler_now world(struct runner *r, const struct moment *now)
{
    struct profiler_now w = {
        .mono = now->mono, .wall = now->wall, .clock_offset_ns = now->clock_offset_ns};
    struct source *s = r->options.source;

    cost_read_process(&w.cost);
    w.cost.bytes_sent = now->bytes_sent;
    s->operations->read_counters(s, &w.counters, &w.cost);
    return w;
}

/* `until`: the samples up to then are in hand, so the window ends there. */
static void cut(struct runner *r, const struct moment *now, struct mono until, bool final)
{
    struct profiler_now w = world(r, now);
    char id[ID128_TEXT_MAX];
    struct blob chunk;
    uint32_t samples;
    uint64_t number;
    enum status st;

    w.wall.ns -= mono_since(w.mono, until);
    w.mono = until;
    st = profiler_cut(r->profiler, &w, final, &chunk, &samples);
    if (st == ST_NOT_FOUND)
        return;
    if (st == ST_OK) {
        st = spool_add(r->options.spool, blob_slice(&chunk), samples, now->wall, &number);
        blob_deinit(&chunk);
    }
    (void)id128_format(profiler_id(r->profiler), id);
    if (st == ST_OK)
        log_debug("event=chunk_spooled profiler=%s sequence=%" PRIu64 " samples=%" PRIu32, id,
                  profiler_sequence(r->profiler), samples);
    else
        log_error("event=chunk_lost profiler=%s sequence=%" PRIu64 " samples=%" PRIu32
                  " why=\"%s\"",
                  id, profiler_sequence(r->profiler), samples, status_text(st));
}

static struct mono drain(struct runner *r, const struct moment *now)
{
    struct source *s = r->options.source;

    return s->operations->drain(s, now->mono, take_sample, r);
}

/* ---- begin, change, end ---- */

static void begin(struct runner *r, const struct plan_wish *wish, const struct moment *now)
{
    const struct profiler_options options = {.item = wish->item,
                                             .incarnation = r->options.incarnation,
                                             .whole_host = r->options.source->whole_host};
    struct source *s = r->options.source;
    struct profiler_now w = world(r, now);
    char why[SOURCE_WHY_MAX] = "";
    enum status st = profiler_new(&options, &w, &r->profiler);

    if (st == ST_OK)
        st = s->operations->start(s, wish->item.period_ns, why);
    if (st != ST_OK) {
        profiler_free(r->profiler);
        r->profiler = NULL;
        r->given_up = wish->item.profiler;
        report_refused(r, &wish->item, why[0] != '\0' ? why : status_text(st));
        return;
    }
    r->sampling = false;
    report_state(r, PROFILER_ATTACHED, "");
}

static void end(struct runner *r, const struct moment *now, const char *reason)
{
    struct source *s = r->options.source;

    report_state(r, PROFILER_DRAINING, reason);
    s->operations->stop(s, take_sample, r);
    cut(r, now, now->mono, true);
    report_state(r, PROFILER_ENDED, reason);
    r->given_up = profiler_id(r->profiler);
    profiler_free(r->profiler);
    r->profiler = NULL;
}

/* The new rate begins within a millisecond or two of the cut, far below a period. One that cannot
 * be set ends the profiler: the plan wants it at every tick. */
static void change_rate(struct runner *r, uint64_t period_ns, const struct moment *now)
{
    struct source *s = r->options.source;

    cut(r, now, drain(r, now), false);
    if (s->operations->set_period(s, period_ns) != ST_OK) {
        end(r, now, "the rate could not be changed");
        return;
    }
    profiler_set_period(r->profiler, period_ns);
    report_state(r, r->sampling ? PROFILER_SAMPLING : PROFILER_ATTACHED, "");
}

static void follow_plan(struct runner *r, const struct moment *now)
{
    const struct plan_wish *wish = plan_wanted(&r->plan, EVENT_CPU, now->mono);

    if (r->profiler != NULL &&
        (wish == NULL || !id128_equal(wish->item.profiler, profiler_id(r->profiler))))
        end(r, now, wish == NULL ? "deadline or stop" : "replaced");
    if (wish == NULL || id128_equal(wish->item.profiler, r->given_up))
        return;
    if (r->profiler == NULL)
        begin(r, wish, now);
    else if (wish->item.period_ns != profiler_period_ns(r->profiler))
        change_rate(r, wish->item.period_ns, now);
}

/* Only the cpu event is sampled here; the others are refused by name, each once. */
static void refuse_other_events(struct runner *r, const struct plan *p)
{
    for (uint32_t i = 0; i < p->item_count; i++)
        if (p->items[i].event != EVENT_CPU)
            report_refused(r, &p->items[i], "this agent samples the cpu event only");
}

/* ---- the owner's calls ---- */

enum status runner_new(const struct runner_options *options, struct runner **out)
{
    struct runner *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return ST_NOMEM;
    r->options = *options;
    *out = r;
    return ST_OK;
}

void runner_free(struct runner *r)
{
    if (r == NULL)
        return;
    profiler_free(r->profiler);
    free(r);
}

enum status runner_apply(struct runner *r, const struct plan *p, const struct moment *now)
{
    enum status st = plan_accept(&r->plan, p, now->mono);

    if (st != ST_OK)
        return st;
    refuse_other_events(r, p);
    follow_plan(r, now);
    return ST_OK;
}

uint64_t runner_revision(const struct runner *r)
{
    return r->plan.revision;
}

void runner_tick(struct runner *r, const struct moment *now)
{
    if (r->profiler != NULL) {
        struct mono until = drain(r, now);

        if (profiler_is_due(r->profiler, until))
            cut(r, now, until, false);
    }
    follow_plan(r, now);
}

void runner_finish(struct runner *r, const struct moment *now, const char *reason)
{
    if (r->profiler != NULL)
        end(r, now, reason);
}

bool runner_is_active(const struct runner *r)
{
    return r->profiler != NULL;
}

uint32_t runner_running(const struct runner *r, struct id128 out[MESSAGE_PROFILERS_MAX])
{
    if (r->profiler == NULL)
        return 0;
    out[0] = profiler_id(r->profiler);
    return 1;
}

struct agent_cost runner_cost(struct runner *r)
{
    struct sample_counters counters;
    struct agent_cost cost = {0};

    cost_read_process(&cost);
    r->options.source->operations->read_counters(r->options.source, &counters, &cost);
    return cost;
}
