/* Messages' bytes, read. A key that is absent leaves its field zero; message_check.c judges the
 * whole. */
#include <string.h>

#include "common/chunk.h"
#include "common/ledger_codec.h"
#include "common/message_layout.h"

/* ---- values ---- */

/* Into an array of `capacity` bytes, NUL included. */
static void get_text(struct wire_reader *r, char *out, uint32_t capacity)
{
    struct slice text = wire_get_str(r, capacity - 1);

    if (text.length > 0)
        memcpy(out, text.bytes, text.length);
    out[text.length] = '\0';
}

static struct id128 get_id(struct wire_reader *r)
{
    struct id128 id = {0};

    wire_get_bytes(r, id.bytes, ID128_BYTES);
    return id;
}

static struct build_id get_build_id(struct wire_reader *r)
{
    struct slice bytes = wire_get_bin(r, BUILD_ID_BYTES);
    struct build_id id = {.length = (uint8_t)bytes.length};

    if (bytes.length > 0)
        memcpy(id.bytes, bytes.bytes, bytes.length);
    return id;
}

static void get_labels(struct wire_reader *r, struct labels *out)
{
    char last[LABEL_KEY_MAX + 1] = "", key[LABEL_KEY_MAX + 1] = "", value[LABEL_VALUE_MAX + 1];
    uint32_t items = wire_get_array(r, 2 * LABELS_MAX);

    if (items % 2 != 0)
        wire_fail(r, ST_INVALID);
    for (uint32_t i = 0; i < items / 2 && wire_reader_status(r) == ST_OK; i++) {
        get_text(r, key, sizeof(key));
        get_text(r, value, sizeof(value));
        if (strcmp(key, last) <= 0)
            wire_fail(r, ST_INVALID);
        if (wire_reader_status(r) == ST_OK)
            wire_fail(r, labels_set(out, key, value));
        memcpy(last, key, sizeof(last));
    }
}

/* ---- bodies ---- */

static void get_running(struct wire_reader *r, struct hello *h)
{
    h->running_count = wire_get_array(r, MESSAGE_PROFILERS_MAX);
    for (uint32_t i = 0; i < h->running_count; i++)
        h->running[i] = get_id(r);
}

static void get_hello(struct wire_reader *r, uint64_t key, struct hello *h)
{
    switch (key) {
    case HELLO_HOST:
        get_text(r, h->host, sizeof(h->host));
        break;
    case HELLO_INCARNATION:
        h->incarnation = wire_get_u64(r);
        break;
    case HELLO_BOOT_ID:
        h->boot_id = get_id(r);
        break;
    case HELLO_VERSION:
        get_text(r, h->version, sizeof(h->version));
        break;
    case HELLO_LABELS:
        get_labels(r, &h->labels);
        break;
    case HELLO_PLAN_REVISION:
        h->plan_revision = wire_get_u64(r);
        break;
    case HELLO_RUNNING:
        get_running(r, h);
        break;
    case HELLO_SENT:
        h->sent.ns = wire_get_u64(r);
        break;
    case HELLO_CPUS:
        h->cpus = wire_get_u32(r);
        break;
    case HELLO_DEGRADED:
        get_text(r, h->degraded, sizeof(h->degraded));
        break;
    default:
        wire_skip(r);
    }
}

static void get_welcome(struct wire_reader *r, uint64_t key, struct welcome *w)
{
    switch (key) {
    case WELCOME_NOW:
        w->now.ns = wire_get_u64(r);
        break;
    case WELCOME_WINDOW:
        w->window = wire_get_u32(r);
        break;
    case WELCOME_HEARTBEAT:
        w->heartbeat_ns = wire_get_u64(r);
        break;
    case WELCOME_IDLE_LIMIT:
        w->idle_limit_ns = wire_get_u64(r);
        break;
    default:
        wire_skip(r);
    }
}

