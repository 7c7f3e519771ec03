/* agent_record - see agent_record.h. Keys are never reused; unknown ones are skipped. */
#include "coordinator/control/agent_record.h"

#include <stdlib.h>
#include <string.h>

enum key { KEY_INCARNATION = 1, KEY_VERSION, KEY_LABELS, KEY_CPUS, KEY_DEGRADED, KEY_LAST_SEEN };
enum { KEYS = KEY_LAST_SEEN, KEYS_MAX = 32 };

enum status agent_record_encode(const struct agent *a, struct wire_writer *w)
{
    wire_writer_reset(w);
    wire_put_map(w, KEYS);
    wire_put_u64(w, KEY_INCARNATION);
    wire_put_u64(w, a->incarnation);
    wire_put_u64(w, KEY_VERSION);
    wire_put_str(w, a->version);
    wire_put_u64(w, KEY_LABELS);
    wire_put_array(w, (uint32_t)(2 * a->labels.count));
    for (size_t i = 0; i < a->labels.count; i++) {
        wire_put_str(w, a->labels.items[i].key);
        wire_put_str(w, a->labels.items[i].value);
    }
    wire_put_u64(w, KEY_CPUS);
    wire_put_u64(w, a->cpus);
    wire_put_u64(w, KEY_DEGRADED);
    wire_put_str(w, a->degraded);
    wire_put_u64(w, KEY_LAST_SEEN);
    wire_put_u64(w, a->last_seen.ns);
    return wire_writer_status(w);
}

/* `size` counts the NUL. */
static void get_text(struct wire_reader *r, char *out, uint32_t size)
{
    struct slice text = wire_get_str(r, size - 1);

    if (wire_reader_status(r) != ST_OK)
        return;
    memcpy(out, text.bytes, text.length);
    out[text.length] = '\0';
}

static void get_labels(struct wire_reader *r, struct labels *out)
{
    uint32_t texts = wire_get_array(r, 2 * LABELS_MAX);

    for (uint32_t i = 0; i + 1 < texts && wire_reader_status(r) == ST_OK; i += 2) {
        char key[LABEL_KEY_MAX + 1] = "", value[LABEL_VALUE_MAX + 1] = "";
        enum status st;

        get_text(r, key, sizeof(key));
        get_text(r, value, sizeof(value));
        if (wire_reader_status(r) != ST_OK)
            return;
        st = labels_set(out, key, value);
        if (st != ST_OK)
            wire_fail(r, st);
    }
}

enum status agent_record_decode(struct slice bytes, struct agent *out)
{
    struct agent a = *out;
    struct wire_reader r;
    uint64_t key = 0;
    enum status st;

    a.labels = (struct labels){0};
    wire_reader_init(&r, bytes);
    for (uint32_t n = wire_get_map(&r, KEYS_MAX); n > 0 && wire_key(&r, &key); n--) {
        switch (key) {
        case KEY_INCARNATION:
            a.incarnation = wire_get_u64(&r);
            break;
        case KEY_VERSION:
            get_text(&r, a.version, sizeof(a.version));
            break;
        case KEY_LABELS:
            get_labels(&r, &a.labels);
            break;
        case KEY_CPUS:
            a.cpus = wire_get_u32(&r);
            break;
        case KEY_DEGRADED:
            get_text(&r, a.degraded, sizeof(a.degraded));
            break;
        case KEY_LAST_SEEN:
            a.last_seen.ns = wire_get_u64(&r);
            break;
        default:
            wire_skip(&r);
        }
    }
    st = wire_finish(&r);
    if (st != ST_OK) {
        labels_deinit(&a.labels);
        return st;
    }
    labels_deinit(&out->labels);
    *out = a;
    return ST_OK;
}
