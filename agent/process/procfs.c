#include "agent/process/procfs.h"

#include <limits.h>
#include <string.h>

#include "agent/process/cgroup.h"

enum { STAT_THREADS = 20, STAT_START = 22 }; /* fields by their numbers in proc(5) */

static struct slice advance(struct slice s, size_t bytes)
{
    return (struct slice){s.bytes + bytes, s.length - bytes};
}

/* Takes the text up to `end`, which is dropped, or all of it. */
static struct slice take_until(struct slice *text, char end)
{
    const uint8_t *at = text->length > 0 ? memchr(text->bytes, end, text->length) : NULL;
    struct slice taken = *text;

    if (at == NULL) {
        *text = (struct slice){NULL, 0};
        return taken;
    }
    taken.length = (size_t)(at - text->bytes);
    *text = advance(*text, taken.length + 1);
    return taken;
}

static struct slice take_word(struct slice *text)
{
    while (text->length > 0 && text->bytes[0] == ' ')
        *text = advance(*text, 1);
    return take_until(text, ' ');
}

static int digit_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return 16;
}

/* The whole of `word`, without sign or prefix, and it must fit. */
static bool parse_u64(struct slice word, unsigned base, uint64_t *out)
{
    uint64_t value = 0;

    if (word.length == 0)
        return false;
    for (size_t i = 0; i < word.length; i++) {
        unsigned digit = (unsigned)digit_value(word.bytes[i]);

        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* A comm may hold spaces and brackets: it ends at the last closing one. */
static bool split_stat(struct slice text, struct slice *comm, struct slice *fields)
{
    const uint8_t *open = text.length > 0 ? memchr(text.bytes, '(', text.length) : NULL;
    const uint8_t *close = text.length > 0 ? memrchr(text.bytes, ')', text.length) : NULL;

    if (open == NULL || close == NULL || close < open)
        return false;
    *comm = (struct slice){open + 1, (size_t)(close - open - 1)};
    *fields = advance(text, (size_t)(close - text.bytes) + 1);
    return true;
}

bool procfs_parse_stat(struct slice text, struct procfs_stat *out)
{
    struct procfs_stat s = {0};
    struct slice comm, fields, word;
    uint64_t threads = 0;

    if (!split_stat(text, &comm, &fields))
        return false;
    if (comm.length >= sizeof(s.comm))
        comm.length = sizeof(s.comm) - 1;
    memcpy(s.comm, comm.bytes, comm.length);
    word = take_word(&fields); /* field 3 */
    if (word.length != 1)
        return false;
    s.state = (char)word.bytes[0];
    for (int field = 4; field <= STAT_START; field++) {
        word = take_word(&fields);
        if (field == STAT_THREADS && !parse_u64(word, 10, &threads))
            return false;
    }
    if (!parse_u64(word, 10, &s.start_ticks) || threads > UINT32_MAX)
        return false;
    s.threads = (uint32_t)threads;
    *out = s;
    return true;
}

/* The number'th word, or the last one, of "Key:\tword\tword"; empty: it has none. */
static struct slice word_of(struct slice line, unsigned number)
{
    struct slice word = {NULL, 0};

    (void)take_until(&line, '\t');
    for (unsigned i = 0; i < number && line.length > 0; i++)
        word = take_until(&line, '\t');
    return word;
}

static bool has_key(struct slice line, const char *key)
{
    return line.length > strlen(key) && memcmp(line.bytes, key, strlen(key)) == 0;
}

bool procfs_parse_status(struct slice text, struct procfs_status *out)
{
    uint64_t uid = UINT64_MAX, ns_pid = 0;

    while (text.length > 0) {
        struct slice line = take_until(&text, '\n');

        if (has_key(line, "Uid:") && !parse_u64(word_of(line, 2), 10, &uid))
            return false;
        if (has_key(line, "NSpid:") && !parse_u64(word_of(line, UINT_MAX), 10, &ns_pid))
            return false;
    }
    if (uid > UINT32_MAX || ns_pid == 0 || ns_pid > INT32_MAX)
        return false;
    *out = (struct procfs_status){(uint32_t)uid, (uint32_t)ns_pid};
    return true;
}

/* "55d0-55e0 r-xp 00001000 fe:00 1234    /usr/bin/cat" */
static bool parse_mapping(struct slice line, struct procfs_mapping *out)
{
    struct procfs_mapping m = {0};
    struct slice range = take_word(&line);
    struct slice start = take_until(&range, '-');
    struct slice permissions = take_word(&line);
    struct slice offset = take_word(&line);
    struct slice inode;

    (void)take_word(&line); /* the device: not what stat says on some file systems */
    inode = take_word(&line);
    if (!parse_u64(start, 16, &m.start) || !parse_u64(range, 16, &m.end) || m.end <= m.start ||
        permissions.length < 4 || !parse_u64(offset, 16, &m.file_offset) ||
        !parse_u64(inode, 10, &m.inode))
        return false;
    m.executable = permissions.bytes[2] == 'x';
    while (line.length > 0 && line.bytes[0] == ' ')
        line = advance(line, 1);
    if (line.length >= PROCFS_PATH_MAX)
        return false;
    m.path = line;
    *out = m;
    return true;
}

bool procfs_next_mapping(struct slice *text, struct procfs_mapping *out)
{
    while (text->length > 0)
        if (parse_mapping(take_until(text, '\n'), out))
            return true;
    return false;
}

/* How much a hierarchy's path tells; see the header. */
static int path_merit(struct slice path, bool v2)
{
    struct cgroup_names names;

    if (path.length == 0)
        return 0;
    if (path.length == 1)
        return v2 ? 2 : 1;
    cgroup_parse(path, &names);
    return (names.container[0] != '\0' ? 5 : 3) + v2;
}

struct slice procfs_cgroup_path(struct slice text)
{
    struct slice best = {NULL, 0};
    int best_merit = 0;

    while (text.length > 0) {
        struct slice line = take_until(&text, '\n');
        struct slice number = take_until(&line, ':');
        bool v2 = number.length == 1 && number.bytes[0] == '0';
        int merit;

        (void)take_until(&line, ':'); /* controllers */
        merit = path_merit(line, v2);
        if (merit > best_merit) {
            best = line;
            best_merit = merit;
        }
    }
    return best;
}
