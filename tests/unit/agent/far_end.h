/* far_end - a coordinator made by hand for one agent: a listener that keeps what it is told and
 * says what the test wants. The network is real, the time is not. */
#ifndef TESTS_UNIT_AGENT_FAR_END_H
#define TESTS_UNIT_AGENT_FAR_END_H

#include <stdbool.h>
#include <stdint.h>

#include "common/channel.h"
#include "common/message.h"

enum { FAR_END_CHUNKS_MAX = 256 };

struct far_end {
    struct channel_hub *hub;
    struct channel_listener *listener;
    int wake_fd; /* an eventfd */
    struct wire_writer *writer;
    struct channel *channel; /* of the agent; NULL: none */
    uint32_t ups, downs;
    uint32_t heard[MESSAGE_REFUSAL + 1]; /* messages, by type */
    struct hello hello; /* the last of each; labels are not kept, only their number */
    size_t hello_labels;
    struct heartbeat heartbeat;
    struct refusal refusal;
    struct plan_ack plan_ack;
    struct profiler_report report;
    uint64_t chunk_numbers[FAR_END_CHUNKS_MAX];
    uint8_t chunk_first_bytes[FAR_END_CHUNKS_MAX];
    uint32_t chunk_count;
};

void far_end_open(struct far_end *f); /* listens on a port of its own */
void far_end_close(struct far_end *f);
void far_end_url(const struct far_end *f, char out[64]);
void far_end_drain(struct far_end *f);
void far_end_say(struct far_end *f, const struct message *m);
void far_end_say_bytes(struct far_end *f, struct slice body); /* whatever they are */
void far_end_welcome(struct far_end *f, uint32_t window, struct wall now);
void far_end_acknowledge(struct far_end *f, uint64_t number, uint32_t window);
void far_end_hang_up(struct far_end *f);

#define FAR_END_HEARTBEAT_NS (10 * NS_PER_S)
#define FAR_END_IDLE_NS (30 * NS_PER_S)

#endif
