#include "agent/symbol_sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sender_state { SENDER_IDLE, SENDER_WORKING, SENDER_SENDING };

struct symbol_sender {
    struct source *source;
    struct build_id wishes[SYMBOL_WISHES_MAX]; /* a ring */
    uint32_t first, count;
    enum sender_state state;
    bool stale; /* the connection that asked is gone: the work's result is dropped */
    struct symbol_job job;
    struct blob packed; /* WORKING: the worker's; SENDING: being sent */
    enum status work_status; /* the worker's */
    uint32_t part, parts;
};

enum status symbol_sender_new(struct source *source, struct symbol_sender **out)
{
    struct symbol_sender *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ST_NOMEM;
    s->source = source;
    *out = s;
    return ST_OK;
}

void symbol_sender_free(struct symbol_sender *s)
{
    if (s == NULL)
        return;
    blob_deinit(&s->packed);
    free(s);
}

static bool is_on_its_way(const struct symbol_sender *s, const struct build_id *id)
{
    if (s->state != SENDER_IDLE && !s->stale && build_id_equal(&s->job.id, id))
        return true;
    for (uint32_t i = 0; i < s->count; i++)
        if (build_id_equal(&s->wishes[(s->first + i) % SYMBOL_WISHES_MAX], id))
            return true;
    return false;
}

void symbol_sender_want(struct symbol_sender *s, const struct symbols_wanted *w)
{
    for (uint32_t i = 0; i < w->count && s->count < SYMBOL_WISHES_MAX; i++)
        if (!is_on_its_way(s, &w->ids[i])) /* a second answer would be refused */
            s->wishes[(s->first + s->count++) % SYMBOL_WISHES_MAX] = w->ids[i];
}

void symbol_sender_reset(struct symbol_sender *s)
{
    s->count = 0;
    if (s->state == SENDER_WORKING)
        s->stale = true;
    if (s->state == SENDER_SENDING) {
        blob_deinit(&s->packed);
        s->state = SENDER_IDLE;
    }
}

static void say_none(const struct build_id *id, enum status why, symbol_say *say, void *arg)
{
    struct message m = {.type = MESSAGE_SYMBOLS};

    m.symbols.id = *id;
    (void)snprintf(m.symbols.reason, sizeof(m.symbols.reason), "%s", status_text(why));
    say(arg, &m);
}

bool symbol_sender_begin(struct symbol_sender *s, symbol_say *say, void *arg)
{
    while (s->state == SENDER_IDLE && s->count > 0) {
        struct build_id id = s->wishes[s->first];
        enum status st;

        s->first = (s->first + 1) % SYMBOL_WISHES_MAX;
        s->count--;
        st = s->source->operations->open_symbols(s->source, &id, &s->job);
        if (st != ST_OK) {
            say_none(&id, st, say, arg);
            continue;
        }
        s->state = SENDER_WORKING;
        s->stale = false;
        return true;
    }
    return false;
}

void symbol_sender_work(struct symbol_sender *s)
{
    struct symtab table = {0};

    s->work_status = s->job.read(&s->job, &table);
    /* Stripped, or a kernel that hides its addresses. Stored, an empty table would keep the names
     * of a host that has them out for good. */
    if (s->work_status == ST_OK && table.count == 0)
        s->work_status = ST_NOT_FOUND;
    if (s->work_status == ST_OK)
        s->work_status = symtab_encode(&table, &s->packed);
    symtab_deinit(&table);
}

void symbol_sender_worked(struct symbol_sender *s, symbol_say *say, void *arg)
{
    s->job.close(&s->job);
    s->state = SENDER_IDLE;
    if (s->work_status != ST_OK) {
        if (!s->stale)
            say_none(&s->job.id, s->work_status, say, arg);
        return;
    }
    if (s->stale) {
        blob_deinit(&s->packed);
        return;
    }
    s->state = SENDER_SENDING;
    s->part = 0;
    s->parts =
        (uint32_t)((s->packed.length + MESSAGE_SYMBOL_PART_MAX - 1) / MESSAGE_SYMBOL_PART_MAX);
}

static void say_part(struct symbol_sender *s, symbol_say *say, void *arg)
{
    size_t at = (size_t)s->part * MESSAGE_SYMBOL_PART_MAX, left = s->packed.length - at;
    struct message m = {.type = MESSAGE_SYMBOLS};

    m.symbols.id = s->job.id;
    m.symbols.part = s->part++;
    m.symbols.parts = s->parts;
    m.symbols.bytes = (struct slice){
        s->packed.bytes + at, left < MESSAGE_SYMBOL_PART_MAX ? left : MESSAGE_SYMBOL_PART_MAX};
    say(arg, &m);
}

void symbol_sender_pump(struct symbol_sender *s, size_t (*queued_bytes)(void *arg), symbol_say *say,
                        void *arg)
{
    while (s->state == SENDER_SENDING && queued_bytes(arg) < SYMBOL_QUEUED_BYTES_MAX) {
        say_part(s, say, arg);
        if (s->part < s->parts)
            continue;
        blob_deinit(&s->packed);
        s->state = SENDER_IDLE;
    }
}
