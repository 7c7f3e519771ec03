/* dictionary_edit - the writer's side of the dictionary: adding content inside a catalog
 * transaction. Writer thread only. What was added since the last publish can be taken back whole.
 */
#ifndef COORDINATOR_STORE_DICTIONARY_EDIT_H
#define COORDINATOR_STORE_DICTIONARY_EDIT_H

#include "coordinator/store/dictionary.h"
#include "coordinator/store/lmdb.h"

/* The dictionary's tables in the catalog, in this order. */
enum dictionary_kind {
    DICTIONARY_STRINGS,
    DICTIONARY_BINARIES,
    DICTIONARY_FRAMES,
    DICTIONARY_NODES,
    DICTIONARY_KINDS
};

enum status dictionary_new(const lmdb_table tables[DICTIONARY_KINDS],
                           const struct dictionary_limits *limits, struct dictionary **out);
void dictionary_free(struct dictionary *d);
/* Reads everything back. ST_INVALID: the ids have a gap or an entry is malformed. */
enum status dictionary_load(struct dictionary *d, struct lmdb_txn *t);

/* The id of the content, new or not. ST_FULL: at its limit; or LMDB's. */
enum status dictionary_add_string(struct dictionary *d, struct lmdb_txn *t, const char *text,
                                  uint32_t *out);
enum status dictionary_add_binary(struct dictionary *d, struct lmdb_txn *t,
                                  const struct chunk_binary *binary, uint32_t *out);
enum status dictionary_add_frame(struct dictionary *d, struct lmdb_txn *t,
                                 const struct chunk_frame *frame, uint32_t *out);
enum status dictionary_add_node(struct dictionary *d, struct lmdb_txn *t, struct chunk_node node,
                                uint32_t *out);

void dictionary_publish(struct dictionary *d); /* after the catalog's commit */
void dictionary_rollback(struct dictionary *d); /* after a failed one */
uint32_t dictionary_count(const struct dictionary *d, enum dictionary_kind kind); /* published */

#endif
