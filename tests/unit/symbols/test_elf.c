/* elf: identities and functions of this test itself, of the vdso, and of images bent on purpose. */
#include "common/symbols/elf.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/elf_image.h"
#include "tests/support/rng.h"

static volatile int sink;

__attribute__((noinline)) static void a_function_of_this_test(void)
{
    sink++;
}

struct spot { /* of an address: its file and its offset in it */
    uintptr_t address;
    char path[256];
    uint64_t offset;
    uint8_t id[32];
    size_t id_length;
};

static void copy_build_id(const uint8_t *note, size_t left, struct spot *place)
{
    const ElfW(Nhdr) *h = (const void *)note;

    if (left < sizeof(*h) + 4 || h->n_type != NT_GNU_BUILD_ID || h->n_namesz != 4)
        return;
    place->id_length = h->n_descsz;
    memcpy(place->id, note + sizeof(*h) + 4, h->n_descsz);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct spot *place = arg;
    bool mine = false;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;

        if (p->p_type != PT_LOAD || place->address - start >= p->p_memsz)
            continue;
        mine = true;
        place->offset = place->address - start + p->p_offset;
        (void)snprintf(place->path, sizeof(place->path), "%s",
                       info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe");
    }
    for (int i = 0; mine && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && place->id_length == 0)
            copy_build_id((const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                          info->dlpi_phdr[i].p_memsz, place);
    return mine;
}

static struct spot locate(uintptr_t address)
{
    struct spot place = {.address = address};

    assert_int_equal(dl_iterate_phdr(on_object, &place), 1);
    return place;
}

static void a_function_is_found_at_its_offset_in_the_file(void **state)
{
    struct spot place = locate((uintptr_t)a_function_of_this_test);
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    struct symtab t = {0};

    (void)state;
    a_function_of_this_test();
    assert_int_equal(elf_symbols(fd, &t), ST_OK);
    assert_string_equal(symtab_find(&t, place.offset), "a_function_of_this_test");
    symtab_deinit(&t);
    close(fd);
}

static void a_stripped_library_is_named_by_its_dynamic_symbols(void **state)
{
    struct spot place = locate((uintptr_t)dlsym(RTLD_NEXT, "qsort"));
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    struct symtab t = {0};

    (void)state;
    assert_int_equal(elf_symbols(fd, &t), ST_OK);
    assert_string_equal(symtab_find(&t, place.offset), "qsort");
    symtab_deinit(&t);
    close(fd);
}

static void the_build_id_is_the_one_in_memory(void **state)
{
    struct spot place = locate((uintptr_t)dlsym(RTLD_NEXT, "qsort"));
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    struct build_id id = {0};

    (void)state;
    assert_true(place.id_length > 0);
    assert_int_equal(elf_build_id(fd, &id), ST_OK);
    assert_int_equal(id.length, place.id_length);
    assert_memory_equal(id.bytes, place.id, place.id_length);
    close(fd);
}

static void the_vdso_is_read_from_memory(void **state)
{
    const uint8_t *start = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Ehdr) *header = (const void *)start;
    struct slice image;
    struct build_id id = {0};
    struct symtab t = {0};
    bool found = false;

    (void)state;
    if (start == NULL) {
        skip();
        return;
    }
    image = (struct slice){start, header->e_shoff + (size_t)header->e_shnum * header->e_shentsize};
    assert_int_equal(elf_image_build_id(image, &id), ST_OK);
    assert_true(id.length > 0);
    assert_int_equal(elf_image_symbols(image, &t), ST_OK);
    for (uint32_t i = 0; i < t.count; i++)
        found |= strstr(t.text + t.symbols[i].name, "clock_gettime") != NULL;
    assert_true(found);
    symtab_deinit(&t);
}

static struct slice slice_of(const struct elf_image *image)
{
    return (struct slice){(const uint8_t *)image, sizeof(*image)};
}

static void offsets_come_from_the_segment_not_from_the_address(void **state)
{
    struct elf_image image = elf_image_make("GNU", 3);
    struct symtab t = {0};

    (void)state;
    assert_int_equal(elf_image_symbols(slice_of(&image), &t), ST_OK);
    assert_int_equal(t.count, 3);
    assert_string_equal(symtab_find(&t, ELF_CODE_OFFSET), "first");
    assert_string_equal(symtab_find(&t, ELF_CODE_OFFSET + 0x1f), "second"); /* without version */
    assert_null(symtab_find(&t, ELF_CODE_OFFSET + 0x20)); /* no object, no undefined function */
    assert_string_equal(symtab_find(&t, ELF_CODE_OFFSET + 0x40), "picked");
    symtab_deinit(&t);
}

static void symbols_outside_of_the_code_are_left_out(void **state)
{
    struct elf_image image = elf_image_make("GNU", 3);
    struct symtab t = {0};

    (void)state;
    image.symbols[1].st_value = ELF_CODE_ADDRESS + ELF_CODE_BYTES;
    image.symbols[2].st_value = ELF_CODE_ADDRESS - 1;
    image.symbols[5].st_value = UINT64_MAX;
    assert_int_equal(elf_image_symbols(slice_of(&image), &t), ST_OK);
    assert_int_equal(t.count, 0);
    symtab_deinit(&t);
}

