/*
 * peers_list.h
 *		Keys with their counts: the least count is known, and any key is found by a hash table.
 *
 * Arrays of keys, of counts and perhaps of their errors form a heap with the least count
 * first.  A hash table has their positions.  It has two slots for each key, and is at most
 * half full.  A key and its count take 8 + 4 bytes, its error 4, and its slots 8.  This is
 * about the least with which a key is found in constant time.
 *
 * bench/peers_list.h
 */
#ifndef QS_BENCH_PEERS_LIST_H
#define QS_BENCH_PEERS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_LIST_BYTES  20 /* for each key */
#define PEER_ERROR_BYTES 4  /* for its error */

typedef struct peer_list
{
	uint32_t room;
	uint32_t used;
	uint64_t *key;
	uint32_t *count;
	uint32_t *error; /* NULL: errors are not kept */
	uint32_t *slot;  /* 1 + position, or 0 */
} peer_list;

/* Make an empty list for at most "room" keys; release it with peer_list_free(). */
extern void peer_list_init(peer_list *list, uint32_t room, bool errors);
extern void peer_list_free(peer_list *list);
extern uint64_t peer_list_bytes(const peer_list *list);

/* The position of a key, valid until the list changes; -1: the key is not in the list. */
extern int64_t peer_list_find(const peer_list *list, uint64_t key);

/* Change the count at a position. */
extern void peer_list_set(peer_list *list, uint32_t at, uint32_t count);

/* Add a key that is not in the list, which must not be full. */
extern void peer_list_add(peer_list *list, uint64_t key, uint32_t count, uint32_t error);

/* Keep the "room" keys with the largest counts, and shrink the list to this size. */
extern void peer_list_shrink(peer_list *list, uint32_t room);

/* Remove the key with the least count, which is at position 0. */
extern void peer_list_drop_least(peer_list *list);

static inline bool
peer_list_full(const peer_list *list)
{
	return list->used == list->room;
}

/* ---- for structures that are a list, or begin with one and have no other memory ---- */

/* The count of a key; 0: it is not in the list. */
extern int64_t peer_bare_estimate(const void *list, uint64_t key);
extern uint64_t peer_bare_bytes(const void *list);

/*
 * Write all counts, then all errors, then all keys, with the smallest count first.  Counts compress well in
 * this way, and PostgreSQL gives up if the first kilobyte does not.  The hash table is made anew.  The
 * caller calls free().
 */
extern uint8_t *peer_bare_write(void *list, size_t *size);
extern void peer_bare_free(void *list);

#endif
