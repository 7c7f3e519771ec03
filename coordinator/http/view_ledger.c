/* view_ledger - /ledger: what was expected, delivered, lost and is missing, as JSON. */
#include "coordinator/http/params.h"
#include "coordinator/query/ledger_report.h"

static int add_counters(json_t *object, const struct ledger *l, const struct walks *w)
{
    json_t *counters = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "expected", json_u64(l->expected), "delivered",
        json_u64(l->delivered), "idle", json_u64(l->idle), "skipped", json_u64(l->skipped), "lost",
        json_losses(l), "root_share", json_root_share(w), "walks", json_walks(w));
    int rc = json_object_update(object, counters);

    json_decref(counters);
    return rc;
}

static json_t *with_counters(json_t *object, const struct ledger *l, const struct walks *w)
{
    if (object == NULL || add_counters(object, l, w) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *view_line(const struct ledger_line *l)
{
    return with_counters(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}",
                                   "host", json_text(l->host), "profiler", json_id128(l->profiler),
                                   "from", json_time(l->from), "to", json_time(l->to), "chunks",
                                   json_u64(l->chunks), "missing_chunks",
                                   json_u64(l->missing_chunks), "uncovered_s",
                                   json_seconds(l->uncovered_ns), "uncovered_samples",
                                   json_u64(l->uncovered_samples), "final", l->final, "hz",
                                   json_hz(l->period_ns), "cost", json_cost(&l->cost)),
                         &l->ledger, &l->walks);
}

static json_t *view_lines(const struct ledger_report *r)
{
    json_t *lines = json_array();

    for (uint32_t i = 0; lines != NULL && i < r->line_count; i++)
        if (json_array_append_new(lines, view_line(&r->lines[i])) != 0) {
            json_decref(lines);
            return NULL;
        }
    return lines;
}

static json_t *view_total(const struct ledger_report *r)
{
    uint64_t chunks = 0;

    for (uint32_t i = 0; i < r->line_count; i++)
        chunks += r->lines[i].chunks;
    return with_counters(json_pack("{s:o, s:o, s:o, s:o}", "chunks", json_u64(chunks),
                                   "missing_chunks", json_u64(r->missing_chunks), "uncovered_s",
                                   json_seconds(r->uncovered_ns), "uncovered_samples",
                                   json_u64(r->uncovered_samples)),
                         &r->total, &r->walks);
}

static enum status work(struct question *q)
{
    struct ledger_report report = {0};
    enum status st = ledger_report(q->view, &q->sides[0].window, &report, q->why);

    if (st == ST_OK)
        st = question_answer_json(
            q, json_pack("{s:o, s:o}", "lines", view_lines(&report), "total", view_total(&report)));
    ledger_report_deinit(&report);
    return st;
}

void route_ledger(struct call *c)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    q->wants_profiles = false;
    if (params_window(c, q))
        question_ask(c, q);
    else
        question_free(q);
}
