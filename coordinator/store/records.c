/* Records are msgpack maps with ascending keys, as everything on the wire is: a key is never used
 * again, unknown ones are skipped. */
#include "coordinator/store/records.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/store/bytes.h"

enum {
    MEMBERS_MAX = 1 << 20, /* one for each host and agent life that a session saw */
    SELECTOR_BYTES_MAX = 4096,
    MAP_PAIRS_MAX = 64,
};

enum profiler_key {
    PROFILER_KEY_ID = 1,
    PROFILER_KEY_HOST,
    PROFILER_KEY_INCARNATION,
    PROFILER_KEY_EVENT,
    PROFILER_KEY_LABELS,
    PROFILER_KEY_ASSIGNED,
    PROFILER_KEY_ENDED,
    PROFILER_KEY_LAST_SEQUENCE,
    PROFILER_KEYS = PROFILER_KEY_LAST_SEQUENCE,
};

enum session_key {
    SESSION_KEY_ID = 1,
    SESSION_KEY_SELECTOR,
    SESSION_KEY_EVENT,
    SESSION_KEY_HZ,
    SESSION_KEY_CREATED,
    SESSION_KEY_ENDS,
    SESSION_KEY_STATE,
    SESSION_KEY_STOPPED,
    SESSION_KEY_OWNER,
    SESSION_KEY_NOTE,
    SESSION_KEY_MEMBERS,
    SESSION_KEYS = SESSION_KEY_MEMBERS,
};

const char *session_state_name(enum session_state s)
{
    switch (s) {
    case SESSION_NONE:
        return "none";
#define X(number, NAME, text) \
    case SESSION_##NAME:      \
        return text;
        SESSION_STATE_LIST(X)
#undef X
    }
    return "unknown";
}

static bool session_state_from_number(uint64_t number, enum session_state *out)
{
#define X(value, NAME, text)   \
    if (number == (value)) {   \
        *out = SESSION_##NAME; \
        return true;           \
    }
    SESSION_STATE_LIST(X)
#undef X
    return false;
}

const char *session_id_format(uint64_t id, char text[SESSION_ID_TEXT_MAX])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < SESSION_ID_TEXT_MAX - 1; i++)
        text[i] = digits[id >> 4 * (SESSION_ID_TEXT_MAX - 2 - i) & 15];
    text[SESSION_ID_TEXT_MAX - 1] = '\0';
    return text;
}

enum status session_id_parse(const char *text, uint64_t *out)
{
    if (strlen(text) != SESSION_ID_TEXT_MAX - 1 ||
        strspn(text, "0123456789abcdefABCDEF") != SESSION_ID_TEXT_MAX - 1)
        return ST_INVALID;
    *out = strtoull(text, NULL, 16);
    return ST_OK;
}

/* ---- pieces ---- */

static void put_labels(struct wire_writer *w, const struct labels *l)
{
    wire_put_array(w, 2 * (uint32_t)l->count);
    for (size_t i = 0; i < l->count; i++) {
        wire_put_str(w, l->items[i].key);
        wire_put_str(w, l->items[i].value);
    }
}

static void get_labels(struct wire_reader *r, struct labels *out)
{
    uint32_t texts = wire_get_array(r, 2 * LABELS_MAX);

    if (texts % 2 != 0)
        wire_fail(r, ST_INVALID);
    for (uint32_t i = 0; i < texts && wire_reader_status(r) == ST_OK; i += 2) {
        char *key = wire_dup_str(r, LABEL_KEY_MAX);
        char *value = wire_dup_str(r, LABEL_VALUE_MAX);

        if (key != NULL && value != NULL)
            wire_fail(r, labels_set(out, key, value));
        free(key);
        free(value);
    }
}

static void get_text(struct wire_reader *r, char *out, size_t size)
{
    struct slice text = wire_get_str(r, (uint32_t)size - 1);

    if (wire_reader_status(r) != ST_OK)
        return;
    memcpy(out, text.bytes, text.length);
    out[text.length] = '\0';
}

static void get_event(struct wire_reader *r, enum event *out)
{
    uint64_t number = wire_get_u64(r);

    if (wire_reader_status(r) == ST_OK && !event_from_number(number, out))
        wire_fail(r, ST_UNSUPPORTED);
}

/* ---- profilers ---- */

