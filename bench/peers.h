/*
 * peers.h
 *		Structures that count frequent keys, behind one table: those of other papers,
 *		written plainly for comparison, and ours.
 *
 * All have the same input and the same number of bytes.  These include everything that a
 * structure needs to go on counting and to answer: counters, fingerprints, keys of 8 bytes,
 * and the hash table through which keys are found (peers_list.h).  They do not include
 * headers of a fixed size, and memory that is only needed while a batch is added.
 *
 * The references are for measurements.  They are plain, with counters of 4 bytes, so the total
 * weight must stay below 2^32.  Here all of them take weights, even if the original does not.
 *
 * bench/peers.h
 */
#ifndef QS_BENCH_PEERS_H
#define QS_BENCH_PEERS_H

#include "peers_data.h"
#include "sketch/cells.h"
#include "workload.h"

/* A key that a structure names, and what the structure says about its weight. */
typedef struct peer_entry
{
	uint64_t key;
	int64_t lower;    /* a certain lower bound; 0 where there is none */
	int64_t estimate; /* the structure orders its keys by this */
} peer_entry;

/* The structure to be made. */
typedef struct peer_order
{
	uint64_t bytes;
	uint32_t keys; /* number of most frequent keys to be named; 0: none */
	uint64_t seed;
	const stream *input; /* tells multilevel and Sublime how to divide their bytes */
	bool
		low; /* multilevel: the bytes are those of its low buckets, and the high ones come beside */
} peer_order;

typedef struct peer_kind
{
	const char *name;
	const char *merges;             /* "yes", "no", or how far */
	const char *weights;            /* whether it takes weights */
	const char *removes;            /* whether it takes removals */
	uint32_t depth;                 /* counters of a key, if the structure leaves a choice */
	const struct peer_kind *within; /* the sketch beside which the structure has a list */

	void *(*make)(const struct peer_kind *kind, const peer_order *order);
	void (*add)(void *peer, const uint64_t *key, const int64_t *weight, size_t count);
	int64_t (*estimate)(const void *peer, uint64_t key);

	/* Add everything that another structure of the same order has counted; NULL: this is impossible. */
	void (*merge)(void *into, const void *from);

	/* Called after all rows have been added; NULL: there is nothing to do. */
	void (*ready)(void *peer);

	/* Write the keys that it names, at most PEER_ENTRIES; NULL: it names none. */
	uint32_t (*list)(void *peer, peer_entry *entry);

	/* No key that is not listed exceeds this bound; NULL: there is no certain bound. */
	int64_t (*bound)(const void *peer);

	uint64_t (*bytes)(const void *peer);

	/*
	 * Write the bytes that must be stored: all except those that can be made anew, like hash tables.
	 * The caller calls free().  NULL: stored bytes are not compared.
	 */
	uint8_t *(*write)(void *peer, size_t *size);
	bool compact; /* written compactly by itself, and not compressed by PostgreSQL */
	void (*free)(void *peer);
} peer_kind;

/* In the sizes that are compared, no structure names more keys. */
#define PEER_ENTRIES (1 << 18)

/* Count-Min with conservative update (Estan and Varghese 2002). */
extern const peer_kind peer_conservative;

/* Count sketch (Charikar, Chen and Farach-Colton 2002). */
extern const peer_kind peer_count_sketch;

/* Count-Min with counters that merge with their neighbours, plain and conservative. */
extern const peer_kind peer_salsa;
extern const peer_kind peer_salsa_conservative;

/* Count-Min with short counters that extend within a cache line. */
extern const peer_kind peer_sublime;

/* Space-Saving (Metwally, Agrawal and El Abbadi 2005). */
extern const peer_kind peer_space_saving;

/* Counters of which the smaller half is dropped, as PostgreSQL's topn does. */
extern const peer_kind peer_topn;

