#include "agent/agent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/identity.h"
#include "agent/link.h"
#include "agent/runner.h"
#include "agent/spool.h"
#include "agent/symbol_sender.h"
#include "common/log.h"
#include "common/url.h"

enum {
    TICK_MS = 100, /* the ring holds 4 s of a busy 64-CPU host at 99 Hz */
    EAGER_TICK_MS = 20, /* copies of stacks: half the ring holds 60 ms of 2 CPUs at 999 Hz */
    IDLE_TICK_MS = 500, /* nothing runs: only heartbeats and deadlines are due */
    FAREWELL_MS = 1500, /* a stopping agent waits this long for its last acknowledgements */
    HANDLES = 4,
};

struct agent {
    uv_loop_t loop;
    uv_timer_t tick;
    uv_async_t wake; /* rung by the channel's threads, and by agent_stop */
    uv_signal_t signals[2];
    uv_work_t symbol_work;
    bool loop_ready, symbol_work_busy, closing;
    volatile sig_atomic_t stop_wanted;
    struct mono start;
    struct wall start_wall; /* at `start` */
    struct mono farewell; /* deadline, once stopping */
    bool stopping;
    bool insecure; /* the coordinator lies over a network */
    struct identity identity;
    struct source *source;
    struct spool *spool;
    struct link *link;
    struct runner *runner;
    struct symbol_sender *symbols;
};

static struct moment moment_now(const struct agent *a)
{
    struct mono mono = clock_mono();
    struct wall wall = clock_wall();

    return (struct moment){.mono = mono,
                           .wall = wall,
                           .steady = {a->start_wall.ns + mono_since(mono, a->start)},
                           .clock_offset_ns = link_clock_offset_ns(a->link, mono, wall),
                           .bytes_sent = link_read_counters(a->link).bytes_sent};
}

/* ---- what the link asks and tells ---- */

static void fill_hello(void *arg, struct hello *out)
{
    struct agent *a = arg;
    const char *degraded = a->source->operations->degraded(a->source);

    (void)snprintf(out->host, sizeof(out->host), "%s", a->identity.host);
    (void)snprintf(out->version, sizeof(out->version), "%s", FLEETPROF_VERSION);
    (void)snprintf(out->degraded, sizeof(out->degraded), "%s", degraded);
    out->incarnation = a->identity.incarnation;
    out->boot_id = a->identity.boot_id;
    out->cpus = a->source->cpus;
    out->plan_revision = runner_revision(a->runner);
    out->running_count = runner_running(a->runner, out->running);
    if (labels_copy(&a->identity.labels, &out->labels) != ST_OK)
        log_error("event=hello_without_labels why=\"%s\"", status_text(ST_NOMEM));
}

static void fill_heartbeat(void *arg, struct heartbeat *out)
{
    struct agent *a = arg;

    out->plan_revision = runner_revision(a->runner);
    out->cost = runner_cost(a->runner);
}

static void on_welcomed(void *arg)
{
    struct agent *a = arg;

    symbol_sender_reset(a->symbols);
    runner_repeat_reports(a->runner);
}

static void say(void *arg, const struct message *m)
{
    link_send(((struct agent *)arg)->link, m);
}

static void say_report(void *arg, const struct profiler_report *report)
{
    struct message m = {.type = MESSAGE_PROFILER_STATE, .profiler_state = *report};

    say(arg, &m);
}

static void acknowledge_plan(struct agent *a)
{
    struct message m = {.type = MESSAGE_PLAN_ACK};

    m.plan_ack.revision = runner_revision(a->runner);
    say(a, &m);
}

static void on_plan(void *arg, const struct plan *p)
{
    struct agent *a = arg;
    struct moment now = moment_now(a);
    enum status st = a->stopping ? ST_BAD_STATE : runner_apply(a->runner, p, &now);

    if (st == ST_OK || st == ST_EXISTS)
        acknowledge_plan(a);
    else
        log_warn("event=plan_refused revision=%llu why=\"%s\"", (unsigned long long)p->revision,
                 status_text(st));
}