enum status profiler_record_encode(const struct profiler_record *r, struct wire_writer *w)
{
    wire_writer_reset(w);
    wire_put_map(w, PROFILER_KEYS);
    wire_put_u64(w, PROFILER_KEY_ID);
    wire_put_bin(w, r->id.bytes, ID128_BYTES);
    wire_put_u64(w, PROFILER_KEY_HOST);
    wire_put_str(w, r->host);
    wire_put_u64(w, PROFILER_KEY_INCARNATION);
    wire_put_u64(w, r->incarnation);
    wire_put_u64(w, PROFILER_KEY_EVENT);
    wire_put_u64(w, r->event);
    wire_put_u64(w, PROFILER_KEY_LABELS);
    put_labels(w, &r->labels);
    wire_put_u64(w, PROFILER_KEY_ASSIGNED);
    wire_put_u64(w, r->assigned.ns);
    wire_put_u64(w, PROFILER_KEY_ENDED);
    wire_put_u64(w, r->ended.ns);
    wire_put_u64(w, PROFILER_KEY_LAST_SEQUENCE);
    wire_put_u64(w, r->last_sequence);
    return wire_writer_status(w);
}

static void get_profiler_field(struct wire_reader *r, uint64_t key, struct profiler_record *out)
{
    switch (key) {
    case PROFILER_KEY_ID:
        wire_get_bytes(r, out->id.bytes, ID128_BYTES);
        break;
    case PROFILER_KEY_HOST:
        get_text(r, out->host, sizeof(out->host));
        break;
    case PROFILER_KEY_INCARNATION:
        out->incarnation = wire_get_u64(r);
        break;
    case PROFILER_KEY_EVENT:
        get_event(r, &out->event);
        break;
    case PROFILER_KEY_LABELS:
        get_labels(r, &out->labels);
        break;
    case PROFILER_KEY_ASSIGNED:
        out->assigned.ns = wire_get_u64(r);
        break;
    case PROFILER_KEY_ENDED:
        out->ended.ns = wire_get_u64(r);
        break;
    case PROFILER_KEY_LAST_SEQUENCE:
        out->last_sequence = wire_get_u64(r);
        break;
    default:
        wire_skip(r);
    }
}

enum status profiler_record_decode(struct slice bytes, struct profiler_record *out)
{
    struct profiler_record record = {0};
    struct wire_reader r;
    uint64_t key = 0;
    enum status st;

    wire_reader_init(&r, bytes);
    for (uint32_t n = wire_get_map(&r, MAP_PAIRS_MAX); n > 0 && wire_key(&r, &key); n--)
        get_profiler_field(&r, key, &record);
    st = wire_finish(&r);
    if (st == ST_OK && (id128_is_zero(record.id) || record.event == EVENT_NONE))
        st = ST_INVALID;
    if (st != ST_OK) {
        profiler_record_deinit(&record);
        return st;
    }
    *out = record;
    return ST_OK;
}

void profiler_record_deinit(struct profiler_record *r)
{
    labels_deinit(&r->labels);
}

/* ---- sessions ---- */

static void put_members(struct wire_writer *w, const struct session_record *r)
{
    wire_put_array(w, 3 * r->member_count);
    for (uint32_t i = 0; i < r->member_count; i++) {
        wire_put_bin(w, r->members[i].profiler.bytes, ID128_BYTES);
        wire_put_u64(w, r->members[i].from.ns);
        wire_put_u64(w, r->members[i].to.ns);
    }
}

enum status session_record_encode(const struct session_record *r, struct wire_writer *w)
{
    wire_writer_reset(w);
    wire_put_map(w, SESSION_KEYS);
    wire_put_u64(w, SESSION_KEY_ID);
    wire_put_u64(w, r->id);
    wire_put_u64(w, SESSION_KEY_SELECTOR);
    wire_put_str(w, r->selector);
    wire_put_u64(w, SESSION_KEY_EVENT);
    wire_put_u64(w, r->event);
    wire_put_u64(w, SESSION_KEY_HZ);
    wire_put_u64(w, r->hz);
    wire_put_u64(w, SESSION_KEY_CREATED);
    wire_put_u64(w, r->created.ns);
    wire_put_u64(w, SESSION_KEY_ENDS);
    wire_put_u64(w, r->ends.ns);
    wire_put_u64(w, SESSION_KEY_STATE);
    wire_put_u64(w, r->state);
    wire_put_u64(w, SESSION_KEY_STOPPED);
    wire_put_bool(w, r->stopped);
    wire_put_u64(w, SESSION_KEY_OWNER);
    wire_put_str(w, r->owner);
    wire_put_u64(w, SESSION_KEY_NOTE);
    wire_put_str(w, r->note);
    wire_put_u64(w, SESSION_KEY_MEMBERS);
    put_members(w, r);
    return wire_writer_status(w);
}

