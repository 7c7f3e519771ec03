#include "coordinator/http/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "common/when.h"

/* Digits of a real: 1e-9 of a share is far below any interval. */
enum { REAL_DIGITS = 12 };

json_t *json_text(const char *text)
{
    json_t *value;
    char *copy;

    if (text == NULL)
        return json_null();
    value = json_string(text);
    if (value != NULL)
        return value;
    copy = strdup(text);
    if (copy == NULL)
        return NULL;
    utf8_repair(copy, strlen(copy));
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *json_u64(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_finite(double value, double otherwise)
{
    return json_real(isfinite(value) ? value : otherwise);
}

json_t *json_ns(double ns)
{
    if (!isfinite(ns) || fabs(ns) > 9e18)
        return json_integer(0);
    return json_integer(llround(ns));
}

json_t *json_seconds(uint64_t ns)
{
    return json_real((double)ns / (double)NS_PER_S);
}

json_t *json_hz(uint64_t period_ns)
{
    if (period_ns == 0)
        return json_real(0);
    return json_real(round(1e12 / (double)period_ns) / 1e3);
}

json_t *json_time(struct wall t)
{
    char text[WHEN_TEXT_MAX];

    return t.ns == 0 ? json_null() : json_string(when_format(t, text));
}

json_t *json_id128(struct id128 id)
{
    char text[ID128_TEXT_MAX];

    return id128_is_zero(id) ? json_null() : json_string(id128_format(id, text));
}

json_t *json_labels(const struct labels *labels)
{
    json_t *object = json_object();

    for (size_t i = 0; object != NULL && i < labels->count; i++)
        if (json_object_set_new(object, labels->items[i].key, json_text(labels->items[i].value)) !=
            0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

json_t *json_losses(const struct ledger *l)
{
    json_t *object = json_object();

    for (unsigned i = 0; object != NULL && i < LOSS_KINDS; i++)
        if (json_object_set_new(object, loss_name((enum loss)i), json_u64(l->lost[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

json_t *json_walks(const struct walks *w)
{
    json_t *object = json_object();
    int rc = 0;

    for (unsigned i = 0; i < WALK_ENDS; i++)
        rc |= json_object_set_new(object, walk_name((enum walk_end)i), json_u64(w->count[i]));
    rc |= json_object_set_new(object, "other", json_u64(walks_other(w)));
    if (rc == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *json_root_share(const struct walks *w)
{
    double share = walks_root_share(w);

    return share < 0 ? json_null() : json_finite(share, 0);
}

json_t *json_cost(const struct agent_cost *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "user_s", json_seconds(c->user_ns),
                     "system_s", json_seconds(c->system_ns), "bpf_s", json_seconds(c->bpf_ns),
                     "rss_bytes", json_u64(c->rss_bytes), "kernel_map_bytes",
                     json_u64(c->kernel_map_bytes), "bytes_sent", json_u64(c->bytes_sent));
}

/* Lost samples over those that should have been delivered. */
static double lost_share(const struct ledger *l)
{
    double lost = (double)ledger_lost(l), wanted = lost + (double)l->delivered;

    return wanted > 0 ? lost / wanted : 0;
}

json_t *json_coverage(const struct coverage *c)
{
    const struct ledger *l = &c->ledger;

    return json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "from", json_time(c->from), "to", json_time(c->to), "hosts_wanted",
        (json_int_t)c->hosts_wanted, "hosts_covered", (json_int_t)c->hosts_covered, "covered_share",
        json_finite(c->covered_share, 0), "chunks", json_u64(c->chunks), "samples",
        json_u64(c->samples), "hz_min", json_hz(c->period_max_ns), "hz_max",
        json_hz(c->period_min_ns), "expected", json_u64(l->expected), "delivered",
        json_u64(l->delivered), "idle", json_u64(l->idle), "skipped", json_u64(l->skipped), "lost",
        json_losses(l), "lost_share", json_finite(lost_share(l), 0), "root_share",
        json_root_share(&c->walks), "clock_offset_max_ms",
        json_real((double)c->clock_offset_max_ns / (double)NS_PER_MS));
}

json_t *json_estimate(const struct estimate *e, uint64_t samples)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", json_u64(samples),
                     "weight_ns", json_ns(e->weight_ns), "cores", json_finite(e->cores, 0),
                     "cores_low", json_finite(e->cores_low, 0), "cores_high",
                     json_finite(e->cores_high, 0), "share", json_finite(e->share, 0), "share_low",
                     json_finite(e->share_low, 0), "share_high", json_finite(e->share_high, 0));
}

enum status json_finish(json_t *value, char **out, size_t *out_length)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *f = value == NULL ? NULL : open_memstream(&bytes, &length);
    bool failed = f == NULL;

    if (f != NULL) {
        failed = json_dumpf(value, f, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) != 0;
        failed = fputc('\n', f) == EOF || failed;
        failed = fclose(f) != 0 || failed;
    }
    json_decref(value);
    if (failed) {
        free(bytes);
        return ST_NOMEM;
    }
    *out = bytes;
    *out_length = length;
    return ST_OK;
}