static void get_heartbeat(struct wire_reader *r, uint64_t key, struct heartbeat *h)
{
    switch (key) {
    case HEARTBEAT_SENT:
        h->sent.ns = wire_get_u64(r);
        break;
    case HEARTBEAT_SENT_MONO:
        h->sent_mono.ns = wire_get_u64(r);
        break;
    case HEARTBEAT_PLAN_REVISION:
        h->plan_revision = wire_get_u64(r);
        break;
    case HEARTBEAT_COST:
        h->cost = agent_cost_get(r);
        break;
    case HEARTBEAT_SPOOL_CHUNKS:
        h->spool_chunks = wire_get_u64(r);
        break;
    case HEARTBEAT_SPOOL_BYTES:
        h->spool_bytes = wire_get_u64(r);
        break;
    case HEARTBEAT_DROPPED_CHUNKS:
        h->spool_dropped_chunks = wire_get_u64(r);
        break;
    case HEARTBEAT_DROPPED_SAMPLES:
        h->spool_dropped_samples = wire_get_u64(r);
        break;
    case HEARTBEAT_CLOCK_OFFSET:
        h->clock_offset_ns = wire_get_i64(r);
        break;
    default:
        wire_skip(r);
    }
}

static void get_heartbeat_reply(struct wire_reader *r, uint64_t key, struct heartbeat_reply *h)
{
    switch (key) {
    case HEARTBEAT_REPLY_SENT_MONO:
        h->sent_mono.ns = wire_get_u64(r);
        break;
    case HEARTBEAT_REPLY_NOW:
        h->now.ns = wire_get_u64(r);
        break;
    default:
        wire_skip(r);
    }
}

/* An event that is not known here stays EVENT_NONE: the agent refuses that item, not the plan. */
static struct plan_item get_plan_item(struct wire_reader *r)
{
    struct plan_item item = {0};
    uint64_t key = 0;

    for (uint32_t n = wire_get_map(r, MESSAGE_KEYS_MAX); n > 0 && wire_key(r, &key); n--) {
        switch (key) {
        case ITEM_PROFILER:
            item.profiler = get_id(r);
            break;
        case ITEM_EVENT:
            (void)event_from_number(wire_get_u64(r), &item.event);
            break;
        case ITEM_PERIOD:
            item.period_ns = wire_get_u64(r);
            break;
        case ITEM_REMAINING:
            item.remaining_ns = wire_get_u64(r);
            break;
        case ITEM_CHUNK:
            item.chunk_ns = wire_get_u64(r);
            break;
        default:
            wire_skip(r);
        }
    }
    return item;
}

static void get_plan(struct wire_reader *r, uint64_t key, struct plan *p)
{
    switch (key) {
    case PLAN_REVISION:
        p->revision = wire_get_u64(r);
        break;
    case PLAN_ITEMS:
        p->item_count = wire_get_array(r, MESSAGE_PLAN_ITEMS_MAX);
        for (uint32_t i = 0; i < p->item_count; i++)
            p->items[i] = get_plan_item(r);
        break;
    default:
        wire_skip(r);
    }
}

static void get_plan_ack(struct wire_reader *r, uint64_t key, struct plan_ack *a)
{
    if (key == PLAN_ACK_REVISION)
        a->revision = wire_get_u64(r);
    else
        wire_skip(r);
}

static void get_profiler_state(struct wire_reader *r, uint64_t key, struct profiler_report *p)
{
    switch (key) {
    case STATE_PROFILER:
        p->profiler = get_id(r);
        break;
    case STATE_STATE:
        p->state = (enum profiler_state)wire_get_u32(r);
        break;
    case STATE_PERIOD:
        p->period_ns = wire_get_u64(r);
        break;
    case STATE_LAST_SEQUENCE:
        p->last_sequence = wire_get_u64(r);
        break;
    case STATE_SAMPLES:
        p->samples = wire_get_u64(r);
        break;
    case STATE_REASON:
        get_text(r, p->reason, sizeof(p->reason));
        break;
    default:
        wire_skip(r);
    }
}

static void get_chunk(struct wire_reader *r, uint64_t key, struct chunk_message *c)
{
    switch (key) {
    case CHUNK_NUMBER:
        c->number = wire_get_u64(r);
        break;
    case CHUNK_BYTES:
        c->bytes = wire_get_bin(r, CHUNK_PACKED_MAX);
        break;
    default:
        wire_skip(r);
    }
}

static void get_chunk_ack(struct wire_reader *r, uint64_t key, struct chunk_ack *a)
{
    switch (key) {
    case CHUNK_ACK_NUMBER:
        a->number = wire_get_u64(r);
        break;
    case CHUNK_ACK_WINDOW:
        a->window = wire_get_u32(r);
        break;
    default:
        wire_skip(r);
    }
}

