/* Any bytes as an ELF image: refused, or an identity and sorted functions within the file's
 * declared segments, by memory and by file alike, and whatever else names its code. */
#include "common/symbols/elf.h"

#include <sys/mman.h>
#include <unistd.h>

#include "common/symbols/extract.h"
#include "common/symbols/gopclntab.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(const struct symtab *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        require(i == 0 || t->symbols[i - 1].start < t->symbols[i].start);
        require(t->symbols[i].name < t->text_length);
        require(t->text[t->symbols[i].name] != '\0');
    }
}

static int file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    return fd;
}

/* The bytes as Go's table, too: few mutations of a whole file would reach it. */
static void read_as_gopclntab(struct slice bytes)
{
    static const struct code_map code = {1, {{0, UINT64_C(1) << 32, 0}}};
    struct symtab t = {0};

    (void)gopclntab_read(bytes, (struct go_text){0x1000, 0x100000}, &code, &t);
    symtab_sort(&t);
    check_table(&t);
    symtab_deinit(&t);
}

/* Without DWARF: libdw is not meant for files like these, where they come from others it needs a
 * process of its own. */
static void extract(int fd)
{
    static const struct extract_options options = {NULL, .places = false};
    struct symtab t = {0};

    if (extract_symbols(fd, &options, &t) == ST_OK) {
        require(t.count > 0 && t.sources != 0);
        check_table(&t);
    }
    symtab_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice image = {data, size};
    struct build_id in_memory = {0}, in_file = {0};
    struct symtab a = {0}, b = {0};
    int fd = file_of(data, size);
    enum status st = elf_image_build_id(image, &in_memory);

    require(elf_build_id(fd, &in_file) == st);
    require(build_id_equal(&in_memory, &in_file));
    require((st == ST_OK) == (in_memory.length > 0));
    if (elf_image_symbols(image, &a) == ST_OK)
        check_table(&a);
    if (elf_symbols(fd, &b) == ST_OK)
        check_table(&b);
    symtab_deinit(&a);
    symtab_deinit(&b);
    extract(fd);
    read_as_gopclntab(image);
    close(fd);
    return 0;
}
