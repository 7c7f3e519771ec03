/* Symbols over HTTP: a table goes up in parts, is listed with where it came from, and faults are
 * told what would be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "tests/unit/http/api_world.h"

#define ID "00112233445566778899aabbccddeeff00112233"

static struct blob packed_table(uint32_t sources, uint32_t symbols)
{
    struct symtab t = {.sources = sources};
    struct blob packed;
    char name[32];

    for (uint32_t i = 0; i < symbols; i++) {
        (void)snprintf(name, sizeof(name), "function_%u", i);
        assert_int_equal(symtab_add(&t, 16 * i, 16, name), ST_OK);
    }
    symtab_sort(&t);
    assert_int_equal(symtab_encode(&t, &packed), ST_OK);
    symtab_deinit(&t);
    return packed;
}

static bool has_answer(void *arg)
{
    struct client *c = arg;

    client_pump(c);
    return client_has_answer(c);
}

/* Sends `bytes` and checks the code. */
static json_t *post(struct api_world *w, const char *query, struct slice bytes, unsigned code)
{
    char head[512];
    int length = snprintf(head, sizeof(head),
                          "POST /api/v1/symbols?build_id=" ID "%s HTTP/1.1\r\nHost: h\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          query, bytes.length);
    char *request = malloc((size_t)length + bytes.length + 1);
    json_t *answer;

    memcpy(request, head, (size_t)length);
    if (bytes.length > 0)
        memcpy(request + length, bytes.bytes, bytes.length);
    client_forget(w->client);
    client_send_bytes(&w->loop, w->client, request, (size_t)length + bytes.length);
    free(request);
    loop_until(&w->loop, has_answer, w->client);
    if (client_code(w->client) != code)
        fail_msg("%s: %s", query, w->client->received);
    answer = json_loads(client_body(w->client), 0, NULL);
    assert_non_null(answer);
    return answer;
}

static void a_table_goes_up_in_parts_and_is_listed(void **state)
{
    struct api_world *w = *state;
    struct blob packed = packed_table(SYMTAB_FROM_SYMTAB, 100);
    size_t half = packed.length / 2;
    json_t *a = post(w, "&part=0&parts=2&name=app.debug&owner=ann",
                     (struct slice){packed.bytes, half}, 202);

    json_decref(a);
    a = post(w, "&part=1&parts=2&name=app.debug&owner=ann",
             (struct slice){packed.bytes + half, packed.length - half}, 200);
    assert_string_equal(text_at(a, "build_id"), ID);
    assert_int_equal(number_at(a, "symbols"), 100);
    assert_string_equal(text_at(a, "quality"), "functions");
    json_decref(a);

    a = ask(w, "GET", "/api/v1/symbols", NULL, 200);
    assert_int_equal(number_at(a, "tables_found"), 1);
    assert_string_equal(text_at(a, "tables.0.build_id"), ID);
    assert_string_equal(text_at(a, "tables.0.name"), "app.debug");
    assert_true(json_is_null(at(a, "tables.0.path"))); /* no sample ran through it */
    assert_string_equal(text_at(a, "tables.0.origin"), "operator");
    assert_string_equal(text_at(a, "tables.0.from"), "ann");
    assert_string_equal(text_at(a, "tables.0.sources.0"), "symtab");
    assert_int_equal(number_at(a, "tables.0.bytes"), packed.length);
    json_decref(a);
    blob_deinit(&packed);
}

static void a_worse_table_is_refused_unless_forced(void **state)
{
    struct api_world *w = *state;
    struct blob good = packed_table(SYMTAB_FROM_SYMTAB, 10);
    struct blob worse = packed_table(SYMTAB_FROM_DYNSYM, 20);
    json_t *a;

    json_decref(post(w, "", blob_slice(&good), 200));
    a = post(w, "", blob_slice(&worse), 409);
    assert_non_null(strstr(text_at(a, "error.message"), "10 symbols, quality functions"));
    json_decref(a);
    json_decref(post(w, "&force=true", blob_slice(&worse), 200));
    blob_deinit(&good);
    blob_deinit(&worse);
}

static void assert_refused(struct api_world *w, const char *query, const char *says)
{
    json_t *a = post(w, query, (struct slice){(const uint8_t *)"x", 1}, 400);

    if (strstr(text_at(a, "error.message"), says) == NULL)
        fail_msg("'%s' is not in: %s", says, text_at(a, "error.message"));
    json_decref(a);
}

static void faults_are_told_what_would_be_right(void **state)
{
    struct api_world *w = *state;

    assert_refused(w, "", "is not a packed symbol table");
    assert_refused(w, "&part=1&parts=2", "come in order");
    assert_refused(w, "&part=2&parts=2", "numbered from 0");
    assert_refused(w, "&parts=0", "there is one at least");
    assert_refused(w, "&parts=129", "a whole number up to 128");
    assert_refused(w, "&force=yes", "true or false");
    json_decref(ask(w, "POST", "/api/v1/symbols", "x", 400));
    json_decref(ask(w, "POST", "/api/v1/symbols?build_id=xyz", "x", 400));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        api_test(a_table_goes_up_in_parts_and_is_listed),
        api_test(a_worse_table_is_refused_unless_forced),
        api_test(faults_are_told_what_would_be_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