static void get_symbols_wanted(struct wire_reader *r, uint64_t key, struct symbols_wanted *s)
{
    if (key != WANTED_IDS) {
        wire_skip(r);
        return;
    }
    s->count = wire_get_array(r, MESSAGE_BUILD_IDS_MAX);
    for (uint32_t i = 0; i < s->count; i++)
        s->ids[i] = get_build_id(r);
}

static void get_symbols(struct wire_reader *r, uint64_t key, struct symbols_part *s)
{
    switch (key) {
    case SYMBOLS_ID:
        s->id = get_build_id(r);
        break;
    case SYMBOLS_PART:
        s->part = wire_get_u32(r);
        break;
    case SYMBOLS_PARTS:
        s->parts = wire_get_u32(r);
        break;
    case SYMBOLS_BYTES:
        s->bytes = wire_get_bin(r, MESSAGE_SYMBOL_PART_MAX);
        break;
    case SYMBOLS_REASON:
        get_text(r, s->reason, sizeof(s->reason));
        break;
    default:
        wire_skip(r);
    }
}

static void get_refusal(struct wire_reader *r, uint64_t key, struct refusal *m)
{
    switch (key) {
    case REFUSED_ABOUT:
        m->about = wire_get_u64(r);
        break;
    case REFUSED_NUMBER:
        m->number = wire_get_u64(r);
        break;
    case REFUSED_REASON:
        m->reason = (enum refusal_reason)wire_get_u32(r);
        break;
    case REFUSED_TEXT:
        get_text(r, m->text, sizeof(m->text));
        break;
    default:
        wire_skip(r);
    }
}

/* ---- the whole ---- */

static void get_field(struct wire_reader *r, uint64_t key, struct message *m)
{
    switch (m->type) {
    case MESSAGE_NONE:
        break;
#define X(number, NAME, name, direction) \
    case MESSAGE_##NAME:                 \
        get_##name(r, key, &m->name);    \
        break;
#include "schemas/messages.def"
#undef X
    }
}

static enum message_type type_from_number(uint64_t number)
{
    switch (number) {
#define X(n, NAME, name, direction) \
    case n:                         \
        return MESSAGE_##NAME;
#include "schemas/messages.def"
#undef X
    default:
        return MESSAGE_NONE;
    }
}

/* Version before type: another version's numbers mean nothing here. */
static enum message_type get_type(struct wire_reader *r)
{
    enum message_type type;

    if (wire_get_array(r, MESSAGE_ITEMS) != MESSAGE_ITEMS)
        wire_fail(r, ST_INVALID);
    if (wire_get_u64(r) != PROTOCOL_VERSION)
        wire_fail(r, ST_UNSUPPORTED);
    type = type_from_number(wire_get_u64(r));
    if (type == MESSAGE_NONE)
        wire_fail(r, ST_NOT_FOUND);
    return type;
}

static enum status get_message(struct slice input, struct message *m)
{
    struct wire_reader r;
    uint64_t key = 0;

    if (input.length > MESSAGE_BYTES_MAX)
        return ST_TOO_BIG;
    wire_reader_init(&r, input);
    m->type = get_type(&r);
    for (uint32_t n = wire_get_map(&r, MESSAGE_KEYS_MAX); n > 0 && wire_key(&r, &key); n--)
        get_field(&r, key, m);
    return wire_finish(&r);
}

static const char *explain(enum status st)
{
    if (st == ST_TOO_BIG)
        return "a count, a length or the whole is over its limit";
    if (st == ST_UNSUPPORTED)
        return "the protocol version is not 1";
    if (st == ST_NOT_FOUND)
        return "there is no such message";
    if (st == ST_INVALID)
        return "the bytes are malformed";
    return status_text(st);
}

enum status message_decode(struct slice input, struct message *out, const char **why)
{
    struct message m = {0};
    const char *rule = NULL;
    enum status st = get_message(input, &m);

    if (st == ST_OK)
        st = message_check(&m, &rule);
    if (st == ST_OK) {
        *out = m;
        return ST_OK;
    }
    if (why != NULL)
        *why = rule != NULL ? rule : explain(st);
    *out = (struct message){.type = m.type};
    message_deinit(&m);
    return st;
}
