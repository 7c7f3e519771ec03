#include "tests/support/golden_chunk.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off: one line a key */
const char golden_chunk_plain[] =
    "84"
    "01 01"
    "02 8f"
    "  01 c410 0102030405060708090a0b0c0d0e0f10"
    "  02 07"
    "  03 cf 1122334455667788"
    "  04 c3"
    "  05 cf 000000012a05f200"
    "  06 cf 00000002540be400"
    "  07 cf 17979cfe362a0000"
    "  08 d1 fa24"
    "  09 01"
    "  0a ce 009a2112"
    "  0b cb 3fe0000000000000"
    "  0c 04"
    "  0d 85 01 cd0190  02 05  03 cd0186  04 02  05 96 01 00 02 00 00 00"
    "  0e 87 01 01  02 02  03 03  04 04  05 05  06 06  07 07"
    "  0f 93 01 03 01"
    "03 84"
    "  01 92 07 c438 5b6b65726e656c5d00 2f7573722f62696e2f6275726e00 6275726e00"
    "                776f726b657200 7365727669636500 6772c3bcc39f00 6a69743a6600"
    "  02 93 02 c406 04deadbeef00  c402 0202"
    "  03 95 05 c405 0201010304  c405 0202000300  c405 0000000e05  c409 80408040209f800100"
    "  04 93 04 c404 00010100  c404 01020003"
    "04 85"
    "  01 93 01 c401 04  c401 05"
    "  02 95 02 c403 c80113  c408 aab4de75d9a4de75  c402 0300  c402 0100"
    "  03 94 03 c403 000002  c404 c8010215  c403 040003"
    "  04 94 03 c403 040203  c403 000202  c403 030101"
    "  05 92 05 c407 006565a08d0605";
/* clang-format on */

const char golden_chunk_packed[] =
    "28b52ffd645700a509001654483c40c56a3860e5dd2f702d009715b85d7b44ac2f22d3925f6926fb"
    "1584b85cfc199ae080501f61cc8415fc1d5c7eddc56f15e0c4705d37bbb79452ca1440003a003400"
    "3740216083d090f2011acc3c282080f941110b54501668dc0f6c2c727b0206e17f1ac7762445baa8"
    "807038a029971f034f87b3d16430dcc6ab899fc692445c052510af43ddeb4c9e47ea27ef1b854ea5"
    "51c8437da167747427af33614834d7c29572dcb631efaa66228a78fe3cbe38370467ca6982336475"
    "9613fac4ed237e7b5d7b54c118442a912ad3ecf9cf7d7d26f72a6272f34b33b38f20804b6db74e57"
    "9e34f151e2382c0620e66dbcd308bc91ac74ddb9e61623aa7666eeea575b2151b69dbfb69ee831fb"
    "9afdd5580a7cb597164c27a04c3b5fc9d88b8d2e646d05003b035b6c86142877806b125dcb1ed658"
    "0516";

static const struct chunk_info info = {
    .profiler = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    .sequence = 7,
    .incarnation = 0x1122334455667788,
    .final = true,
    .start = {5 * NS_PER_S},
    .end = {15 * NS_PER_S},
    .wall_start = {UINT64_C(1700000000) * NS_PER_S},
    .clock_offset_ns = -1500,
    .event = EVENT_CPU,
    .period_ns = 10101010,
    .inclusion = 0.5,
    .cpus = 4,
    .ledger = {.expected = 400, .delivered = 5, .idle = 390, .skipped = 2, .lost = {1, 0, 2, 0, 0}},
    .cost = {1, 2, 3, 4, 5, 6, 7},
    .walks = {.count = {[WALK_NONE] = 1, [WALK_ROOT] = 3, [WALK_TRUNCATED] = 1}},
};

static const char *const strings[] = {
    "[kernel]", "/usr/bin/burn", "burn", "worker", "service", "gr\xc3\xbc\xc3\x9f", "jit:f",
};

static const struct chunk_binary binaries[] = {
    {.id = {.length = 4, .bytes = {0xde, 0xad, 0xbe, 0xef}}, .path = 0},
    {.id = {.length = 0}, .path = 1}, /* without a build id */
};

static const struct chunk_frame frames[] = {
    {FRAME_KERNEL, 0, CHUNK_NO_PARENT, 0x1000}, {FRAME_NATIVE, 1, CHUNK_NO_PARENT, 0x2000},
    {FRAME_NATIVE, 1, CHUNK_NO_PARENT, 0x2010}, {FRAME_NAMED, CHUNK_NO_PARENT, 6, 0},
    {FRAME_MARK, CHUNK_NO_PARENT, 3, 0},
};

static const struct chunk_node nodes[] = {
    {CHUNK_NO_PARENT, 1}, {0, 2}, {1, 0}, {CHUNK_NO_PARENT, 3}};

static const struct chunk_label labels[] = {{4, 5}};

static const struct chunk_process processes[] = {
    {.pid = 100, .comm = 2, .start_ns = 123456789, .first_label = 0, .label_count = 1},
    {.pid = 90, .comm = CHUNK_NO_PARENT, .start_ns = 1000, .first_label = 1, .label_count = 0},
};

static const struct chunk_thread threads[] = {{0, 100, 3}, {0, 101, CHUNK_NO_PARENT}, {1, 90, 2}};

static const struct chunk_group groups[] = {{2, 0, 3}, {3, 1, 1}, {1, 2, 1}};

static const uint32_t ticks[] = {0, 101, 202, 100000, 5}; /* 100000: the window's last */

static void *copy(const void *bytes, size_t length)
{
    void *p = malloc(length);

    if (p == NULL)
        abort();
    return memcpy(p, bytes, length);
}

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

struct chunk golden_chunk(void)
{
    return (struct chunk){
        .info = info,
        .dictionary = {.strings = copy(strings, sizeof(strings)),
                       .binaries = copy(binaries, sizeof(binaries)),
                       .frames = copy(frames, sizeof(frames)),
                       .nodes = copy(nodes, sizeof(nodes)),
                       .string_count = COUNT(strings),
                       .binary_count = COUNT(binaries),
                       .frame_count = COUNT(frames),
                       .node_count = COUNT(nodes)},
        .samples = {.labels = copy(labels, sizeof(labels)),
                    .processes = copy(processes, sizeof(processes)),
                    .threads = copy(threads, sizeof(threads)),
                    .groups = copy(groups, sizeof(groups)),
                    .ticks = copy(ticks, sizeof(ticks)),
                    .label_count = COUNT(labels),
                    .process_count = COUNT(processes),
                    .thread_count = COUNT(threads),
                    .group_count = COUNT(groups),
                    .sample_count = COUNT(ticks)},
    };
}
