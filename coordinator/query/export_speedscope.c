/* export_speedscope - speedscope's own JSON (file-format-schema.json): the frames, then one sampled
 * profile with a stack and a weight in nanoseconds for each path of functions. */
#include <inttypes.h>

#include "common/when.h"
#include "coordinator/query/export_format.h"
#include "coordinator/query/flame.h"

/* All texts are UTF-8; paths may hold control characters. */
static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ')
            (void)fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            (void)fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    (void)fputc('"', out);
}

static void put_frames(FILE *out, const struct symbolizer *s)
{
    for (uint32_t i = 0; i < symbolizer_count(s); i++) {
        const struct function *f = symbolizer_get(s, i);

        (void)fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        put_string(out, f->name);
        if (f->file[0] != '\0' || f->binary[0] != '\0') {
            (void)fputs(",\"file\":", out);
            put_string(out, f->file[0] != '\0' ? f->file : f->binary);
        }
        (void)fputc('}', out);
    }
}

/* The root's function first. Recursion is as deep as a stack: CHUNK_DEPTH_MAX. */
static void put_stack(FILE *out, const struct flame *f, uint32_t node)
{
    if (f->parent[node] != 0) {
        put_stack(out, f, f->parent[node]);
        (void)fputc(',', out);
    }
    (void)fprintf(out, "%" PRIu32, f->function[node]);
}

static enum status put_samples(const struct export_text *text, const struct flame *f)
{
    bool first = true;
    enum status st = ST_OK;

    for (uint32_t n = 1; n < f->node_count && st == ST_OK; n++) {
        if (f->self_a[n] <= 0)
            continue;
        (void)fputs(first ? "[" : ",[", text->file);
        put_stack(text->file, f, n);
        (void)fputc(']', text->file);
        first = false;
        st = export_text_check(text);
    }
    return st;
}

static uint64_t put_weights(FILE *out, const struct flame *f)
{
    uint64_t sum = 0;
    double carry = 0;
    bool first = true;

    for (uint32_t n = 1; n < f->node_count; n++) {
        uint64_t weight_ns;

        if (f->self_a[n] <= 0)
            continue;
        weight_ns = export_round(&carry, f->self_a[n]);
        (void)fprintf(out, first ? "%" PRIu64 : ",%" PRIu64, weight_ns);
        sum += weight_ns;
        first = false;
    }
    return sum;
}

/* What viewers show as the name: "cpu 2026-11-30T21:00:00.000Z, 2 hosts". */
static void put_title(FILE *out, const struct profile *p)
{
    char from[WHEN_TEXT_MAX];

    (void)fprintf(out, "\"%s %s, %" PRIu32 " hosts\"", event_name(p->event),
                  when_format(p->coverage.from, from), p->coverage.hosts_covered);
}

static enum status put_file(const struct export_text *text, const struct profile *p,
                            const struct symbolizer *s, const struct flame *f)
{
    FILE *out = text->file;
    enum status st;

    (void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                "\"exporter\":\"fleetprof@" FLEETPROF_VERSION "\",\"name\":",
                out);
    put_title(out, p);
    (void)fputs(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[", out);
    put_frames(out, s);
    (void)fputs("]},\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
    put_title(out, p);
    (void)fputs(",\"unit\":\"nanoseconds\",\"samples\":[", out);
    st = put_samples(text, f);
    (void)fputs("],\"weights\":[", out);
    (void)fprintf(out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}]}\n", put_weights(out, f));
    return st;
}

enum status export_speedscope(const struct profile *p, struct symbolizer *s,
                              const struct dictionary *d, struct blob *out)
{
    struct flame f = {0};
    struct export_text text;
    enum status st = flame_build(p, NULL, s, d, &f);

    if (st == ST_OK)
        st = export_text_open(&text);
    if (st == ST_OK)
        st = export_text_end(&text, put_file(&text, p, s, &f), out);
    flame_deinit(&f);
    return st;
}
