/* chunk - the samples of one profiler over one window, with everything needed to weigh them.
 *
 * A chunk is info + dictionary + samples. The dictionary holds the strings, binaries, frames and
 * the prefix tree of stacks that the samples point to by index. In the store the same chunk has an
 * empty dictionary and its indexes are the store's dense ids: one codec serves both (enum
 * chunk_form).
 *
 * A chunk has exactly one period: a rate change ends it and starts the next.
 * The bytes are zstd over msgpack; schemas/README.md has the layout, tests/unit the golden bytes.
 * Values only: no I/O, no clock, any thread. */
#ifndef COMMON_CHUNK_H
#define COMMON_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compress.h"
#include "common/event.h"
#include "common/id.h"
#include "common/ledger.h"
#include "common/status.h"
#include "common/walks.h"

enum {
    CHUNK_PACKED_MAX = 4 << 20, /* bytes on the wire: 20 x the largest real chunk seen */
    CHUNK_PLAIN_MAX = 32 << 20, /* bytes after zstd */
    CHUNK_STRINGS_MAX = 1 << 18,
    CHUNK_STRING_BYTES_MAX = 4096, /* one string; longer ones are cut by the agent */
    CHUNK_BINARIES_MAX = 1 << 14,
    CHUNK_FRAMES_MAX = 1 << 20,
    CHUNK_NODES_MAX = 1 << 20,
    CHUNK_PROCESSES_MAX = 1 << 16,
    CHUNK_THREADS_MAX = 1 << 17,
    CHUNK_LABELS_MAX = 1 << 18, /* over all processes of the chunk */
    CHUNK_SAMPLES_MAX = 1 << 20, /* 512 CPUs x 199 Hz x 10 s */
    CHUNK_DEPTH_MAX = 512, /* frames in a stack: 127 user, 127 kernel, and room */
    CHUNK_TICK_NS = 100000, /* resolution of a sample's time */
    CHUNK_CPUS_MAX = 8192, /* the most that Linux can be built for */
    /* What a CPU chunk's ledger may expect: SLACK x cpus x window / period + SPARE. CPUs come and
     * go within a window, and samples wait in the kernel while a short window is cut. */
    CHUNK_EXPECTED_SLACK = 2,
    CHUNK_EXPECTED_SPARE = 1000, /* samples */
};
#define CHUNK_WINDOW_MAX_NS (600 * NS_PER_S)
#define CHUNK_PERIOD_MAX_NS (600 * NS_PER_S)
#define CHUNK_INCLUSION_MIN 1e-6 /* keeps weights finite */
#define CHUNK_NO_PARENT UINT32_MAX /* a root node's parent; also "no string", "no binary" */

/* number, NAME, what it is. Numbers are on the wire and in the store. */
#define FRAME_KIND_LIST(X)                                     \
    X(1, NATIVE, "file offset in a user-space binary")         \
    X(2, KERNEL, "offset from _text in a kernel image")        \
    X(3, NAMED, "named on the host: JIT code, kernel modules") \
    X(4, MARK, "synthetic: says why a stack is cut or has no frames")

enum frame_kind {
#define X(number, NAME, help) FRAME_##NAME = (number),
    FRAME_KIND_LIST(X)
#undef X
};

struct chunk_info {
    struct id128 profiler;
    uint64_t sequence; /* from 1, without gaps, within the profiler */
    uint64_t incarnation; /* the agent life that took the samples */
    bool final; /* the profiler's last chunk */
    struct mono start, end; /* the window on the host's monotonic clock */
    struct wall wall_start; /* the host's wall clock at `start` */
    int64_t clock_offset_ns; /* add to the host's wall clock to get the coordinator's */
    enum event event;
    uint64_t period_ns; /* CPU (or waiting) time between two samples */
    double inclusion; /* probability that this host and window were sampled: (0, 1] */
    uint32_t cpus; /* on line and sampled */
    struct ledger ledger;
    struct agent_cost cost; /* of the agent over this window */
    struct walks walks; /* of the delivered samples, as far as their ends are known */
};

struct chunk_binary {
    struct build_id id;
    uint32_t path; /* string: as the process saw it; "[kernel]", "[vdso]" */
};

