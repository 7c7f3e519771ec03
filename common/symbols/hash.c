#include "common/symbols/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 16 << 10 };

static enum status finish(EVP_MD_CTX *ctx, struct build_id *out)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;

    if (EVP_DigestFinal_ex(ctx, digest, &length) != 1)
        return ST_IO;
    return build_id_from_bytes(digest, length, out);
}

static EVP_MD_CTX *begin(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    if (ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1)
        return ctx;
    EVP_MD_CTX_free(ctx);
    return NULL;
}

enum status hash_bytes(struct slice bytes, struct build_id *out)
{
    EVP_MD_CTX *ctx = begin();
    enum status st = ST_NOMEM;

    if (ctx == NULL)
        return ST_NOMEM;
    if (EVP_DigestUpdate(ctx, bytes.bytes, bytes.length) == 1)
        st = finish(ctx, out);
    EVP_MD_CTX_free(ctx);
    return st;
}

/* A file that becomes shorter meanwhile ends earlier; that is no failure. */
static enum status add_range(EVP_MD_CTX *ctx, int fd, off_t offset, off_t end)
{
    uint8_t bytes[READ_BYTES];

    while (offset < end) {
        size_t want = end - offset < READ_BYTES ? (size_t)(end - offset) : READ_BYTES;
        ssize_t got = pread(fd, bytes, want, offset);

        if (got < 0)
            return status_from_errno(errno);
        if (got == 0)
            return ST_OK;
        if (EVP_DigestUpdate(ctx, bytes, (size_t)got) != 1)
            return ST_IO;
        offset += got;
    }
    return ST_OK;
}

static enum status add_file(EVP_MD_CTX *ctx, int fd)
{
    struct stat file;
    uint64_t size;
    enum status st;

    if (fstat(fd, &file) != 0)
        return status_from_errno(errno);
    if (file.st_size <= HASH_FILE_BYTES_MAX)
        return add_range(ctx, fd, 0, file.st_size);
    st = add_range(ctx, fd, 0, HASH_FILE_BYTES_MAX / 2);
    if (st == ST_OK)
        st = add_range(ctx, fd, file.st_size - HASH_FILE_BYTES_MAX / 2, file.st_size);
    size = (uint64_t)file.st_size;
    if (st == ST_OK && EVP_DigestUpdate(ctx, &size, sizeof(size)) != 1)
        st = ST_IO;
    return st;
}

enum status hash_file(int fd, struct build_id *out)
{
    EVP_MD_CTX *ctx = begin();
    enum status st;

    if (ctx == NULL)
        return ST_NOMEM;
    st = add_file(ctx, fd);
    if (st == ST_OK)
        st = finish(ctx, out);
    EVP_MD_CTX_free(ctx);
    return st;
}
