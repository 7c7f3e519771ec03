/* view_diff - /diff: what got more or less expensive between two sides, as JSON. */
#include "coordinator/http/params.h"
#include "coordinator/http/view_keys.h"
#include "coordinator/query/diff.h"

static json_t *view_row(const struct diff_row *r, uint32_t by_count)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "key", view_key(r->key, by_count),
        "binary", json_text(r->binary), "a", json_estimate(&r->a, r->a_samples), "b",
        json_estimate(&r->b, r->b_samples), "cores_delta", json_finite(r->cores_delta, 0),
        "cores_delta_low", json_finite(r->cores_delta_low, 0), "cores_delta_high",
        json_finite(r->cores_delta_high, 0), "share_delta", json_finite(r->share_delta, 0),
        "p_value", json_finite(r->p_value, 1), "verdict", diff_verdict_name(r->verdict));
}

static json_t *view_rows(const struct diff *d)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; rows != NULL && i < d->row_count; i++)
        if (json_array_append_new(rows, view_row(&d->rows[i], d->by_count)) != 0) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

static json_t *view_side(const struct profile *p)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "cores", view_cores(p), "weight_ns",
                     json_ns(p->weight_ns), "samples", json_u64(p->samples), "coverage",
                     json_coverage(&p->coverage));
}

static json_t *view_diff(const struct diff *d, const struct profile *a, const struct profile *b)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o}", "event", event_name(a->event), "unit",
                     event_unit(a->event), "by", view_by(d->by, d->by_count), "rows", view_rows(d),
                     "rows_found", (json_int_t)d->rows_found, "a", view_side(a), "b", view_side(b));
}

static enum status work(struct question *q)
{
    const struct profile *a = &q->sides[0].profile, *b = &q->sides[1].profile;
    struct diff diff = {0};
    enum status st =
        diff_profiles(a, b, q->symbolizer, q->dictionary, q->by, q->by_count, q->limit, &diff);

    if (st == ST_OK)
        st = question_answer_json(q, view_diff(&diff, a, b));
    diff_deinit(&diff);
    return st;
}

void route_diff(struct call *c)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    if (params_sides(c, q) && params_rank(c, q))
        question_ask(c, q);
    else
        question_free(q);
}
