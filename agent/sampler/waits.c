#include "agent/sampler/waits.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 12 };

struct wait { /* one that is pending */
    struct wait *next_in_bucket;
    struct sample sample; /* its addresses lie behind it */
    size_t bytes; /* with what lies behind */
    uint64_t begin_ns;
    uint64_t tick_ns; /* of its next sample */
    uint32_t tid, chance;
    uint64_t copies[];
};

struct waits {
    struct wait *buckets[BUCKETS];
    uint64_t period_ns;
    uint64_t settled_ns; /* samples up to then were handed over */
    size_t bytes;
    unsigned short random[3]; /* the state of erand48(3) */
    struct waits_counters counters;
};

enum status waits_new(uint64_t seed, struct waits **out)
{
    struct waits *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ST_NOMEM;
    for (unsigned i = 0; i < 3; i++)
        w->random[i] = (unsigned short)(seed >> (16 * i));
    w->period_ns = NS_PER_S;
    *out = w;
    return ST_OK;
}

void waits_free(struct waits *w)
{
    if (w == NULL)
        return;
    waits_forget(w);
    free(w);
}

/* ---- the clock of a wait ---- */

static uint64_t spacing(const struct waits *w, const struct wait *wait)
{
    uint64_t ns = w->period_ns * wait->chance / ABI_CHANCE_ONE;

    return ns > 0 ? ns : 1;
}

static void start_clock(struct waits *w, struct wait *wait, uint64_t from_ns)
{
    wait->tick_ns = from_ns + (uint64_t)(erand48(w->random) * (double)spacing(w, wait));
}

/* The samples before `end_ns`. */
static void hand_over(const struct waits *w, struct wait *wait, uint64_t end_ns,
                      enum abi_wait_kind kind, sample_visit *visit, void *arg)
{
    struct sample s = wait->sample;
    uint64_t more;

    if (wait->tick_ns >= end_ns)
        return;
    s.time.ns = wait->tick_ns;
    s.step_ns = spacing(w, wait);
    more = (end_ns - 1 - wait->tick_ns) / s.step_ns;
    s.repeats = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
    s.wait = kind;
    wait->tick_ns += (more + 1) * s.step_ns;
    visit(arg, &s);
}

void waits_set_period(struct waits *w, uint64_t period_ns)
{
    w->period_ns = period_ns;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct wait *wait = w->buckets[i]; wait != NULL; wait = wait->next_in_bucket)
            start_clock(w, wait, wait->begin_ns > w->settled_ns ? wait->begin_ns : w->settled_ns);
}

/* ---- what is pending ---- */

static struct wait **place_of(struct waits *w, uint32_t tid)
{
    struct wait **place = &w->buckets[tid % BUCKETS];

    while (*place != NULL && (*place)->tid != tid)
        place = &(*place)->next_in_bucket;
    return place;
}

static void remove_at(struct waits *w, struct wait **place)
{
    struct wait *wait = *place;

    *place = wait->next_in_bucket;
    w->bytes -= wait->bytes;
    w->counters.pending--;
    free(wait);
}

/* Copies what the sample points to behind the wait, and points there. */
static void keep_sample(struct wait *wait, const struct sample *sample)
{
    size_t kernel = sample->kernel_count, user = sample->user_count;

    wait->sample = *sample;
    wait->sample.kernel = wait->copies;
    wait->sample.user = wait->copies + kernel;
    if (kernel != 0)
        memcpy(wait->copies, sample->kernel, kernel * sizeof(uint64_t));
    if (user != 0)
        memcpy(wait->copies + kernel, sample->user, user * sizeof(uint64_t));
    if (sample->raw == NULL)
        return;
    memcpy(wait->copies + kernel + user, sample->raw, sizeof(*sample->raw) + sample->raw->bytes);
    wait->sample.raw = (const struct abi_raw_stack *)(wait->copies + kernel + user);
}

static size_t bytes_of(const struct sample *sample)
{
    size_t raw = sample->raw == NULL ? 0 : sizeof(*sample->raw) + sample->raw->bytes;

    return sizeof(struct wait) +
           ((size_t)sample->kernel_count + sample->user_count) * sizeof(uint64_t) + raw;
}

static enum status add(struct waits *w, const struct abi_wait *begun, const struct sample *sample,
                       struct wait **place)
{
    size_t bytes = bytes_of(sample);
    struct wait *wait;

    if (w->counters.pending >= WAITS_MAX || bytes > WAITS_BYTES_MAX - w->bytes)
        return ST_FULL;
    wait = calloc(1, bytes);
    if (wait == NULL)
        return ST_NOMEM;
    keep_sample(wait, sample);
    wait->sample.wait = (enum abi_wait_kind)begun->kind;
    wait->bytes = bytes;
    wait->begin_ns = begun->begin_ns;
    wait->tid = begun->tid;
    wait->chance = begun->chance;
    start_clock(w, wait, begun->begin_ns);
    *place = wait;
    w->bytes += bytes;
    w->counters.pending++;
    return ST_OK;
}

enum status waits_begin(struct waits *w, const struct abi_wait *begun, const struct sample *sample)
{
    struct wait **place = place_of(w, begun->tid);
    enum status st;

    if (*place != NULL) {
        w->counters.unended++;
        remove_at(w, place);
        place = place_of(w, begun->tid);
    }
    st = add(w, begun, sample, place);
    if (st != ST_OK)
        w->counters.refused++;
    return st;
}

void waits_end(struct waits *w, const struct abi_wait *ended, sample_visit *visit, void *arg)
{
    struct wait **place = place_of(w, ended->tid);
    struct wait *wait = *place;
    uint64_t woken = ended->woken_ns;

    if (wait == NULL || wait->begin_ns != ended->begin_ns)
        return;
    if (woken == 0 || woken > ended->end_ns) /* it could run all the time, or slept to the end */
        woken = ended->end_ns;
    hand_over(w, wait, woken, wait->sample.wait, visit, arg);
    hand_over(w, wait, ended->end_ns, ABI_WAIT_RUNNABLE, visit, arg);
    remove_at(w, place);
}

void waits_settle(struct waits *w, struct mono until, sample_visit *visit, void *arg)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct wait *wait = w->buckets[i]; wait != NULL; wait = wait->next_in_bucket)
            hand_over(w, wait, until.ns, wait->sample.wait, visit, arg);
    w->settled_ns = until.ns;
}

void waits_forget(struct waits *w)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        while (w->buckets[i] != NULL)
            remove_at(w, &w->buckets[i]);
}

struct waits_counters waits_read_counters(const struct waits *w)
{
    return w->counters;
}
