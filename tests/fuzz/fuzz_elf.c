/* Any bytes as an ELF image: refused, or an identity and sorted functions within the file's
 * declared segments, by memory and by file alike. */
#include "common/symbols/elf.h"

#include <sys/mman.h>
#include <unistd.h>

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
    close(fd);
    return 0;
}
