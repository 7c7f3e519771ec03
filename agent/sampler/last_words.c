#include "agent/sampler/last_words.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERIFIER_LOG_BEGIN "BEGIN PROG LOAD LOG"
#define VERIFIER_SUMMARY "\nprocessed "

/* libbpf's print callback has no argument, so what it said lies here between two loads. */
static char words[LAST_WORDS_MAX];

static void keep_tail(const char *text)
{
    size_t length = strlen(text);
    size_t skip = length < sizeof(words) ? 0 : length - (sizeof(words) - 1);

    (void)snprintf(words, sizeof(words), "%s", text + skip);
    for (char *c = words; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
}

/* The verifier's verdict is the line above its summary; any other warning is kept until one comes.
 */
static void keep_words(char *text)
{
    static bool have_verdict;
    char *end;

    if (words[0] == '\0')
        have_verdict = false;
    if (strstr(text, VERIFIER_LOG_BEGIN) != NULL) {
        end = strstr(text, VERIFIER_SUMMARY);
        if (end != NULL)
            *end = '\0';
        have_verdict = true;
        keep_tail(text);
    } else if (!have_verdict) {
        keep_tail(text);
    }
}

static int on_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
    char *text = NULL;

    if (level != LIBBPF_WARN)
        return 0;
    if (vasprintf(&text, format, args) < 0)
        return 0;
    keep_words(text);
    free(text);
    return 0;
}

enum status last_words_explain(int err, char why[SAMPLER_WHY_MAX])
{
    switch (err) {
    case EPERM:
        (void)snprintf(why, SAMPLER_WHY_MAX,
                       "loading the eBPF program: permission denied: run as root or with CAP_BPF "
                       "and CAP_PERFMON (kernel lockdown refuses root too)");
        return ST_DENIED;
    case ENOMEM:
        (void)snprintf(why, SAMPLER_WHY_MAX, "loading the eBPF program: out of memory");
        return ST_NOMEM;
    default:
        (void)snprintf(why, SAMPLER_WHY_MAX, "loading the eBPF program: %s",
                       words[0] != '\0' ? words : strerror(err));
        return ST_UNSUPPORTED;
    }
}

void last_words_listen(bool on)
{
    static libbpf_print_fn_t before;

    if (on)
        before = libbpf_set_print(on_libbpf_print);
    else
        libbpf_set_print(before);
}

void last_words_forget(void)
{
    words[0] = '\0';
}

const char *last_words(void)
{
    return words;
}
