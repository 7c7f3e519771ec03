/* map_memory - what eBPF maps take of the kernel's memory. Loop thread only. */
#ifndef AGENT_SAMPLER_MAP_MEMORY_H
#define AGENT_SAMPLER_MAP_MEMORY_H

#include <stdint.h>

struct bpf_object;

/* Bytes; 0 where the kernel does not tell. */
uint64_t map_memory(const struct bpf_object *object); /* of all its maps */
uint64_t map_memory_of(int map_fd);

#endif
