#include "coordinator/http/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

/* A question on its way through the workers. */
struct errand {
    uv_work_t work;
    struct call call;
    struct question *question;
    struct symbol_cache *symbols;
    struct store *store;
    enum status status;
};

struct question *question_begin(struct call *c, enum status (*work)(struct question *q))
{
    struct question *q = calloc(1, sizeof(*q));

    if (q == NULL) {
        call_fail(c, ST_NOMEM, "%s", status_text(ST_NOMEM));
        return NULL;
    }
    q->by[0] = RANK_BY_FUNCTION;
    q->by_count = 1;
    q->limit = QUESTION_LIMIT_DEFAULT;
    q->wants_profiles = true;
    q->work = work;
    return q;
}

void question_free(struct question *q)
{
    if (q == NULL)
        return;
    for (unsigned i = 0; i < 2; i++) {
        selector_free(q->sides[i].select);
        profile_deinit(&q->sides[i].profile);
    }
    free(q->bytes);
    free(q);
}

enum status question_answer_json(struct question *q, json_t *value)
{
    q->media_type = "application/json";
    return json_finish(value, &q->bytes, &q->length);
}

/* ---- worker thread ---- */

static enum status collect(struct question *q, struct symbol_cache *symbols)
{
    for (uint32_t i = 0; i < q->side_count; i++) {
        struct question_side *side = &q->sides[i];
        enum status st = profile_collect(q->view, &side->window, &side->profile, q->why);

        if (st != ST_OK)
            return st;
    }
    return symbolizer_new(symbols, q->view, &q->symbolizer);
}

static void run(uv_work_t *work)
{
    struct errand *e = work->data;
    struct question *q = e->question;
    enum status st = store_view_open(e->store, &q->view);

    if (st == ST_OK) {
        q->dictionary = store_view_dictionary(q->view);
        if (q->wants_profiles)
            st = collect(q, e->symbols);
        if (st == ST_OK)
            st = q->work(q);
    }
    symbolizer_free(q->symbolizer);
    store_view_close(q->view);
    e->status = st;
}

/* ---- loop thread ---- */

static void send_answer(struct errand *e)
{
    struct question *q = e->question;

    if (e->status != ST_OK) {
        call_fail(&e->call, e->status, "%s", q->why[0] == '\0' ? status_text(e->status) : q->why);
        return;
    }
    http_answer_take(e->call.request, 200, q->media_type, (uint8_t *)q->bytes, q->length,
                     q->file_name[0] == '\0' ? NULL : q->file_name);
    q->bytes = NULL;
}

static void on_done(uv_work_t *work, int status)
{
    struct errand *e = work->data;
    struct api *a = e->call.api;

    (void)status; /* we never cancel */
    send_answer(e);
    question_free(e->question);
    free(e);
    a->questions--;
    api_check_idle(a);
}

void question_ask(struct call *c, struct question *q)
{
    struct api *a = c->api;
    struct errand *e;

    if (a->questions >= QUESTIONS_MAX) {
        a->questions_refused++;
        question_free(q);
        call_fail(c, ST_FULL, "%d questions are being answered; ask again in a moment",
                  QUESTIONS_MAX);
        return;
    }
    e = calloc(1, sizeof(*e));
    if (e == NULL) {
        question_free(q);
        call_fail(c, ST_NOMEM, "%s", status_text(ST_NOMEM));
        return;
    }
    *e = (struct errand){
        .call = *c,
        .question = q,
        .symbols = a->options.symbols,
        .store = a->options.store,
        .status = ST_IO,
    };
    e->work.data = e;
    a->questions++;
    a->questions_asked++;
    (void)uv_queue_work(a->options.loop, &e->work, run, on_done); /* fails only without `run` */
}
