#include "tests/unit/cli/run.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 32 };

struct ran run_line(const struct stub *s, const char *line)
{
    char *words[WORDS_MAX] = {"fleetprof"}, *copy = strdup(line), *rest = NULL;
    int count = 1;
    struct ran r = {0};
    size_t out_length, err_length;
    FILE *out = open_memstream(&r.out, &out_length), *err = open_memstream(&r.err, &err_length);

    setenv("FLEETPROF_URL", s != NULL ? stub_url(s) : "unix:/nowhere/api.sock", 1);
    for (char *w = strtok_r(copy, " ", &rest); w != NULL && count + 1 < WORDS_MAX;
         w = strtok_r(NULL, " ", &rest))
        words[count++] = w;
    words[count] = NULL;
    r.outcome = cli_main(count, words, out, err);
    fclose(out);
    fclose(err);
    free(copy);
    return r;
}

void ran_deinit(struct ran *r)
{
    free(r->out);
    free(r->err);
    *r = (struct ran){0};
}