struct chunk_frame {
    enum frame_kind kind;
    uint32_t binary; /* NATIVE, KERNEL; else CHUNK_NO_PARENT */
    uint32_t name; /* string: NAMED, MARK; else CHUNK_NO_PARENT */
    uint64_t offset; /* NATIVE: in the file; KERNEL: from _text; else 0 */
};

struct chunk_node { /* one frame in its calling context; a stack is its leaf node */
    uint32_t parent; /* an earlier node, or CHUNK_NO_PARENT: outermost frame */
    uint32_t frame;
};

struct chunk_dictionary {
    char **strings; /* one allocation each table; texts point into `text` */
    struct chunk_binary *binaries;
    struct chunk_frame *frames;
    struct chunk_node *nodes; /* parents before children */
    uint32_t string_count, binary_count, frame_count, node_count;
    char *text;
};

struct chunk_label {
    uint32_t key, value; /* strings */
};

struct chunk_process {
    uint32_t pid; /* in the host's root pid namespace */
    uint32_t comm;
    uint64_t start_ns; /* since boot: pid and start name a process for good */
    /* In samples.labels, which lie process by process: a process's first label follows the last of
     * the process before, none is shared and none is left over. At most LABELS_MAX each. */
    uint32_t first_label, label_count;
};

struct chunk_thread {
    uint32_t process, tid, name;
};

struct chunk_group { /* samples of one thread that share a stack */
    uint32_t leaf; /* node */
    uint32_t thread;
    uint32_t count; /* at least 1 */
};

struct chunk_samples {
    struct chunk_label *labels;
    struct chunk_process *processes;
    struct chunk_thread *threads;
    struct chunk_group *groups;
    uint32_t *ticks; /* of every sample, group by group, ascending within a group, from `start` */
    uint32_t label_count, process_count, thread_count, group_count;
    uint32_t sample_count; /* sum of the groups' counts */
};

struct chunk {
    struct chunk_info info;
    struct chunk_dictionary dictionary;
    struct chunk_samples samples;
};

enum chunk_form {
    CHUNK_WIRE, /* indexes point into the chunk's dictionary and are checked against it */
    CHUNK_STORED, /* no dictionary; string and node indexes are the store's ids, checked by it */
};

/* The window in the coordinator's clock. */
struct wall chunk_wall_start(const struct chunk_info *info);
struct wall chunk_wall_end(const struct chunk_info *info);

/* ns that one sample stands for: period / inclusion x (delivered + lost) / delivered. */
double chunk_sample_weight(const struct chunk_info *info);

/* The most samples that the window can be expected to hold, of info within the limits above.
 * Without bound off CPU: any number of threads wait at once. */
uint64_t chunk_expected_max(const struct chunk_info *info);

/* ST_TOO_BIG: over CHUNK_PLAIN_MAX, CHUNK_PACKED_MAX or a table's limit; ST_INVALID: breaks a rule
 * that chunk_decode checks. CHUNK_STORED leaves the dictionary out. `out` owns its bytes. */
enum status chunk_encode(const struct chunk *c, enum chunk_form form, struct blob *out);

/* Decodes and checks everything: limits, every index, ascending ticks within the window, counts
 * that add up, a ledger that balances and can be, delivered = samples, no more walks than samples.
 * ST_INVALID, ST_TOO_BIG, ST_UNSUPPORTED (newer layout); `out` is untouched then, and `why` (static
 * text, may be NULL) names the rule broken. */
enum status chunk_decode(struct slice bytes, enum chunk_form form, struct chunk *out,
                         const char **why);

/* Only the info, for those who need no samples; as strict about it as chunk_decode. */
enum status chunk_decode_info(struct slice bytes, struct chunk_info *out);

/* What is left to tell of a chunk whose samples cannot be kept: the same window and sequence, the
 * samples lost by LOSS_SPOOL. ST_INVALID...: not a chunk; ST_NOMEM. `out` owns its bytes. */
enum status chunk_epitaph(struct slice bytes, struct blob *out);

void chunk_deinit(struct chunk *c); /* frees what chunk_decode or a builder allocated */

#endif
