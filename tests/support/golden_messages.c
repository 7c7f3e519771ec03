#include "tests/support/golden_messages.h"

#include <stdlib.h>

#define ID(last)                                                    \
    {                                                               \
        {                                                           \
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, last \
        }                                                           \
    }

static const uint8_t some_bytes[] = {0xca, 0xfe, 0xba, 0xbe};

static const struct message messages[GOLDEN_MESSAGES] = {
    {.type = MESSAGE_HELLO,
     .hello = {.host = "web-1",
               .incarnation = 0x1122334455667788,
               .boot_id = ID(16),
               .version = "0.1.0",
               .plan_revision = 3,
               .running = {ID(17), ID(18)},
               .running_count = 2,
               .sent = {UINT64_C(1700000000) * NS_PER_S},
               .cpus = 64,
               .degraded = "no kernel symbols"}},
    {.type = MESSAGE_WELCOME,
     .welcome = {.now = {UINT64_C(1700000001) * NS_PER_S},
                 .window = 4,
                 .heartbeat_ns = 10 * NS_PER_S,
                 .idle_limit_ns = 30 * NS_PER_S}},
    {.type = MESSAGE_HEARTBEAT,
     .heartbeat = {.sent = {UINT64_C(1700000002) * NS_PER_S},
                   .sent_mono = {99 * NS_PER_S},
                   .plan_revision = 3,
                   .cost = {1, 2, 3, 4, 5, 6, 7},
                   .spool_chunks = 8,
                   .spool_bytes = 9,
                   .spool_dropped_chunks = 10,
                   .spool_dropped_samples = 11,
                   .clock_offset_ns = -12}},
    {.type = MESSAGE_HEARTBEAT_REPLY,
     .heartbeat_reply = {.sent_mono = {99 * NS_PER_S}, .now = {UINT64_C(1700000003) * NS_PER_S}}},
    {.type = MESSAGE_PLAN,
     .plan = {.revision = 4,
              .items = {{.profiler = ID(17),
                         .event = EVENT_CPU,
                         .period_ns = 10101010,
                         .remaining_ns = 30 * NS_PER_S,
                         .chunk_ns = 10 * NS_PER_S},
                        {.profiler = ID(18),
                         .event = EVENT_OFFCPU,
                         .period_ns = NS_PER_MS,
                         .remaining_ns = UINT64_MAX,
                         .chunk_ns = 10 * NS_PER_S}},
              .item_count = 2}},
    {.type = MESSAGE_PLAN_ACK, .plan_ack = {.revision = 4}},
    {.type = MESSAGE_PROFILER_STATE,
     .profiler_state = {.profiler = ID(17),
                        .state = PROFILER_ENDED,
                        .period_ns = 10101010,
                        .last_sequence = 3,
                        .samples = 2970,
                        .reason = "deadline"}},
    {.type = MESSAGE_CHUNK, .chunk = {.number = 300, .bytes = {some_bytes, sizeof(some_bytes)}}},
    {.type = MESSAGE_CHUNK_ACK, .chunk_ack = {.number = 300, .window = 4}},
    {.type = MESSAGE_SYMBOLS_WANTED,
     .symbols_wanted = {.ids = {{4, {0xde, 0xad, 0xbe, 0xef}}, {1, {0x01}}}, .count = 2}},
    {.type = MESSAGE_SYMBOLS,
     .symbols = {.id = {4, {0xde, 0xad, 0xbe, 0xef}},
                 .part = 1,
                 .parts = 2,
                 .bytes = {some_bytes, sizeof(some_bytes)}}},
    {.type = MESSAGE_SYMBOLS,
     .symbols = {.id = {4, {0xde, 0xad, 0xbe, 0xef}}, .reason = "no such file"}},
    {.type = MESSAGE_REFUSAL,
     .refusal = {.about = MESSAGE_CHUNK,
                 .number = 300,
                 .reason = REFUSAL_MALFORMED,
                 .text = "sequences start at 1"}},
};

/* clang-format off: one value a word */
static const char *const hex[GOLDEN_MESSAGES] = {
    /* hello */
    "93 01 01 8a  01 a57765622d31  02 cf1122334455667788  03"
    "c4100102030405060708090a0b0c0d0e0f10  04 a5302e312e30  05 94 a773657276696365"
    "a66772c3bcc39f a47a6f6e65 a465752d31  06 03  07 92 c4100102030405060708090a0b0c0d0e0f11"
    "c4100102030405060708090a0b0c0d0e0f12  08 cf17979cfe362a0000  09 40  0a"
    "b16e6f206b65726e656c2073796d626f6c73",
    /* welcome */
    "93 01 02 84  01 cf17979cfe71c4ca00  02 04  03 cf00000002540be400  04 cf00000006fc23ac00",
    /* heartbeat */
    "93 01 03 89  01 cf17979cfead5f9400  02 cf000000170cdc1e00  03 03  04 87  01 01  02 02  03"
    "03  04 04  05 05  06 06  07 07  05 08  06 09  07 0a  08 0b  09 f4",
    /* heartbeat_reply */
    "93 01 04 82  01 cf000000170cdc1e00  02 cf17979cfee8fa5e00",
    /* plan */
    "93 01 05 82  01 04  02 92 85  01 c4100102030405060708090a0b0c0d0e0f11  02 01  03"
    "ce009a2112  04 cf00000006fc23ac00  05 cf00000002540be400 85  01"
    "c4100102030405060708090a0b0c0d0e0f12  02 02  03 ce000f4240  04 cfffffffffffffffff  05"
    "cf00000002540be400",
    /* plan_ack */
    "93 01 06 81  01 04",
    /* profiler_state */
    "93 01 07 86  01 c4100102030405060708090a0b0c0d0e0f11  02 05  03 ce009a2112  04 03  05"
    "cd0b9a  06 a8646561646c696e65",
    /* chunk */
    "93 01 08 82  01 cd012c  02 c404cafebabe",
    /* chunk_ack */
    "93 01 09 82  01 cd012c  02 04",
    /* symbols_wanted */
    "93 01 0a 81  01 92 c404deadbeef c40101",
    /* symbols */
    "93 01 0b 85  01 c404deadbeef  02 01  03 02  04 c404cafebabe  05 a0",
    /* symbols_absent */
    "93 01 0b 85  01 c404deadbeef  02 00  03 00  04 c400  05 ac6e6f20737563682066696c65",
    /* refusal */
    "93 01 0c 84  01 08  02 cd012c  03 01  04 b473657175656e6365732073746172742061742031",
};
/* clang-format on */

struct message golden_message(unsigned index)
{
    struct message m = messages[index];

    if (m.type == MESSAGE_HELLO &&
        (labels_set_pair(&m.hello.labels, "zone=eu-1") != ST_OK ||
         labels_set_pair(&m.hello.labels, "service=gr\xc3\xbc\xc3\x9f") != ST_OK))
        abort();
    return m;
}

const char *golden_message_hex(unsigned index)
{
    return hex[index];
}
