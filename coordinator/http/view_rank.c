/* view_rank - /top: the ranking of a window as JSON. */
#include "coordinator/http/params.h"
#include "coordinator/http/view_keys.h"

static json_t *view_row(const struct rank_row *r, uint32_t by_count)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "key", view_key(r->key, by_count), "binary",
                     json_text(r->binary), "self", json_estimate(&r->self, r->self_samples),
                     "total", json_estimate(&r->total, r->total_samples), "rank_low",
                     (json_int_t)r->rank_low, "rank_high", (json_int_t)r->rank_high);
}

static json_t *view_rows(const struct ranking *r)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; rows != NULL && i < r->row_count; i++)
        if (json_array_append_new(rows, view_row(&r->rows[i], r->by_count)) != 0) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

static json_t *view_naming(const struct naming *n)
{
    return json_pack("{s:o, s:o, s:o}", "frames", json_u64(n->frames), "named", json_u64(n->named),
                     "share", json_finite(naming_share(n), 1));
}

static json_t *view_ranking(const struct ranking *r, const struct profile *p)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "event",
                     event_name(p->event), "unit", event_unit(p->event), "by",
                     view_by(r->by, r->by_count), "rows", view_rows(r), "rows_found",
                     (json_int_t)r->rows_found, "folded_share", json_finite(r->folded_share, 0),
                     "names", view_naming(&r->naming), "cores", view_cores(p), "weight_ns",
                     json_ns(p->weight_ns), "samples", json_u64(p->samples), "coverage",
                     json_coverage(&p->coverage));
}

static enum status work(struct question *q)
{
    const struct profile *p = &q->sides[0].profile;
    struct ranking ranking = {0};
    enum status st = rank(p, q->symbolizer, q->dictionary, q->by, q->by_count, q->limit, &ranking);

    if (st == ST_OK)
        st = question_answer_json(q, view_ranking(&ranking, p));
    ranking_deinit(&ranking);
    return st;
}

void route_top(struct call *c)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    if (params_window(c, q) && params_rank(c, q))
        question_ask(c, q);
    else
        question_free(q);
}
