/* cfi_bytes - writes call frame information by hand, for tests to read. The code lies at CFI_CODE,
 * the section at CFI_SECTION. */
#ifndef TESTS_SUPPORT_CFI_BYTES_H
#define TESTS_SUPPORT_CFI_BYTES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CFI_CODE UINT64_C(0x401000)
#define CFI_CODE_BYTES UINT64_C(0x1000)
#define CFI_SECTION UINT64_C(0x500000)

enum { CFI_BYTES_MAX = 4096, CFI_POINTER_SELF_4 = 0x1b };

struct cfi_bytes { /* zero-initialised is empty */
    uint8_t bytes[CFI_BYTES_MAX];
    size_t length;
    size_t entry; /* where the entry in hand has its length */
};

static inline void cfi_put(struct cfi_bytes *b, const void *bytes, size_t length)
{
    assert(b->length + length <= sizeof(b->bytes));
    if (length > 0)
        memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
}

static inline void cfi_put_number(struct cfi_bytes *b, uint64_t value, size_t bytes)
{
    cfi_put(b, &value, bytes); /* little-endian, as all that we run on */
}

static inline void cfi_begin(struct cfi_bytes *b, uint32_t id)
{
    b->entry = b->length;
    cfi_put_number(b, 0, 4);
    cfi_put_number(b, id, 4);
}

static inline void cfi_end(struct cfi_bytes *b)
{
    uint32_t length = (uint32_t)(b->length - b->entry - 4);

    memcpy(b->bytes + b->entry, &length, sizeof(length));
}

/* A common entry at the section's start: CFA = rsp + 8, the return address right below it. */
static inline void cfi_put_common(struct cfi_bytes *b, const char *augmentation,
                                  const uint8_t *data, uint8_t data_bytes)
{
    static const uint8_t units[] = {1, 0x78, 16}; /* code 1, data -8, rip's column */
    static const uint8_t rules[] = {0x0c, 7, 8, 0x80 | 16, 1};

    cfi_begin(b, 0);
    cfi_put_number(b, 1, 1);
    cfi_put(b, augmentation, strlen(augmentation) + 1);
    cfi_put(b, units, sizeof(units));
    if (augmentation[0] == 'z') {
        cfi_put_number(b, data_bytes, 1);
        cfi_put(b, data, data_bytes);
    }
    cfi_put(b, rules, sizeof(rules));
    cfi_end(b);
}

/* One of .eh_frame, with addresses of 4 bytes relative to themselves. */
static inline void cfi_put_function(struct cfi_bytes *b, uint64_t start, uint64_t bytes,
                                    const void *program, size_t program_bytes)
{
    cfi_begin(b, (uint32_t)(b->length + 4));
    cfi_put_number(b, start - (CFI_SECTION + b->length), 4);
    cfi_put_number(b, bytes, 4);
    cfi_put_number(b, 0, 1); /* no augmentation data */
    cfi_put(b, program, program_bytes);
    cfi_end(b);
}

#endif
