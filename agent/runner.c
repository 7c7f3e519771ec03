#include "agent/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cost.h"
#include "agent/profiler.h"
#include "common/log.h"

static const enum event events[EVENTS] = {
#define X(number, NAME, text, unit) EVENT_##NAME,
    EVENT_LIST(X)
#undef X
};

struct track { /* what runs of one event */
    enum event event;
    struct profiler *profiler; /* NULL: nothing */
    bool sampling; /* its first sample was seen and reported */
    struct id128 given_up; /* could not be started, or was ended here: not tried again */
};

struct runner {
    struct runner_options options;
    struct plan_state plan;
    struct track tracks[EVENTS];
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

static void report_state(struct runner *r, const struct track *t, enum profiler_state state,
                         const char *reason)
{
    struct profiler_report p = {
        .profiler = profiler_id(t->profiler),
        .state = state,
        .period_ns = profiler_period_ns(t->profiler),
        .samples = profiler_samples(t->profiler),
        .last_sequence = state == PROFILER_ENDED ? profiler_sequence(t->profiler) : 0,
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

static struct track *find_track(struct runner *r, enum event event)
{
    for (unsigned i = 0; i < EVENTS; i++)
        if (r->tracks[i].event == event)
            return &r->tracks[i];
    return NULL;
}

static void take_sample(void *arg, const struct resolved_sample *sample)
{
    struct runner *r = arg;
    struct track *t = find_track(r, sample->event);

    if (t == NULL || t->profiler == NULL)
        return; /* of an event that has just been stopped */
    profiler_add(t->profiler, sample);
    if (t->sampling)
        return;
    t->sampling = true;
    report_state(r, t, PROFILER_SAMPLING, "");
}

static struct agent_cost read_cost(struct runner *r)
{
    struct agent_cost cost = {0};

    cost_read_process(&cost);
    r->options.source->operations->read_cost(r->options.source, &cost);
    return cost;
}

static struct profiler_now world(struct runner *r, enum event event, const struct moment *now)
{
    struct profiler_now w = {.mono = now->mono,
                             .wall = now->wall,
                             .clock_offset_ns = now->clock_offset_ns,
                             .cost = read_cost(r)};
    struct source *s = r->options.source;

    w.cost.bytes_sent = now->bytes_sent;
    s->operations->read_counters(s, event, &w.counters);
    return w;
}

/* `until`: the samples up to then are in hand, so the window ends there. */
static void cut(struct runner *r, struct track *t, const struct moment *now, struct mono until,
                bool final)
{
    struct profiler_now w = world(r, t->event, now);
    char id[ID128_TEXT_MAX];
    struct blob chunk;
    uint32_t samples;
    uint64_t number;
    enum status st;

    w.wall.ns -= mono_since(w.mono, until);
    w.mono = until;
    st = profiler_cut(t->profiler, &w, final, &chunk, &samples);
    if (st == ST_NOT_FOUND)
        return;
    if (st == ST_OK) {
        st = spool_add(r->options.spool, blob_slice(&chunk), samples, now->steady, &number);
        blob_deinit(&chunk);
    }
    (void)id128_format(profiler_id(t->profiler), id);
    if (st == ST_OK)
        log_debug("event=chunk_spooled profiler=%s sequence=%" PRIu64 " samples=%" PRIu32, id,
                  profiler_sequence(t->profiler), samples);
    else
        log_error("event=chunk_lost profiler=%s sequence=%" PRIu64 " samples=%" PRIu32
                  " why=\"%s\"",
                  id, profiler_sequence(t->profiler), samples, status_text(st));
}

static struct mono drain(struct runner *r, const struct moment *now)
{
    struct source *s = r->options.source;

    return s->operations->drain(s, now->mono, take_sample, r);
}

/* ---- begin, change, end ---- */

static void begin(struct runner *r, struct track *t, const struct plan_wish *wish,
                  const struct moment *now)
{
    const struct profiler_options options = {.item = wish->item,
                                             .incarnation = r->options.incarnation,
                                             .whole_host = r->options.source->whole_host};
    struct source *s = r->options.source;
    struct profiler_now w = world(r, t->event, now);
    char why[SOURCE_WHY_MAX] = "";
    enum status st = profiler_new(&options, &w, &t->profiler);

    if (st == ST_OK)
        st = s->operations->start(s, t->event, wish->item.period_ns, why);
    if (st != ST_OK) {
        profiler_free(t->profiler);
        t->profiler = NULL;
        t->given_up = wish->item.profiler;
        report_refused(r, &wish->item, why[0] != '\0' ? why : status_text(st));
        return;
    }
    t->sampling = false;
    report_state(r, t, PROFILER_ATTACHED, "");
}

static void end(struct runner *r, struct track *t, const struct moment *now, const char *reason)
{
    struct source *s = r->options.source;

    report_state(r, t, PROFILER_DRAINING, reason);
    s->operations->stop(s, t->event, now->mono, take_sample, r);
    cut(r, t, now, now->mono, true);
    report_state(r, t, PROFILER_ENDED, reason);
    t->given_up = profiler_id(t->profiler);
    profiler_free(t->profiler);
    t->profiler = NULL;
}

/* The new rate begins within a millisecond or two of the cut, far below a period. One that cannot
 * be set ends the profiler: the plan wants it at every tick. */
static void change_rate(struct runner *r, struct track *t, uint64_t period_ns,
                        const struct moment *now)
{
    struct source *s = r->options.source;

    cut(r, t, now, drain(r, now), false);
    if (s->operations->set_period(s, t->event, period_ns) != ST_OK) {
        end(r, t, now, "the rate could not be changed");
        return;
    }
    profiler_set_period(t->profiler, period_ns);
    report_state(r, t, t->sampling ? PROFILER_SAMPLING : PROFILER_ATTACHED, "");
}

static void follow_plan_of(struct runner *r, struct track *t, const struct moment *now)
{
    const struct plan_wish *wish = plan_wanted(&r->plan, t->event, now->mono);

    if (t->profiler != NULL &&
        (wish == NULL || !id128_equal(wish->item.profiler, profiler_id(t->profiler))))
        end(r, t, now, wish == NULL ? "deadline or stop" : "replaced");
    if (wish == NULL || id128_equal(wish->item.profiler, t->given_up))
        return;
    if (t->profiler == NULL)
        begin(r, t, wish, now);
    else if (wish->item.period_ns != profiler_period_ns(t->profiler))
        change_rate(r, t, wish->item.period_ns, now);
}

static void follow_plan(struct runner *r, const struct moment *now)
{
    for (unsigned i = 0; i < EVENTS; i++)
        follow_plan_of(r, &r->tracks[i], now);
}

/* Events of a newer coordinator are refused, each item once. */
static void refuse_unknown_events(struct runner *r, const struct plan *p)
{
    for (uint32_t i = 0; i < p->item_count; i++)
        if (find_track(r, p->items[i].event) == NULL)
            report_refused(r, &p->items[i], "this agent does not know the event");
}

/* ---- the owner's calls ---- */

enum status runner_new(const struct runner_options *options, struct runner **out)
{
    struct runner *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return ST_NOMEM;
    r->options = *options;
    for (unsigned i = 0; i < EVENTS; i++)
        r->tracks[i].event = events[i];
    *out = r;
    return ST_OK;
}

void runner_free(struct runner *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < EVENTS; i++)
        profiler_free(r->tracks[i].profiler);
    free(r);
}

enum status runner_apply(struct runner *r, const struct plan *p, const struct moment *now)
{
    enum status st = plan_accept(&r->plan, p, now->mono);

    if (st != ST_OK)
        return st;
    refuse_unknown_events(r, p);
    follow_plan(r, now);
    return ST_OK;
}

uint64_t runner_revision(const struct runner *r)
{
    return r->plan.revision;
}

void runner_tick(struct runner *r, const struct moment *now)
{
    if (runner_is_active(r)) {
        struct mono until = drain(r, now);

        for (unsigned i = 0; i < EVENTS; i++) {
            struct track *t = &r->tracks[i];

            if (t->profiler != NULL && profiler_is_due(t->profiler, until))
                cut(r, t, now, until, false);
        }
    }
    follow_plan(r, now);
}

void runner_finish(struct runner *r, const struct moment *now, const char *reason)
{
    for (unsigned i = 0; i < EVENTS; i++)
        if (r->tracks[i].profiler != NULL)
            end(r, &r->tracks[i], now, reason);
}

bool runner_is_active(const struct runner *r)
{
    struct id128 running[MESSAGE_PROFILERS_MAX];

    return runner_running(r, running) > 0;
}

uint32_t runner_running(const struct runner *r, struct id128 out[MESSAGE_PROFILERS_MAX])
{
    uint32_t count = 0;

    for (unsigned i = 0; i < EVENTS; i++)
        if (r->tracks[i].profiler != NULL)
            out[count++] = profiler_id(r->tracks[i].profiler);
    return count;
}

struct agent_cost runner_cost(struct runner *r)
{
    return read_cost(r);
}