/* ---- symbols: one job at a time on a worker thread ---- */

static size_t queued_bytes(void *arg)
{
    return link_queued_bytes(((struct agent *)arg)->link);
}

static void work_on_symbols(uv_work_t *w)
{
    symbol_sender_work(((struct agent *)w->data)->symbols);
}

static void go_on_with_symbols(struct agent *a);

static void on_symbols_worked(uv_work_t *w, int status)
{
    struct agent *a = w->data;

    (void)status; /* never cancelled */
    a->symbol_work_busy = false;
    symbol_sender_worked(a->symbols, say, a);
    go_on_with_symbols(a);
}

static void go_on_with_symbols(struct agent *a)
{
    symbol_sender_pump(a->symbols, queued_bytes, say, a);
    if (a->symbol_work_busy || a->stopping || !symbol_sender_begin(a->symbols, say, a))
        return;
    a->symbol_work.data = a;
    a->symbol_work_busy = true;
    (void)uv_queue_work(&a->loop, &a->symbol_work, work_on_symbols, on_symbols_worked);
}

static void on_symbols_wanted(void *arg, const struct symbols_wanted *w)
{
    struct agent *a = arg;

    symbol_sender_want(a->symbols, w);
    go_on_with_symbols(a);
}

/* ---- stopping ---- */

static void begin_stopping(struct agent *a)
{
    struct moment now = moment_now(a);

    log_info("event=stopping");
    a->stopping = true;
    a->farewell = mono_after(now.mono, FAREWELL_MS * NS_PER_MS);
    runner_finish(a->runner, &now, "the agent stops");
    symbol_sender_cancel(a->symbols);
}

static void close_handles(struct agent *a)
{
    uv_handle_t *handles[HANDLES] = {(uv_handle_t *)&a->tick, (uv_handle_t *)&a->wake,
                                     (uv_handle_t *)&a->signals[0], (uv_handle_t *)&a->signals[1]};

    if (a->closing)
        return;
    a->closing = true;
    link_free(a->link); /* its threads ring `wake` until here */
    a->link = NULL;
    for (int i = 0; i < HANDLES; i++)
        uv_close(handles[i], NULL);
}

/* What is in the spool is safe; it is only nicer when it has arrived. */
static void stop_when_done(struct agent *a, struct mono now)
{
    bool sent = link_is_up(a->link) && !link_has_unsent(a->link) && queued_bytes(a) == 0;

    if (!a->symbol_work_busy && (sent || !link_is_up(a->link) || mono_reached(now, a->farewell)))
        close_handles(a);
}

/* ---- the loop ---- */

static bool is_busy(const struct agent *a)
{
    return a->stopping || runner_is_active(a->runner) || !link_is_up(a->link);
}

static uint64_t tick_ms(const struct agent *a)
{
    if (!is_busy(a))
        return IDLE_TICK_MS;
    return a->source->eager ? EAGER_TICK_MS : TICK_MS;
}

static void on_tick(uv_timer_t *t)
{
    struct agent *a = t->data;
    struct moment now = moment_now(a);

    if (a->stop_wanted && !a->stopping)
        begin_stopping(a);
    if (!a->stopping)
        runner_tick(a->runner, &now);
    spool_expire(a->spool, now.steady);
    link_tick(a->link, now.mono, now.wall);
    go_on_with_symbols(a);
    if (a->stopping) {
        stop_when_done(a, now.mono);
        if (a->closing)
            return;
    }
    uv_timer_set_repeat(t, tick_ms(a));
}

static void hurry(struct agent *a)
{
    (void)uv_timer_start(&a->tick, on_tick, 0, TICK_MS);
}

static void on_wake(uv_async_t *w)
{
    struct agent *a = w->data;

    bool stop, begun;

    link_drain(a->link, clock_mono(), clock_wall());
    stop = a->stop_wanted && !a->stopping;
    begun = is_busy(a) && uv_timer_get_repeat(&a->tick) > TICK_MS;
    if (stop || begun) /* begun: once, lest messages keep putting the tick off */
        hurry(a);
}

