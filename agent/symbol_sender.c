#include "agent/symbol_sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

enum sender_state { SENDER_IDLE, SENDER_WORKING, SENDER_SENDING };

struct symbol_sender {
    struct source *source;
    struct build_id wishes[SYMBOL_WISHES_MAX]; /* a ring */
    uint32_t first, count;
    enum sender_state state;
    bool stale; /* the connection that asked is gone: the work's result is dropped */
    struct symbol_job job;
    int packed; /* descriptor of the table; WORKING: the worker's; SENDING: being sent; else -1 */
    uint64_t packed_bytes; /* SENDING */
    enum status work_status; /* the worker's, as is `why` */
    char why[SYMBOL_WHY_MAX];
    uint32_t part, parts;
};

enum status symbol_sender_new(struct source *source, struct symbol_sender **out)
{
    struct symbol_sender *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ST_NOMEM;
    s->source = source;
    s->packed = -1;
    *out = s;
    return ST_OK;
}

static void drop_table(struct symbol_sender *s)
{
    if (s->packed >= 0)
        close(s->packed);
    s->packed = -1;
    s->state = SENDER_IDLE;
}

void symbol_sender_free(struct symbol_sender *s)
{
    if (s == NULL)
        return;
    drop_table(s);
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

void symbol_sender_cancel(struct symbol_sender *s)
{
    if (s->state != SENDER_WORKING)
        return;
    s->stale = true;
    s->job.cancel(&s->job);
}

void symbol_sender_reset(struct symbol_sender *s)
{
    s->count = 0;
    symbol_sender_cancel(s);
    if (s->state == SENDER_SENDING)
        drop_table(s);
}

static void say_none(const struct build_id *id, const char *why, symbol_say *say, void *arg)
{
    struct message m = {.type = MESSAGE_SYMBOLS};

    m.symbols.id = *id;
    (void)snprintf(m.symbols.reason, sizeof(m.symbols.reason), "%s", why);
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
            say_none(&id, status_text(st), say, arg);
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
    s->why[0] = '\0';
    s->work_status = s->job.run(&s->job, &s->packed, s->why);
}

static enum status begin_sending(struct symbol_sender *s)
{
    struct stat st;

    if (fstat(s->packed, &st) != 0)
        return ST_IO;
    s->packed_bytes = (uint64_t)st.st_size;
    s->part = 0;
    s->parts =
        (uint32_t)((s->packed_bytes + MESSAGE_SYMBOL_PART_MAX - 1) / MESSAGE_SYMBOL_PART_MAX);
    s->state = SENDER_SENDING;
    return ST_OK;
}

void symbol_sender_worked(struct symbol_sender *s, symbol_say *say, void *arg)
{
    char id[BUILD_ID_TEXT_MAX];

    s->job.close(&s->job);
    s->state = SENDER_IDLE;
    if (s->stale) {
        drop_table(s);
        return;
    }
    build_id_format(&s->job.id, id);
    if (s->why[0] != '\0')
        log_warn("event=symbol_reader_died build_id=%s sent=\"%s\" why=\"%s\"", id,
                 s->work_status == ST_OK ? "names" : "nothing", s->why);
    if (s->work_status == ST_OK)
        s->work_status = begin_sending(s);
    if (s->work_status != ST_OK) {
        drop_table(s);
        say_none(&s->job.id, s->why[0] != '\0' ? s->why : status_text(s->work_status), say, arg);
    }
}

/* Read, not mapped: the file may be shorter than it was said to be, if its writer still lives. */
static enum status say_part(struct symbol_sender *s, symbol_say *say, void *arg)
{
    uint64_t at = (uint64_t)s->part * MESSAGE_SYMBOL_PART_MAX, left = s->packed_bytes - at;
    size_t length = left < MESSAGE_SYMBOL_PART_MAX ? (size_t)left : MESSAGE_SYMBOL_PART_MAX;
    struct message m = {.type = MESSAGE_SYMBOLS};
    uint8_t *bytes = malloc(length);
    enum status st = ST_IO;

    if (bytes == NULL)
        return ST_NOMEM;
    if (pread(s->packed, bytes, length, (off_t)at) == (ssize_t)length) {
        m.symbols.id = s->job.id;
        m.symbols.part = s->part++;
        m.symbols.parts = s->parts;
        m.symbols.bytes = (struct slice){bytes, length};
        say(arg, &m);
        st = ST_OK;
    }
    free(bytes);
    return st;
}

void symbol_sender_pump(struct symbol_sender *s, size_t (*queued_bytes)(void *arg), symbol_say *say,
                        void *arg)
{
    while (s->state == SENDER_SENDING && queued_bytes(arg) < SYMBOL_QUEUED_BYTES_MAX) {
        enum status st = say_part(s, say, arg);

        if (st != ST_OK)
            say_none(&s->job.id, status_text(st), say, arg);
        if (st != ST_OK || s->part == s->parts)
            drop_table(s);
    }
}
