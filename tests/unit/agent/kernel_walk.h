/* kernel_walk - has the kernel walk a made-up world: by test runs of walk.bpf.c. */
#ifndef TESTS_UNIT_AGENT_KERNEL_WALK_H
#define TESTS_UNIT_AGENT_KERNEL_WALK_H

#include <stdbool.h>

#include "bpf/abi.h"

struct kernel_walk; /* opaque */

/* NULL with a reason on stderr: this kernel or user may not. `programs` ends with NULL; only they
 * are loaded. */
struct kernel_walk *kernel_walk_open(const char *const *programs);
void kernel_walk_close(struct kernel_walk *k);

void kernel_walk_set_page(struct kernel_walk *k, __u32 pid, __u32 page,
                          const struct abi_page *value);
void kernel_walk_drop_page(struct kernel_walk *k, __u32 pid, __u32 page);
void kernel_walk_set_shard(struct kernel_walk *k, __u32 number, const struct abi_shard *value);

/* The end of the walk; the frames' count goes to *count. Between the caller and the kernel lies no
 * code without frame pointers but the system call's own. */
enum walk_end kernel_walk_run(struct kernel_walk *k, const char *program, __u32 pid,
                              const struct abi_registers *at, __u32 *count);
const __u64 *kernel_walk_frames(const struct kernel_walk *k); /* of the last run */

__u32 kernel_walk_instructions(struct kernel_walk *k,
                               const char *program); /* verified; 0: unknown */
double kernel_walk_load_ms(const struct kernel_walk *k);
/* Time in the program since it was loaded, and how often: where the kernel counts (see
 * kernel_walk_count_time). */
void kernel_walk_read_time(struct kernel_walk *k, const char *program, __u64 *ns, __u64 *runs);
bool kernel_walk_count_time(struct kernel_walk *k); /* until close */

#endif