static void get_members(struct wire_reader *r, struct session_record *out)
{
    uint32_t items = wire_get_array(r, 3 * MEMBERS_MAX);
    struct session_member *members;

    if (items % 3 != 0)
        wire_fail(r, ST_INVALID);
    if (items == 0 || wire_reader_status(r) != ST_OK)
        return;
    members = calloc(items / 3, sizeof(*members));
    if (members == NULL) {
        wire_fail(r, ST_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < items / 3; i++) {
        wire_get_bytes(r, members[i].profiler.bytes, ID128_BYTES);
        members[i].from.ns = wire_get_u64(r);
        members[i].to.ns = wire_get_u64(r);
    }
    out->members = members;
    out->member_count = items / 3;
}

static void get_state(struct wire_reader *r, enum session_state *out)
{
    uint64_t number = wire_get_u64(r);

    if (wire_reader_status(r) == ST_OK && !session_state_from_number(number, out))
        wire_fail(r, ST_UNSUPPORTED);
}

static void get_session_field(struct wire_reader *r, uint64_t key, struct session_record *out)
{
    switch (key) {
    case SESSION_KEY_ID:
        out->id = wire_get_u64(r);
        break;
    case SESSION_KEY_SELECTOR:
        out->selector = wire_dup_str(r, SELECTOR_BYTES_MAX);
        break;
    case SESSION_KEY_EVENT:
        get_event(r, &out->event);
        break;
    case SESSION_KEY_HZ:
        out->hz = wire_get_u32(r);
        break;
    case SESSION_KEY_CREATED:
        out->created.ns = wire_get_u64(r);
        break;
    case SESSION_KEY_ENDS:
        out->ends.ns = wire_get_u64(r);
        break;
    case SESSION_KEY_STATE:
        get_state(r, &out->state);
        break;
    case SESSION_KEY_STOPPED:
        out->stopped = wire_get_bool(r);
        break;
    case SESSION_KEY_OWNER:
        get_text(r, out->owner, sizeof(out->owner));
        break;
    case SESSION_KEY_NOTE:
        get_text(r, out->note, sizeof(out->note));
        break;
    case SESSION_KEY_MEMBERS:
        get_members(r, out);
        break;
    default:
        wire_skip(r);
    }
}

enum status session_record_decode(struct slice bytes, struct session_record *out)
{
    struct session_record record = {0};
    struct wire_reader r;
    uint64_t key = 0;
    enum status st;

    wire_reader_init(&r, bytes);
    for (uint32_t n = wire_get_map(&r, MAP_PAIRS_MAX); n > 0 && wire_key(&r, &key); n--)
        get_session_field(&r, key, &record);
    st = wire_finish(&r);
    if (st == ST_OK &&
        (record.selector == NULL || record.state == SESSION_NONE || record.event == EVENT_NONE))
        st = ST_INVALID;
    if (st != ST_OK) {
        session_record_deinit(&record);
        return st;
    }
    *out = record;
    return ST_OK;
}

void session_record_deinit(struct session_record *r)
{
    free(r->selector);
    free(r->members);
    r->selector = NULL;
    r->members = NULL;
    r->member_count = 0;
}

/* ---- by id ---- */

enum status profiler_record_load(struct store_view *v, struct id128 id, struct profiler_record *out)
{
    struct slice value;
    enum status st =
        store_view_get(v, STORE_PROFILERS, (struct slice){id.bytes, ID128_BYTES}, &value);

    return st == ST_OK ? profiler_record_decode(value, out) : st;
}

enum status session_record_load(struct store_view *v, uint64_t id, struct session_record *out)
{
    uint8_t key[SESSION_ID_BYTES];
    struct slice value;
    enum status st;

    put_be(key, id, sizeof(key));
    st = store_view_get(v, STORE_SESSIONS, (struct slice){key, sizeof(key)}, &value);
    return st == ST_OK ? session_record_decode(value, out) : st;
}
