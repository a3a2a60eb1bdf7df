/*
 * peers.h
 *		Structures that count frequent keys, behind one table: those of other papers,
 *		written plainly for comparison, and ours.
 *
 * All have the same input and the same number of bytes.  Bytes count everything that a
 * structure needs to go on counting and to answer: counters, fingerprints, keys of 8
 * bytes, and the hash table through which keys are found (peers_list.h).  Not counted
 * are headers of a fixed size and what is only needed while a batch is added.
 *
 * The references are for measuring: plain, with counters of 4 bytes, so that the total
 * weight must stay below 2^32.  All can be given weights here, also where the original
 * takes none.
 *
 * bench/peers.h
 */
#ifndef QS_BENCH_PEERS_H
#define QS_BENCH_PEERS_H

#include "peers_data.h"
#include "sketch/cells.h"
#include "workload.h"

/* A key that a structure names, and what it says of the key's weight. */
typedef struct peer_entry
{
	uint64_t key;
	int64_t lower;    /* a certain lower bound; 0 where there is none */
	int64_t estimate; /* by which the structure orders its keys */
} peer_entry;

/* What to make. */
typedef struct peer_order
{
	uint64_t bytes;
	uint32_t keys; /* how many of the most frequent keys are asked for; 0: none */
	uint64_t seed;
	const stream *input; /* by which multilevel divides its bytes among low and high buckets */
	bool
		low; /* multilevel: the bytes are those of its low buckets, and the high ones come beside */
} peer_order;

typedef struct peer_kind
{
	const char *name;
	const char *merges;             /* "yes", "no", or how far */
	const char *weights;            /* does it take weights? */
	const char *removes;            /* does it take removals? */
	uint32_t depth;                 /* counters of a key, where the structure leaves a choice */
	const struct peer_kind *within; /* the sketch beside which a list is */

	void *(*make)(const struct peer_kind *kind, const peer_order *order);
	void (*add)(void *peer, const uint64_t *key, const int64_t *weight, size_t count);
	int64_t (*estimate)(const void *peer, uint64_t key);

	/* Add what another one of the same order has counted; NULL: there is no way. */
	void (*merge)(void *into, const void *from);

	/* All rows have been added; NULL: nothing to do. */
	void (*ready)(void *peer);

	/* Write the keys that it names, at most so many as PEER_ENTRIES; NULL: it names none. */
	uint32_t (*list)(void *peer, peer_entry *entry);

	/* What no key that is not listed can exceed; NULL: nothing is certain. */
	int64_t (*bound)(const void *peer);

	uint64_t (*bytes)(const void *peer);

	/*
	 * Write what has to be stored, which is all but what can be made anew, as hash tables are;
	 * free() it.  NULL: its stored bytes are not compared.
	 */
	uint8_t *(*write)(void *peer, size_t *size);
	bool compact; /* written compactly by itself, and not compressed by PostgreSQL */
	void (*free)(void *peer);
} peer_kind;

/* No structure of the sizes that are compared names more keys. */
#define PEER_ENTRIES (1 << 18)

/* Count-Min with conservative update (Estan and Varghese 2002). */
extern const peer_kind peer_conservative;

/* Count sketch (Charikar, Chen and Farach-Colton 2002). */
extern const peer_kind peer_count_sketch;

/* Count-Min with counters that merge with their neighbours, plain and conservative. */
extern const peer_kind peer_salsa;
extern const peer_kind peer_salsa_conservative;

/* Space-Saving (Metwally, Agrawal and El Abbadi 2005). */
extern const peer_kind peer_space_saving;

/* Counters of which the smaller half is dropped, as PostgreSQL's topn does. */
extern const peer_kind peer_topn;

/* Ours. */
extern const peer_kind peer_thread;
extern const peer_kind peer_multilevel_3;
extern const peer_kind peer_multilevel_4;
extern const peer_kind peer_multilevel_5;

/* The same answering with the unbiased estimate, rounded, within 0 and the minimum. */
extern const peer_kind peer_thread_unbiased;
extern const peer_kind peer_multilevel_unbiased;

/* With the most frequent keys, beside a multilevel or a thread sketch. */
extern const peer_kind peer_qtop;
extern const peer_kind peer_qtop_thread;

/* Sketches with a list of the keys that had the largest estimates. */
extern const peer_kind peer_listed_thread;
extern const peer_kind peer_listed_conservative;
extern const peer_kind peer_listed_count_sketch;
extern const peer_kind peer_listed_salsa;
extern const peer_kind peer_listed_salsa_conservative;

/* ---- rows of counters, as several peers have them ---- */

/* The place of a key in row "row" of "width" counters. */
static inline uint64_t
peer_cell(uint64_t key, uint64_t seed, uint32_t row, uint64_t width)
{
	return qs_row_cell(qb_hash(key, qb_seed_key(seed)), row, width);
}

/* ---- use: peers_measure.c ---- */

/* How many bytes structures get. */
typedef struct peer_size
{
	const char *name;
	uint64_t bytes;
} peer_size;

#define PEER_SIZES 6

extern const peer_size peer_sizes[PEER_SIZES];

/* Make a structure and add its input. */
extern void *peer_fill(const peer_kind *kind, const peer_order *order);

/* The same in equal parts, one after the other, which are merged. */
extern void *peer_fill_parts(const peer_kind *kind, const peer_order *order, uint32_t parts);

/* Absolute errors of the estimates of some keys. */
typedef struct peer_errors
{
	uint32_t keys;
	double mean;
	int64_t median;
	int64_t most_of; /* 99 % of the keys have at most this */
	int64_t worst;
} peer_errors;

/* Those of the input's keys from number "from" to before "to"; the most frequent is 0. */
extern peer_errors
peer_measure(const peer_kind *kind, const void *peer, const stream *s, uint32_t from, uint32_t to);

/*
 * Those of all keys with some seeds, not the order's: means, and the median of the worst ones.
 * Checks that no structure has more bytes than the order gives it.
 */
extern peer_errors peer_over_seeds(const peer_kind *kind, const peer_order *order);

/* Write mean / 99 % / worst. */
extern void peer_write_errors(FILE *out, const peer_errors *e);

/* The number of keys with weight of at least "least"; they are the first. */
extern uint32_t peer_keys_from(const stream *s, int64_t least);

/*
 * The keys that a structure names, by their estimates, the largest first.  *entries is
 * their number; free() them.
 */
extern peer_entry *peer_named(const peer_kind *kind, void *peer, uint32_t *entries);

/*
 * How many of the first k keys named are among the k most frequent keys.  Keys that are as frequent as
 * the k-th count as among them.
 */
extern uint32_t peer_right(const stream *s, const peer_entry *entry, uint32_t entries, uint32_t k);

/* The weight of a key in the stream; 0: it is not there. */
extern int64_t peer_truth(const stream *s, uint64_t key);

/* ---- the tables of docs/engineering/accuracy.md ---- */

/* Most frequent keys, and what is promised of them: peers_top.c. */
extern void peers_top(const stream *zipf);

/* Equal bytes stored in PostgreSQL: peers_stored.c.  Also puts the mean errors into "mean". */
extern void peers_stored(const stream *s, const peer_kind *const *kinds, size_t count,
						 double (*mean)[PEER_SIZES]);

/* Merged of parts: peers_merged.c. */
extern void peers_merged(const stream *s);

/* Against the papers: peers_papers.c. */
extern void peers_papers(void);

#endif
