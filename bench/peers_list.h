/*
 * peers_list.h
 *		A list of keys with counts: a heap by count, and a hash table by key.
 *
 * Arrays of keys, counts and optionally errors form a heap with the least count first.  A hash
 * table has the position of each key.  It has two slots for each key, so at most half of the slots
 * are used.  A key and its count take 8 + 4 bytes, the error 4, and the slots 8.  A list
 * whose search takes constant time hardly needs fewer bytes than this list.
 *
 * bench/peers_list.h
 */
#ifndef QS_BENCH_PEERS_LIST_H
#define QS_BENCH_PEERS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_LIST_BYTES  20 /* bytes of a key, its count and its slots */
#define PEER_ERROR_BYTES 4  /* bytes of an error */

typedef struct peer_list
{
	uint32_t room;
	uint32_t used;
	uint64_t *key;
	uint32_t *count;
	uint32_t *error; /* NULL: the list has no errors */
	uint32_t *slot;  /* 1 + position, or 0 */
} peer_list;

/* Make an empty list for at most "room" keys; release it by peer_list_free(). */
extern void peer_list_init(peer_list *list, uint32_t room, bool errors);
extern void peer_list_free(peer_list *list);
extern uint64_t peer_list_bytes(const peer_list *list);

/* Return the position of a key, valid until the list changes; -1: the list lacks the key. */
extern int64_t peer_list_find(const peer_list *list, uint64_t key);

extern void peer_list_set(peer_list *list, uint32_t at, uint32_t count);

/* Add a key that the list lacks.  The list must not be full. */
extern void peer_list_add(peer_list *list, uint64_t key, uint32_t count, uint32_t error);

/* Drop all keys but the "room" keys with the largest counts, and shrink the list to this size. */
extern void peer_list_shrink(peer_list *list, uint32_t room);

/* Remove the key with the least count, which is at position 0. */
extern void peer_list_drop_least(peer_list *list);

static inline bool
peer_list_full(const peer_list *list)
{
	return list->used == list->room;
}

/* ---- for structures that are a list, or begin with a list and have no other memory ---- */

/* Return the count of a key; 0: the list lacks the key. */
extern int64_t peer_bare_estimate(const void *list, uint64_t key);
extern uint64_t peer_bare_bytes(const void *list);

/*
 * Write all counts, then all errors, then all keys, with the smallest count first.  Counts compress
 * well in this order, and PostgreSQL compresses only values whose first kilobyte compresses.  The
 * hash table is not written.  The caller frees the result.
 */
extern uint8_t *peer_bare_write(void *list, size_t *size);
extern void peer_bare_free(void *list);

#endif
