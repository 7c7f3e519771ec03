/* export_speedscope - speedscope's own JSON (file-format-schema.json): the frames, then one sampled
 * profile with a stack and a weight in nanoseconds for each path of functions. */
#include <inttypes.h>

#include "coordinator/query/export_format.h"
#include "coordinator/query/flame.h"

/* Names are UTF-8 without control characters, so two characters need a backslash. */
static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void put_frames(FILE *out, const struct symbolizer *s)
{
    for (uint32_t i = 0; i < symbolizer_count(s); i++) {
        const struct function *f = symbolizer_get(s, i);

        (void)fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        put_string(out, f->name);
        if (f->binary[0] != '\0') {
            (void)fputs(",\"file\":", out);
            put_string(out, f->binary);
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

static void put_samples(FILE *out, const struct flame *f)
{
    bool first = true;

    for (uint32_t n = 1; n < f->node_count; n++) {
        if (f->self_a[n] <= 0)
            continue;
        (void)fputs(first ? "[" : ",[", out);
        put_stack(out, f, n);
        (void)fputc(']', out);
        first = false;
    }
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

enum status export_speedscope(const struct profile *p, struct symbolizer *s,
                              const struct dictionary *d, struct blob *out)
{
    struct flame f = {0};
    struct export_text text;
    uint64_t sum;
    enum status st = flame_build(p, NULL, s, d, &f);

    if (st == ST_OK)
        st = export_text_open(&text);
    if (st != ST_OK)
        goto out;
    (void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                "\"exporter\":\"fleetprof@" FLEETPROF_VERSION "\",\"shared\":{\"frames\":[",
                text.file);
    put_frames(text.file, s);
    (void)fprintf(text.file,
                  "]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"%s\","
                  "\"unit\":\"nanoseconds\",\"samples\":[",
                  event_name(p->event));
    put_samples(text.file, &f);
    (void)fputs("],\"weights\":[", text.file);
    sum = put_weights(text.file, &f);
    (void)fprintf(text.file, "],\"startValue\":0,\"endValue\":%" PRIu64 "}]}\n", sum);
    st = export_text_close(&text, out);
out:
    flame_deinit(&f);
    return st;
}