/* Ours. */
extern const peer_kind peer_thread;
extern const peer_kind peer_multilevel_3;
extern const peer_kind peer_multilevel_4;
extern const peer_kind peer_multilevel_5;

/* Our structures, answering with the unbiased estimate, rounded and clipped to 0 and the minimum. */
extern const peer_kind peer_thread_unbiased;
extern const peer_kind peer_multilevel_unbiased;

/* Lists of the most frequent keys, beside a multilevel or a thread sketch. */
extern const peer_kind peer_qtop;
extern const peer_kind peer_qtop_thread;

/* Sketches with a list of the keys that had the largest estimates. */
extern const peer_kind peer_listed_thread;
extern const peer_kind peer_listed_conservative;
extern const peer_kind peer_listed_count_sketch;
extern const peer_kind peer_listed_salsa;
extern const peer_kind peer_listed_salsa_conservative;

/* ---- rows of counters, for the structures that have them ---- */

/* The place of a key in row "row" of "width" counters. */
static inline uint64_t
peer_cell(uint64_t key, uint64_t seed, uint32_t row, uint64_t width)
{
	return qs_row_cell(qb_hash(key, qb_seed_key(seed)), row, width);
}

/* ---- use: peers_measure.c ---- */

/* Bytes that structures get. */
typedef struct peer_size
{
	const char *name;
	uint64_t bytes;
} peer_size;

#define PEER_SIZES 6

extern const peer_size peer_sizes[PEER_SIZES];

/* Make a structure and add its input. */
extern void *peer_fill(const peer_kind *kind, const peer_order *order);

/* Make structures of equal shards of the input, and merge them one after the other. */
extern void *peer_fill_shards(const peer_kind *kind, const peer_order *order, uint32_t shards);

/* Absolute errors of the estimates of some keys. */
typedef struct peer_errors
{
	uint32_t keys;
	double mean;
	int64_t median;
	int64_t most_of; /* 99 % of the keys have at most this error */
	int64_t worst;
} peer_errors;

/* Errors of the input's keys from number "from" to before "to"; number 0 is the most frequent key. */
extern peer_errors
peer_measure(const peer_kind *kind, const void *peer, const stream *s, uint32_t from, uint32_t to);

/*
 * Errors of all keys over some seeds, which replace the order's seed: means, and the median of the worst
 * ones.  Checks that no structure takes more bytes than the order gives it.
 */
extern peer_errors peer_over_seeds(const peer_kind *kind, const peer_order *order);

/* Write the errors as mean / 99 % / worst. */
extern void peer_write_errors(FILE *out, const peer_errors *e);

/* Returns the number of keys with a weight of at least "least"; they are the first keys. */
extern uint32_t peer_keys_from(const stream *s, int64_t least);

/*
 * Returns the keys that a structure names, with the largest estimates first.  *entries gets
 * their number.  The caller calls free().
 */
extern peer_entry *peer_named(const peer_kind *kind, void *peer, uint32_t *entries);

/*
 * Returns how many of the first k named keys are among the k most frequent keys.  Keys that are as
 * frequent as the k-th count as among them.
 */
extern uint32_t peer_right(const stream *s, const peer_entry *entry, uint32_t entries, uint32_t k);

/* The weight of a key in the stream; 0: the stream does not have it. */
extern int64_t peer_truth(const stream *s, uint64_t key);

/* ---- the tables of docs/engineering/accuracy.md ---- */

/* Most frequent keys, and the promises about them: peers_top.c. */
extern void peers_top(const stream *zipf);

/* Equal bytes stored in PostgreSQL: peers_stored.c.  Also stores the mean errors in "mean". */
extern void peers_stored(const stream *s, const peer_kind *const *kinds, size_t count,
						 double (*mean)[PEER_SIZES]);

/* Structures that are merged from shards: peers_merged.c. */
extern void peers_merged(const stream *s);

/* References compared with their papers: peers_papers.c. */
extern void peers_papers(void);

#endif
