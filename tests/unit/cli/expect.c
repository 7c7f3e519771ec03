#include "tests/unit/cli/expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct ran expect(const struct canned *answers, const char *line, enum outcome outcome,
                  char **asked)
{
    struct stub *s = stub_start(answers);
    struct ran r;

    assert_non_null(s);
    r = run_line(s, line);
    if (r.outcome != outcome)
        print_error("%s: exit %d\n%s%s", line, r.outcome, r.out, r.err);
    assert_int_equal(r.outcome, outcome);
    if (asked != NULL)
        *asked = strdup(stub_asked(s));
    stub_stop(s);
    return r;
}

void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        print_error("'%s' is not in:\n%s", part, text);
    assert_non_null(strstr(text, part));
}
