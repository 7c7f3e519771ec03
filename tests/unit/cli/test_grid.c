/* Tables: alignment, fitting to a terminal, and names that are not harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/cli/grid.h"

static const struct grid_column columns[] = {
    {"N", GRID_NUMBER}, {"FUNCTION", GRID_SHRINKS}, {"BINARY", GRID_TEXT}};

/* What is printed on `screen`; free it. */
static char *printed(const struct grid *g, const struct screen *screen)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    grid_print(g, out, screen);
    fclose(out);
    return text;
}

static void assert_prints(const struct grid *g, const struct screen *screen, const char *expected)
{
    char *text = printed(g, screen);

    assert_string_equal(text, expected);
    free(text);
}

static struct grid *one_row(const char *number, const char *name, const char *binary)
{
    struct grid *g = grid_new(columns, 3);

    grid_row(g, TONE_PLAIN);
    grid_cell(g, "%s", number);
    grid_cell(g, "%s", name);
    grid_cell(g, "%s", binary);
    return g;
}

static void numbers_stand_right_and_no_line_ends_in_blanks(void **state)
{
    struct screen pipe = {0};
    struct grid *g = one_row("7", "main", "burn");

    (void)state;
    grid_row(g, TONE_PLAIN);
    grid_cell(g, "1,024");
    grid_cell(g, "a_longer_name");
    assert_prints(g, &pipe,
                  "    N  FUNCTION       BINARY\n"
                  "    7  main           burn\n"
                  "1,024  a_longer_name\n");
    grid_free(g);
}

static void a_pipe_gets_whole_names(void **state)
{
    struct screen pipe = {0};
    char name[301] = "";
    struct grid *g;
    char *text;

    (void)state;
    memset(name, 'x', 300);
    g = one_row("1", name, "b");
    text = printed(g, &pipe);
    assert_non_null(strstr(text, name));
    free(text);
    grid_free(g);
}

static void a_terminal_gets_lines_that_fit(void **state)
{
    struct screen terminal = {.terminal = true, .columns = 40};
    struct grid *g = one_row("1", "std::vector<int>::push_back(int const&)", "checkout");

    (void)state;
    assert_prints(g, &terminal,
                  "N  FUNCTION                     BINARY\n"
                  "1  std::vector<int>::push_bac…  checkout\n");
    grid_free(g);
}

static void a_name_is_not_cut_to_nothing(void **state)
{
    struct screen narrow = {.terminal = true, .columns = 10};
    struct grid *g = one_row("1", "a_function_with_a_name", "checkout");

    (void)state;
    assert_prints(g, &narrow,
                  "N  FUNCTION      BINARY\n"
                  "1  a_function_…  checkout\n");
    grid_free(g);
}

static void width_is_counted_in_columns_not_bytes(void **state)
{
    struct screen pipe = {0};
    struct grid *g = one_row("±3", "größe", "x");

    (void)state;
    grid_row(g, TONE_PLAIN);
    grid_cell(g, "1");
    grid_cell(g, "日本");
    grid_cell(g, "y");
    assert_prints(g, &pipe,
                  " N  FUNCTION  BINARY\n"
                  "±3  größe     x\n"
                  " 1  日本      y\n");
    grid_free(g);
}

static void names_cannot_drive_the_terminal(void **state)
{
    struct screen pipe = {0};
    struct grid *g = one_row("1", "evil\033[2J\nname\xff", "b");

    (void)state;
    assert_prints(g, &pipe,
                  "N  FUNCTION        BINARY\n"
                  "1  evil?[2J?name?  b\n");
    grid_free(g);
}

static void colours_stay_out_of_pipes(void **state)
{
    struct screen pipe = {0}, colourful = {.terminal = true, .colour = true, .columns = 80};
    struct grid *g = grid_new(columns, 3);
    char *text;

    (void)state;
    grid_row(g, TONE_WARN);
    grid_cell(g, "1");
    text = printed(g, &pipe);
    assert_null(strchr(text, '\033'));
    free(text);
    text = printed(g, &colourful);
    assert_non_null(strstr(text, "\033[33m1"));
    assert_non_null(strstr(text, "\033[0m\n"));
    free(text);
    grid_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_right_and_no_line_ends_in_blanks),
        cmocka_unit_test(a_pipe_gets_whole_names),
        cmocka_unit_test(a_terminal_gets_lines_that_fit),
        cmocka_unit_test(a_name_is_not_cut_to_nothing),
        cmocka_unit_test(width_is_counted_in_columns_not_bytes),
        cmocka_unit_test(names_cannot_drive_the_terminal),
        cmocka_unit_test(colours_stay_out_of_pipes),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
