#include "coordinator/worker_pool.h"

#include <stdlib.h>
#include <uv.h>

struct errand {
    uv_work_t request;
    struct worker_pool *pool;
    struct work *work;
};

static void on_run(uv_work_t *request)
{
    struct errand *e = request->data;

    e->work->run(e->work);
}

static void on_done(uv_work_t *request, int status)
{
    struct errand *e = request->data;
    struct work *w = e->work;

    (void)status; /* we never cancel */
    e->pool->busy--;
    free(e);
    w->done(w);
}

static void submit(void *arg, struct work *w)
{
    struct worker_pool *p = arg;
    struct errand *e = calloc(1, sizeof(*e));

    if (e == NULL) { /* slow, but done */
        w->run(w);
        w->done(w);
        return;
    }
    *e = (struct errand){.pool = p, .work = w};
    e->request.data = e;
    p->busy++;
    (void)uv_queue_work(p->loop, &e->request, on_run, on_done); /* fails only without `on_run` */
}

struct workers worker_pool_workers(struct worker_pool *p)
{
    return (struct workers){.submit = submit, .arg = p};
}
