/* last_words - what libbpf and the verifier said about a program that they refused. Loop thread
 * only, since libbpf has one voice for the whole process. */
#ifndef AGENT_SAMPLER_LAST_WORDS_H
#define AGENT_SAMPLER_LAST_WORDS_H

#include <stdbool.h>

#include "agent/sampler/sampler.h"
#include "common/status.h"

enum { LAST_WORDS_MAX = SAMPLER_WHY_MAX / 2 };

void last_words_listen(bool on); /* off: as it was before */
void last_words_forget(void); /* before each load */
const char *last_words(void); /* "": nothing was said; until the next load */

/* Of a load that failed with `err`, an errno. */
enum status last_words_explain(int err, char why[SAMPLER_WHY_MAX]);

#endif
