/* fuzz_seeds - writes the first inputs of the fuzz targets: fuzz_seeds DIRECTORY.
 * They come from the golden bytes, so a new layout seeds itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/symtab.h"
#include "tests/fuzz/unwind_input.h"
#include "tests/support/chunk_maker.h"
#include "tests/support/elf_image.h"
#include "tests/support/golden_chunk.h"
#include "tests/support/golden_messages.h"
#include "tests/support/hex.h"

static const char *directory;

/* `first`: a byte before the content, by which a target chooses what to do; negative: none. */
static void write_seed(const char *target, unsigned number, int first, struct slice content)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", directory, target);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        abort();
    snprintf(path, sizeof(path), "%s/%s/seed-%u", directory, target, number);
    f = fopen(path, "wb");
    if (f == NULL)
        abort();
    if (first >= 0)
        fputc(first, f);
    fwrite(content.bytes, 1, content.length, f);
    if (fclose(f) != 0)
        abort();
}

static void write_hex_seed(const char *target, unsigned number, int first, const char *hex)
{
    struct blob bytes = hex_bytes(hex);

    write_seed(target, number, first, blob_slice(&bytes));
    blob_deinit(&bytes);
}

/* The plain bytes behind a packed seed. */
static void write_plain_seed(const char *target, unsigned number, int first, struct blob *packed)
{
    struct blob plain = {0};

    if (decompress_blob(blob_slice(packed), CHUNK_PLAIN_MAX, &plain) != ST_OK)
        abort();
    write_seed(target, number, first, blob_slice(&plain));
    blob_deinit(&plain);
    blob_deinit(packed);
}

static void write_chunk_seeds(void)
{
    struct rng rng = rng_from(1);
    struct chunk_shape shape = {.binaries = 3,
                                .frames = 20,
                                .stacks = 10,
                                .depth = 5,
                                .processes = 3,
                                .threads = 5,
                                .samples = 50};
    struct chunk c = chunk_make(shape, &rng);

    write_hex_seed("chunk", 0, 0, golden_chunk_packed);
    write_hex_seed("chunk", 1, 1, golden_chunk_plain);
    for (enum chunk_form form = CHUNK_WIRE; form <= CHUNK_STORED; form++) {
        struct blob packed;

        if (chunk_encode(&c, form, &packed) != ST_OK)
            abort();
        write_plain_seed("chunk", 2 + form, 1 + (int)form, &packed);
    }
    chunk_deinit(&c);
}

static void write_symtab_seed(void)
{
    struct symtab t = {0};
    struct blob packed;

    if (symtab_add(&t, 0x1000, 16, "main") != ST_OK || symtab_add(&t, 0x2000, 0, "f") != ST_OK ||
        symtab_encode(&t, &packed) != ST_OK)
        abort();
    write_plain_seed("symtab", 0, -1, &packed);
    symtab_deinit(&t);
}

static void write_elf_seeds(void)
{
    struct elf_image gnu = elf_image_make("GNU", 3), go = elf_image_make("Go", 4);

    write_seed("elf", 0, -1, (struct slice){(const uint8_t *)&gnu, sizeof(gnu)});
    write_seed("elf", 1, -1, (struct slice){(const uint8_t *)&go, sizeof(go)});
}

/* The first byte chooses the reader, see fuzz_proc.c. */
static void write_proc_seeds(void)
{
    static const char *const texts[] = {
        "42 (a) b) S 1 1 1 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 3 0 4711 1000000 500 1 1 1\n",
        "55d000-55e000 r-xp 00001000 fe:00 1234    /usr/bin/cat\n7f0-7f8 rw-p 0 00:00 0 \n",
        "4:memory:/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n0::/a.scope\n",
        "ffffffffc0201000 t ext4_map\t[ext4]\n",
    };

    for (int i = 0; i < (int)(sizeof(texts) / sizeof(texts[0])); i++)
        write_seed("proc", (unsigned)i, i,
                   (struct slice){(const uint8_t *)texts[i], strlen(texts[i])});
}

static void write_perfmap_seed(void)
{
    static const char text[] = "40 20 JS:*f a.js:1:2\n60 b py::g:a.py\n0x50 20 void H.h(int)\n";

    write_seed("perfmap", 0, -1, (struct slice){(const uint8_t *)text, strlen(text)});
}

/* A stack of as many frames as there are kinds of rows, each found by the next kind's. */
static void write_unwind_seed(void)
{
    enum { CODE = 0x1000, WORDS = 256, FRAME_WORDS = 4 };
    struct {
        struct unwind_input tables;
        uint64_t stack[WORDS];
    } seed = {.tables.at = {CODE + 16, INPUT_STACK_START, INPUT_STACK_START + 64, 0}};

    seed.tables.page[0].ranges = 1;
    seed.tables.page[0].range[0] = (struct abi_range){
        .start = CODE, .end = 2 * CODE, .base = CODE, .last = INPUT_ROWS, .rule = ABI_RANGE_ROWS};
    for (uint32_t i = 0; i < INPUT_ROWS; i++)
        seed.tables.rows[i] = (struct abi_row){.pc = i * 64,
                                               .cfa = FRAME_WORDS * 8,
                                               .kind = (uint8_t)(1 + i % (ABI_ROW_KINDS - 1)),
                                               .rbp = (int8_t)(i % 2 == 0 ? 0 : -2)};
    for (uint32_t i = 0; i < WORDS; i++)
        seed.stack[i] = i % FRAME_WORDS == FRAME_WORDS - 1
                            ? CODE + 64 * (i / FRAME_WORDS % INPUT_ROWS) + 8
                            : INPUT_STACK_START + 8 * (i + 8);
    write_seed("unwind", 0, -1, (struct slice){(const uint8_t *)&seed, sizeof(seed)});
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return 1;
    for (unsigned i = 0; i < GOLDEN_MESSAGES; i++)
        write_hex_seed("message", i, -1, golden_message_hex(i));
    write_chunk_seeds();
    write_symtab_seed();
    write_perfmap_seed();
    write_elf_seeds();
    write_proc_seeds();
    write_unwind_seed();
    return 0;
}
