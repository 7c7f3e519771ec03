/* golden_chunk - one small chunk that has something of everything, as a value and as bytes.
 * The bytes are what agents in the field send and what old stores hold: they do not change. */
#ifndef TESTS_SUPPORT_GOLDEN_CHUNK_H
#define TESTS_SUPPORT_GOLDEN_CHUNK_H

#include "common/chunk.h"

struct chunk golden_chunk(void); /* the caller deinits */

extern const char golden_chunk_plain[]; /* hex: the msgpack of the wire form */
/* hex: a zstd frame of it as agents wrote it that did not tell how walks ended */
extern const char golden_chunk_packed[];

#endif
