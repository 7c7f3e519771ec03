/* journal - control records on their way into the store, one batch at a time.
 * What is put while a batch is being written waits for the next one, so that a storm of changes
 * costs few commits. A batch that fails is kept and written again. Loop thread only. */
#ifndef COORDINATOR_CONTROL_JOURNAL_H
#define COORDINATOR_CONTROL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"
#include "coordinator/store/store.h"

struct journal; /* opaque */

/* `written` tells of each attempt: of ST_OK once, of a failure as often as it fails. */
enum status journal_new(struct store *store,
                        void (*written)(void *arg, uint64_t batch, enum status st), void *arg,
                        struct journal **out);
/* No batch may be in flight: the store has called every `done`. NULL is fine. */
void journal_free(struct journal *j);

/* Both are copied. ST_TOO_BIG: the key; ST_NOMEM. */
enum status journal_put(struct journal *j, enum store_table table, struct slice key,
                        struct slice value);
enum status journal_delete(struct journal *j, enum store_table table, struct slice key);
/* Takes back what a failed batch, or the open one, would write under the key. */
void journal_withdraw(struct journal *j, enum store_table table, struct slice key);

uint64_t journal_open_batch(const struct journal *j); /* the number of what is put now; from 1 */
bool journal_is_busy(const struct journal *j); /* a batch is in flight, or has failed */
void journal_submit(struct journal *j); /* the open batch, if none is in flight */
void journal_retry(struct journal *j); /* the failed batch, if there is one */

#endif
