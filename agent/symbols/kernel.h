/* kernel - the running kernel's identity and symbols, from /sys/kernel/notes and /proc/kallsyms.
 * Frames of the core image leave the host as (kernel build id, offset from _text); code in modules
 * and BPF programs moves, so it is named here. Loop thread only, but for what says otherwise. */
#ifndef AGENT_SYMBOLS_KERNEL_H
#define AGENT_SYMBOLS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "common/status.h"
#include "common/symtab.h"

struct kernel_symbols; /* opaque */

struct kernel_frame {
    bool in_image;
    uint64_t offset; /* in_image: from _text; else the address itself */
    const char *name; /* not in_image: "function [module]", or NULL when unknown; until refresh */
};

/* kptr_restrict or a missing file is no failure: addresses then resolve to nothing, and
 * kernel_degraded says why. */
enum status kernel_symbols_open(struct kernel_symbols **out);
void kernel_symbols_close(struct kernel_symbols *k);
const struct build_id *kernel_build_id(const struct kernel_symbols *k);
struct kernel_frame kernel_resolve(struct kernel_symbols *k, uint64_t address);
/* Reads the addresses of modules and BPF programs again if one was unknown since the last reading;
 * cheap otherwise. Call it once a window. Names given out before are gone after it. */
enum status kernel_symbols_refresh(struct kernel_symbols *k);
/* The kernel shows or hides addresses by the rights of who opens, whoever then reads. */
enum status kernel_open_kallsyms(int *out);
/* Any thread. The core image's functions by offset from _text; empty when addresses are hidden. The
 * descriptor is lent. */
enum status kernel_symtab(int kallsyms, struct symtab *out);
const char *kernel_degraded(const struct kernel_symbols *k); /* NULL: all is well */

#endif