static void the_identity_is_gnu_then_go_then_the_content(void **state)
{
    struct elf_image gnu = elf_image_make("GNU", 3);
    struct elf_image go = elf_image_make("Go", 4);
    struct elf_image none = elf_image_make("XYZ", 9);
    struct build_id a = {0}, b = {0}, c = {0}, d = {0};

    (void)state;
    assert_int_equal(elf_image_build_id(slice_of(&gnu), &a), ST_OK);
    assert_int_equal(a.length, 20);
    assert_memory_equal(a.bytes, gnu.note.content, 20);

    assert_int_equal(elf_image_build_id(slice_of(&go), &a), ST_OK);
    go.padding[0] = 1; /* other content, same Go id */
    assert_int_equal(elf_image_build_id(slice_of(&go), &b), ST_OK);
    assert_int_equal(a.length, 32);
    assert_true(build_id_equal(&a, &b));

    assert_int_equal(elf_image_build_id(slice_of(&none), &c), ST_OK);
    none.padding[0] = 1;
    assert_int_equal(elf_image_build_id(slice_of(&none), &d), ST_OK);
    assert_false(build_id_equal(&c, &d));
}

static void a_file_and_its_image_have_the_same_identity_and_functions(void **state)
{
    struct elf_image image = elf_image_make("XYZ", 9);
    int fd = memfd_create("image", MFD_CLOEXEC);
    struct build_id a = {0}, b = {0};
    struct symtab t = {0};

    (void)state;
    assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
    assert_int_equal(elf_image_build_id(slice_of(&image), &a), ST_OK);
    assert_int_equal(elf_build_id(fd, &b), ST_OK);
    assert_true(build_id_equal(&a, &b));
    assert_int_equal(elf_symbols(fd, &t), ST_OK);
    assert_int_equal(t.count, 3);
    symtab_deinit(&t);
    close(fd);
}

static void what_is_no_elf_file_is_refused_and_changes_nothing(void **state)
{
    const uint8_t text[] = "#!/bin/sh\necho this is not an executable of our kind\n";
    struct elf_image image = elf_image_make("GNU", 3);
    struct build_id id = {.length = 7};
    struct symtab t = {0};

    (void)state;
    assert_int_equal(elf_image_build_id((struct slice){text, sizeof(text)}, &id), ST_INVALID);
    assert_int_equal(elf_image_symbols((struct slice){text, 0}, &t), ST_INVALID);
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
    assert_int_equal(elf_image_build_id(slice_of(&image), &id), ST_INVALID);
    assert_int_equal(id.length, 7);
    assert_null(t.symbols);
}

static void a_section_count_that_would_exhaust_memory_is_refused(void **state)
{
    struct elf_image image = elf_image_make("GNU", 3);
    struct symtab t = {0};

    (void)state;
    image.header.e_shnum = 0; /* the true count is then in section 0 */
    image.sections[0].sh_size = UINT64_C(1) << 40;
    assert_int_equal(elf_image_symbols(slice_of(&image), &t), ST_INVALID);
}

static void no_truncation_or_flipped_byte_does_harm(void **state)
{
    struct rng rng = rng_new();

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct elf_image image = elf_image_make("GNU", 3);
        size_t length = rng_below(&rng, sizeof(image)) + 1;
        uint8_t *bytes = malloc(length); /* exact, so that the sanitizer sees its end */
        struct build_id id = {0};
        struct symtab t = {0};

        for (int flips = 0; flips < 4; flips++)
            ((uint8_t *)&image)[rng_below(&rng, offsetof(struct elf_image, names))] =
                (uint8_t)rng_below(&rng, 256);
        memcpy(bytes, &image, length);
        (void)elf_image_build_id((struct slice){bytes, length}, &id);
        (void)elf_image_symbols((struct slice){bytes, length}, &t);
        symtab_deinit(&t);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_found_at_its_offset_in_the_file),
        cmocka_unit_test(a_stripped_library_is_named_by_its_dynamic_symbols),
        cmocka_unit_test(the_build_id_is_the_one_in_memory),
        cmocka_unit_test(the_vdso_is_read_from_memory),
        cmocka_unit_test(offsets_come_from_the_segment_not_from_the_address),
        cmocka_unit_test(symbols_outside_of_the_code_are_left_out),
        cmocka_unit_test(the_identity_is_gnu_then_go_then_the_content),
        cmocka_unit_test(a_file_and_its_image_have_the_same_identity_and_functions),
        cmocka_unit_test(what_is_no_elf_file_is_refused_and_changes_nothing),
        cmocka_unit_test(a_section_count_that_would_exhaust_memory_is_refused),
        cmocka_unit_test(no_truncation_or_flipped_byte_does_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
