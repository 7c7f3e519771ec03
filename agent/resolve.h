/* resolve - from addresses to frames that mean the same on every host.
 * User addresses become (build id, file offset), kernel addresses (kernel build id, offset from
 * _text); what only this host can know is named here. What could not be walked or found becomes a
 * mark at the cut end: no sample is dropped for its stack. Loop thread only. */
#ifndef AGENT_RESOLVE_H
#define AGENT_RESOLVE_H

#include "agent/aggregate.h"
#include "agent/process/process.h"
#include "agent/sampler/sampler.h"
#include "agent/symbols/kernel.h"

enum {
    RESOLVE_FRAMES_MAX = 2 * ABI_FRAMES_MAX + 2, /* both parts, a cut and a wait */
    RESOLVE_NAME_MAX = 64,
};

#define MARK_TRUNCATED "[truncated]" /* deeper than the walk goes */
#define MARK_UNREADABLE "[unreadable stack]" /* no memory, or no frame pointer to follow */
#define MARK_ASTRAY "[unknown caller]" /* the return address lies in no code of the process */
#define MARK_UNSUPPORTED "[unsupported frame]" /* a rule that the unwind tables cannot hold */
#define MARK_STUCK "[stuck unwinding]" /* the next frame lay no further out */
#define MARK_LOST "[no frame pointer]" /* and no unwind table either */
#define MARK_UNKNOWN "[stack not copied]" /* of a process that the kernel side did not know yet */
#define MARK_UNMAPPED "[unknown mapping]" /* the CPU was in code that we know nothing of */
#define MARK_INVISIBLE "[other pid namespace]" /* the agent cannot see the process */
#define MARK_PROCESS_GONE "[process gone]" /* ended before it could be looked at */
#define MARK_NO_STACK "[no stack]" /* neither part gave a frame */

struct resolver { /* one, reused: the result of a call points into it */
    struct processes *processes;
    struct kernel_symbols *kernel;
    struct resolved_frame frames[RESOLVE_FRAMES_MAX];
    uint32_t frame_count;
    char names[RESOLVE_FRAMES_MAX][RESOLVE_NAME_MAX]; /* of frames in code without an identity */
    char comm[ABI_COMM_BYTES + 1], thread[ABI_COMM_BYTES + 1]; /* as valid UTF-8 */
};

/* Until the next call, and until the process table changes. */
struct resolved_sample resolve(struct resolver *r, const struct sample *sample);

#endif
