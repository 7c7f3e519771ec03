/* Messages' bytes, written. Every key is written, zero or not: messages are few. */
#include "common/ledger_codec.h"
#include "common/message_layout.h"

static void put_number(struct wire_writer *w, uint64_t key, uint64_t value)
{
    wire_put_u64(w, key);
    wire_put_u64(w, value);
}

static void put_text(struct wire_writer *w, uint64_t key, const char *text)
{
    wire_put_u64(w, key);
    wire_put_str(w, text);
}

static void put_id(struct wire_writer *w, uint64_t key, struct id128 id)
{
    wire_put_u64(w, key);
    wire_put_bin(w, id.bytes, ID128_BYTES);
}

static void put_slice(struct wire_writer *w, uint64_t key, struct slice bytes)
{
    wire_put_u64(w, key);
    wire_put_bin(w, bytes.bytes, bytes.length);
}

static void put_labels(struct wire_writer *w, const struct labels *l)
{
    wire_put_array(w, 2 * (uint32_t)l->count);
    for (size_t i = 0; i < l->count; i++) {
        wire_put_str(w, l->items[i].key);
        wire_put_str(w, l->items[i].value);
    }
}

static void put_hello(struct wire_writer *w, const struct hello *h)
{
    wire_put_map(w, HELLO_KEYS);
    put_text(w, HELLO_HOST, h->host);
    put_number(w, HELLO_INCARNATION, h->incarnation);
    put_id(w, HELLO_BOOT_ID, h->boot_id);
    put_text(w, HELLO_VERSION, h->version);
    wire_put_u64(w, HELLO_LABELS);
    put_labels(w, &h->labels);
    put_number(w, HELLO_PLAN_REVISION, h->plan_revision);
    wire_put_u64(w, HELLO_RUNNING);
    wire_put_array(w, h->running_count);
    for (uint32_t i = 0; i < h->running_count; i++)
        wire_put_bin(w, h->running[i].bytes, ID128_BYTES);
    put_number(w, HELLO_SENT, h->sent.ns);
    put_number(w, HELLO_CPUS, h->cpus);
    put_text(w, HELLO_DEGRADED, h->degraded);
}

static void put_welcome(struct wire_writer *w, const struct welcome *m)
{
    wire_put_map(w, WELCOME_KEYS);
    put_number(w, WELCOME_NOW, m->now.ns);
    put_number(w, WELCOME_WINDOW, m->window);
    put_number(w, WELCOME_HEARTBEAT, m->heartbeat_ns);
    put_number(w, WELCOME_IDLE_LIMIT, m->idle_limit_ns);
}

static void put_heartbeat(struct wire_writer *w, const struct heartbeat *h)
{
    wire_put_map(w, HEARTBEAT_KEYS);
    put_number(w, HEARTBEAT_SENT, h->sent.ns);
    put_number(w, HEARTBEAT_SENT_MONO, h->sent_mono.ns);
    put_number(w, HEARTBEAT_PLAN_REVISION, h->plan_revision);
    wire_put_u64(w, HEARTBEAT_COST);
    agent_cost_put(w, &h->cost);
    put_number(w, HEARTBEAT_SPOOL_CHUNKS, h->spool_chunks);
    put_number(w, HEARTBEAT_SPOOL_BYTES, h->spool_bytes);
    put_number(w, HEARTBEAT_DROPPED_CHUNKS, h->spool_dropped_chunks);
    put_number(w, HEARTBEAT_DROPPED_SAMPLES, h->spool_dropped_samples);
    wire_put_u64(w, HEARTBEAT_CLOCK_OFFSET);
    wire_put_i64(w, h->clock_offset_ns);
}

static void put_heartbeat_reply(struct wire_writer *w, const struct heartbeat_reply *h)
{
    wire_put_map(w, HEARTBEAT_REPLY_KEYS);
    put_number(w, HEARTBEAT_REPLY_SENT_MONO, h->sent_mono.ns);
    put_number(w, HEARTBEAT_REPLY_NOW, h->now.ns);
}

