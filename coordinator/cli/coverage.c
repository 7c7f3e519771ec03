#include "coordinator/cli/coverage.h"

#include <string.h>

#include "common/event.h"
#include "common/when.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"

/* A share of the wanted time below this stands out. */
#define COVERED_WELL 0.99
/* The same of user stacks that were walked to their outermost frame. */
#define WALKED_WELL 0.97

/* "2026-11-30 21:00:00 to 21:00:30 (30s)"; the second date only when it differs. */
static void print_window(struct cli *c, const struct json_t *coverage)
{
    enum { DATE = 11 }; /* "2026-11-30 " */
    char from[FORMAT_MAX], to[FORMAT_MAX], length[WHEN_TEXT_MAX];
    const char *from_text = field_text(coverage, "from"), *to_text = field_text(coverage, "to");
    struct wall begin, end;

    format_moment(from_text, from);
    format_moment(to_text, to);
    fprintf(c->out, "%s to %s UTC", from, strncmp(from, to, DATE) == 0 ? to + DATE : to);
    if (when_parse(from_text, c->now, &begin) == ST_OK &&
        when_parse(to_text, c->now, &end) == ST_OK && end.ns > begin.ns)
        fprintf(c->out, " (%s)", duration_format(end.ns - begin.ns, length));
}

static void print_part(struct cli *c, bool stands_out, const char *text)
{
    enum tone tone = stands_out ? TONE_WARN : TONE_PLAIN;

    fprintf(c->out, "  %s%s%s", screen_on(&c->screen, tone), text, screen_off(&c->screen, tone));
}

bool waits_are_counted(const char *event)
{
    return strcmp(event, event_name(EVENT_OFFCPU)) == 0;
}

void print_coverage(struct cli *c, const char *label, const struct json_t *coverage,
                    const char *event, double cores)
{
    double wanted = field_number(coverage, "hosts_wanted");
    double covered = field_number(coverage, "hosts_covered");
    double share = field_number(coverage, "covered_share");
    double lost = field_number(coverage, "lost_share");
    double root = field_number(coverage, "root_share");
    double low = field_number(coverage, "hz_min"), high = field_number(coverage, "hz_max");
    char number[FORMAT_MAX], text[2 * FORMAT_MAX];

    if (label[0] != '\0')
        fprintf(c->out, "%s  ", label);
    print_window(c, coverage);
    snprintf(text, sizeof(text), "%.0f of %.0f host%s", covered, wanted, wanted == 1 ? "" : "s");
    print_part(c, covered < wanted || covered == 0, text);
    snprintf(text, sizeof(text), "%s covered", format_percent(share, number));
    print_part(c, share < COVERED_WELL, text);
    snprintf(text, sizeof(text), "%s lost", format_percent(lost, number));
    print_part(c, lost > 0, text);
    if (field_is_number(coverage, "root_share")) {
        snprintf(text, sizeof(text), "root reached %s", format_percent(root, number));
        print_part(c, root < WALKED_WELL, text);
    }
    format_count(field_number(coverage, "samples"), number);
    if (high == 0)
        snprintf(text, sizeof(text), "%s samples", number);
    else if (low == high)
        snprintf(text, sizeof(text), "%s samples at %g Hz", number, low);
    else
        snprintf(text, sizeof(text), "%s samples at %g to %g Hz", number, low, high);
    print_part(c, false, text);
    snprintf(text, sizeof(text), "%s %s", format_cores(cores, number),
             waits_are_counted(event) ? "threads waiting" : "cores");
    print_part(c, false, text);
    fputc('\n', c->out);
}