static void on_signal(uv_signal_t *s, int number)
{
    struct agent *a = s->data;

    (void)number;
    a->stop_wanted = 1;
    hurry(a);
}

static void ring(void *arg)
{
    (void)uv_async_send(&((struct agent *)arg)->wake);
}

static enum status open_loop(struct agent *a)
{
    if (uv_loop_init(&a->loop) != 0)
        return ST_NOMEM;
    a->loop_ready = true;
    (void)uv_timer_init(&a->loop, &a->tick);
    (void)uv_async_init(&a->loop, &a->wake, on_wake);
    (void)uv_signal_init(&a->loop, &a->signals[0]);
    (void)uv_signal_init(&a->loop, &a->signals[1]);
    a->tick.data = a->wake.data = a->signals[0].data = a->signals[1].data = a;
    return ST_OK;
}

static enum status open_parts(struct agent *a, const struct agent_config *config,
                              char why[AGENT_WHY_MAX])
{
    const struct spool_options spool = {config->spool, config->spool_bytes, config->spool_age};
    struct link_options link = {
        .url = config->coordinator,
        .wake = ring,
        .wake_arg = a,
        .handler = {fill_hello, fill_heartbeat, on_welcomed, on_plan, on_symbols_wanted, a}};
    struct runner_options runner = {.source = a->source, .report = say_report, .arg = a};
    enum status st = spool_open(&spool, a->start_wall, &a->spool);

    if (st != ST_OK) {
        (void)snprintf(why, AGENT_WHY_MAX, "the spool %.200s: %s", config->spool, status_text(st));
        return st;
    }
    runner.spool = link.spool = a->spool;
    runner.incarnation = a->identity.incarnation;
    st = runner_new(&runner, &a->runner);
    if (st == ST_OK)
        st = symbol_sender_new(a->source, &a->symbols);
    if (st == ST_OK)
        st = link_new(&link, &a->link);
    if (st != ST_OK)
        (void)snprintf(why, AGENT_WHY_MAX, "%s", status_text(st));
    return st;
}

enum status agent_new(const struct agent_config *config, struct source *source, struct agent **out,
                      char why[AGENT_WHY_MAX])
{
    struct agent *a = calloc(1, sizeof(*a));
    enum status st = ST_NOMEM;

    if (a == NULL) {
        source->operations->close(source);
        return ST_NOMEM;
    }
    a->source = source;
    a->insecure = url_is_remote(config->coordinator);
    a->start = clock_mono();
    a->start_wall = clock_wall();
    st = identity_read(config, &a->identity, why);
    if (st != ST_OK)
        goto out;
    st = open_loop(a);
    if (st != ST_OK)
        goto out;
    st = open_parts(a, config, why);
    if (st != ST_OK)
        goto out;
    *out = a;
    a = NULL;
out:
    agent_free(a);
    return st;
}

enum status agent_run(struct agent *a)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)uv_signal_start(&a->signals[0], on_signal, SIGTERM);
    (void)uv_signal_start(&a->signals[1], on_signal, SIGINT);
    (void)uv_timer_start(&a->tick, on_tick, 0, TICK_MS);
    if (a->insecure)
        log_warn("event=insecure why=\"the coordinator lies over a network and there is no TLS: "
                 "whoever is between can read and change what is sent\"");
    log_info("event=started host=%s incarnation=%016llx version=%s", a->identity.host,
             (unsigned long long)a->identity.incarnation, FLEETPROF_VERSION);
    (void)uv_run(&a->loop, UV_RUN_DEFAULT);
    log_info("event=stopped");
    return ST_OK;
}

void agent_stop(struct agent *a)
{
    a->stop_wanted = 1;
    (void)uv_async_send(&a->wake);
}

void agent_free(struct agent *a)
{
    if (a == NULL)
        return;
    if (a->loop_ready) {
        close_handles(a);
        (void)uv_run(&a->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&a->loop);
    }
    symbol_sender_free(a->symbols);
    runner_free(a->runner);
    spool_close(a->spool);
    identity_deinit(&a->identity);
    a->source->operations->close(a->source);
    free(a);
}