static void put_plan_item(struct wire_writer *w, const struct plan_item *item)
{
    wire_put_map(w, ITEM_KEYS);
    put_id(w, ITEM_PROFILER, item->profiler);
    put_number(w, ITEM_EVENT, item->event);
    put_number(w, ITEM_PERIOD, item->period_ns);
    put_number(w, ITEM_REMAINING, item->remaining_ns);
    put_number(w, ITEM_CHUNK, item->chunk_ns);
}

static void put_plan(struct wire_writer *w, const struct plan *p)
{
    wire_put_map(w, PLAN_KEYS);
    put_number(w, PLAN_REVISION, p->revision);
    wire_put_u64(w, PLAN_ITEMS);
    wire_put_array(w, p->item_count);
    for (uint32_t i = 0; i < p->item_count; i++)
        put_plan_item(w, &p->items[i]);
}

static void put_plan_ack(struct wire_writer *w, const struct plan_ack *a)
{
    wire_put_map(w, PLAN_ACK_KEYS);
    put_number(w, PLAN_ACK_REVISION, a->revision);
}

static void put_profiler_state(struct wire_writer *w, const struct profiler_report *p)
{
    wire_put_map(w, STATE_KEYS);
    put_id(w, STATE_PROFILER, p->profiler);
    put_number(w, STATE_STATE, p->state);
    put_number(w, STATE_PERIOD, p->period_ns);
    put_number(w, STATE_LAST_SEQUENCE, p->last_sequence);
    put_number(w, STATE_SAMPLES, p->samples);
    put_text(w, STATE_REASON, p->reason);
}

static void put_chunk(struct wire_writer *w, const struct chunk_message *c)
{
    wire_put_map(w, CHUNK_KEYS);
    put_number(w, CHUNK_NUMBER, c->number);
    put_slice(w, CHUNK_BYTES, c->bytes);
}

static void put_chunk_ack(struct wire_writer *w, const struct chunk_ack *a)
{
    wire_put_map(w, CHUNK_ACK_KEYS);
    put_number(w, CHUNK_ACK_NUMBER, a->number);
    put_number(w, CHUNK_ACK_WINDOW, a->window);
}

static void put_symbols_wanted(struct wire_writer *w, const struct symbols_wanted *s)
{
    wire_put_map(w, WANTED_KEYS);
    wire_put_u64(w, WANTED_IDS);
    wire_put_array(w, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        wire_put_bin(w, s->ids[i].bytes, s->ids[i].length);
}

static void put_symbols(struct wire_writer *w, const struct symbols_part *s)
{
    wire_put_map(w, SYMBOLS_KEYS);
    put_slice(w, SYMBOLS_ID, (struct slice){s->id.bytes, s->id.length});
    put_number(w, SYMBOLS_PART, s->part);
    put_number(w, SYMBOLS_PARTS, s->parts);
    put_slice(w, SYMBOLS_BYTES, s->bytes);
    put_text(w, SYMBOLS_REASON, s->reason);
}

static void put_refusal(struct wire_writer *w, const struct refusal *r)
{
    wire_put_map(w, REFUSED_KEYS);
    put_number(w, REFUSED_ABOUT, r->about);
    put_number(w, REFUSED_NUMBER, r->number);
    put_number(w, REFUSED_REASON, r->reason);
    put_text(w, REFUSED_TEXT, r->text);
}

static void put_body(struct wire_writer *w, const struct message *m)
{
    switch (m->type) {
    case MESSAGE_NONE:
        break;
#define X(number, NAME, name, direction) \
    case MESSAGE_##NAME:                 \
        put_##name(w, &m->name);         \
        break;
#include "schemas/messages.def"
#undef X
    }
}

enum status message_encode(const struct message *m, struct wire_writer *w)
{
    const char *why; /* the sender's mistake: its tests say which */
    enum status st;

    wire_writer_reset(w);
    st = message_check(m, &why);
    if (st != ST_OK)
        return st;
    wire_put_array(w, MESSAGE_ITEMS);
    wire_put_u64(w, PROTOCOL_VERSION);
    wire_put_u64(w, m->type);
    put_body(w, m);
    return wire_writer_status(w);
}
