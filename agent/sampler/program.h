/* program - the loaded eBPF program: its ring buffer, its counters, and what the kernel says about
 * its runs. This file and the loader know libbpf. Loop thread only. */
#ifndef AGENT_SAMPLER_PROGRAM_H
#define AGENT_SAMPLER_PROGRAM_H

#include <stdint.h>

#include "agent/sampler/sampler.h"
#include "common/status.h"

struct program; /* opaque */
struct loader_options;
struct loaded;

enum status program_open(const struct loader_options *options, struct program **out,
                         char why[SAMPLER_WHY_MAX]);
void program_close(struct program *p); /* NULL is fine */

int program_fd(const struct program *p); /* until program_close */
struct sampler_maps program_maps(const struct program *p);
void program_use_tables(struct program *p, bool on);
const struct loaded *program_loaded(const struct program *p);
void program_drain(struct program *p, void (*visit)(void *arg, const struct sample *sample),
                   void *arg);
/* Fills in counts, kernel_missed, bpf_ns, bpf_runs, verified_instructions and map_bytes. */
void program_read_counters(const struct program *p, struct sampler_counters *out);

#endif
