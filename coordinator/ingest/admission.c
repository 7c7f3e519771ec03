#include "coordinator/ingest/admission.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/store/records.h"

struct verdict {
    enum refusal_reason *reason;
    char *text;
};

__attribute__((format(printf, 3, 4))) static enum status
refuse(struct verdict v, enum refusal_reason reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(v.text, INGEST_TEXT_MAX, format, args);
    va_end(args);
    *v.reason = reason;
    return ST_INVALID;
}

static enum status check_owner(struct verdict v, const struct profiler_record *r,
                               const struct chunk_info *info, const char *host)
{
    char id[ID128_TEXT_MAX];

    if (strcmp(r->host, host) != 0)
        return refuse(v, REFUSAL_NOT_YOURS, "profiler %s is not of host %s",
                      id128_format(info->profiler, id), host);
    if (r->incarnation != info->incarnation)
        return refuse(v, REFUSAL_NOT_YOURS,
                      "profiler %s is of agent incarnation %016" PRIx64 ", not %016" PRIx64,
                      id128_format(info->profiler, id), r->incarnation, info->incarnation);
    if (r->event != info->event)
        return refuse(v, REFUSAL_MALFORMED, "profiler %s samples %s, not %s",
                      id128_format(info->profiler, id), event_name(r->event),
                      event_name(info->event));
    return ST_OK;
}

static enum status check_window(struct verdict v, const struct profiler_record *r,
                                const struct chunk_info *info, struct wall now)
{
    struct wall start = chunk_wall_start(info), end = chunk_wall_end(info);

    if (start.ns < r->assigned.ns && r->assigned.ns - start.ns > INGEST_CLOCK_SLACK_NS)
        return refuse(v, REFUSAL_MALFORMED,
                      "the window starts %" PRIu64 " s before its profiler was assigned: "
                      "check the host's clock",
                      (r->assigned.ns - start.ns) / NS_PER_S);
    if (end.ns > now.ns && end.ns - now.ns > INGEST_CLOCK_SLACK_NS)
        return refuse(v, REFUSAL_MALFORMED,
                      "the window ends %" PRIu64 " s in the future: check the host's clock",
                      (end.ns - now.ns) / NS_PER_S);
    return ST_OK;
}

/* A gap in the sequences counts as missing chunks: a number from nowhere must not make one. */
static enum status check_sequence(struct verdict v, const struct profiler_record *r,
                                  const struct chunk_info *info, struct wall now)
{
    uint64_t age_ns = now.ns > r->assigned.ns ? now.ns - r->assigned.ns : 0;
    uint64_t most = age_ns / INGEST_CHUNK_NS_MIN + INGEST_SEQUENCE_SPARE;

    if (info->sequence > most)
        return refuse(v, REFUSAL_MALFORMED,
                      "sequence %" PRIu64 " of a profiler that was assigned %" PRIu64
                      " s ago: at most %" PRIu64,
                      info->sequence, age_ns / NS_PER_S, most);
    return ST_OK;
}

enum status admission_check(struct store_txn *t, const struct chunk_info *info, const char *host,
                            struct wall now, enum refusal_reason *reason,
                            char text[INGEST_TEXT_MAX])
{
    const struct slice key = {info->profiler.bytes, ID128_BYTES};
    const struct verdict v = {reason, text};
    struct profiler_record record;
    char id[ID128_TEXT_MAX];
    struct slice value;
    enum status st = store_txn_get(t, STORE_PROFILERS, key, &value);

    if (st == ST_NOT_FOUND)
        return refuse(v, REFUSAL_UNKNOWN_PROFILER, "profiler %s is not known here",
                      id128_format(info->profiler, id));
    if (st != ST_OK)
        return st;
    st = profiler_record_decode(value, &record);
    if (st != ST_OK)
        return st == ST_NOMEM ? st : ST_IO; /* damaged: not the sender's fault */
    st = check_owner(v, &record, info, host);
    if (st == ST_OK)
        st = check_window(v, &record, info, now);
    if (st == ST_OK)
        st = check_sequence(v, &record, info, now);
    profiler_record_deinit(&record);
    return st;
}
