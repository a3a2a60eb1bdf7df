/*
 * peers.h
 *		A common interface to structures that count frequent keys, of other papers and of qsketch.
 *
 * All structures have the same input and the same number of bytes.  The bytes include everything
 * that a structure needs to count more rows and to answer: counters, fingerprints, keys of 8 bytes,
 * and the hash table that finds keys (peers_list.h).  The bytes do not include headers of fixed
 * size or memory that is only used while a batch is added.  A qtop's bytes are the bytes of its
 * tables and of its stored entries (peers_ours.c).
 *
 * The structures of other papers are plain references for measurements, with counters of at most 4
 * bytes, so the total weight must be less than 2^32.  All of these references accept weights, even
 * if the original does not.
 *
 * bench/peers.h
 */
#ifndef QS_BENCH_PEERS_H
#define QS_BENCH_PEERS_H

#include "peers_data.h"
#include "sketch/cells.h"
#include "workload.h"

/* A key that a structure names, with its bound and estimate. */
typedef struct peer_entry
{
	uint64_t key;
	int64_t lower;    /* a guaranteed lower bound; 0: the structure has none */
	int64_t estimate; /* the estimate by which the structure orders its keys */
} peer_entry;

/* A request for a structure. */
typedef struct peer_order
{
	uint64_t bytes;
	uint32_t keys; /* number of most frequent keys that the structure must name; 0: none */
	uint64_t seed;
	const stream *input; /* the rows; multilevel and Sublime choose their layout by them */
	bool low;            /* multilevel: "bytes" are for low buckets only */
} peer_order;

typedef struct peer_kind
{
	const char *name;
	const char *merges;             /* whether it merges: "yes", "no", or a qualification */
	const char *weights;            /* whether it accepts weights */
	const char *removes;            /* whether it accepts removals */
	uint32_t depth;                 /* number of counters of a key, if the structure has a choice */
	const struct peer_kind *within; /* the sketch to which the structure adds a list */

	void *(*make)(const struct peer_kind *kind, const peer_order *order);
	void (*add)(void *peer, const uint64_t *key, const int64_t *weight, size_t count);
	int64_t (*estimate)(const void *peer, uint64_t key);

	/* Add all counts of another structure that was made for the same order; NULL: impossible. */
	void (*merge)(void *into, const void *from);

	/* Called after all rows were added; NULL: nothing to do. */
	void (*ready)(void *peer);

	/* Write the keys that the structure names, at most PEER_ENTRIES; NULL: it names none. */
	uint32_t (*list)(void *peer, peer_entry *entry);

	/* Return an upper bound of the weight of any unlisted key; NULL: no bound is guaranteed. */
	int64_t (*bound)(const void *peer);

	uint64_t (*bytes)(const void *peer);

	/*
	 * Write the bytes that must be stored.  Data that can be recomputed, like hash tables, are not
	 * stored.  The caller frees the result.  NULL: stored bytes are not compared.
	 */
	uint8_t *(*write)(void *peer, size_t *size);
	bool compact; /* true: the written bytes are compact, and PostgreSQL does not compress them */
	void (*free)(void *peer);
} peer_kind;

/* The greatest number of keys that any structure names, in the compared sizes. */
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

/* Counts of keys; drops the half with the smaller counts, like PostgreSQL's extension topn. */
extern const peer_kind peer_topn;

/* Structures of qsketch. */
extern const peer_kind peer_thread;
extern const peer_kind peer_multilevel_3;
extern const peer_kind peer_multilevel_4;
extern const peer_kind peer_multilevel_5;

/*
 * Structures of qsketch that answer with the unbiased estimate, rounded and clipped to the range
 * from 0 to the minimum.
 */
extern const peer_kind peer_thread_unbiased;
extern const peer_kind peer_multilevel_unbiased;

/* Lists of the most frequent keys with a multilevel or a thread sketch. */
extern const peer_kind peer_qtop;
extern const peer_kind peer_qtop_thread;

/* Sketches with a list of the keys that had the largest estimates. */
extern const peer_kind peer_listed_thread;
extern const peer_kind peer_listed_conservative;
extern const peer_kind peer_listed_count_sketch;
extern const peer_kind peer_listed_salsa;
extern const peer_kind peer_listed_salsa_conservative;

/* ---- rows of counters ---- */

/* Return the position of a key in row "row", which has "width" counters. */
static inline uint64_t
peer_cell(uint64_t key, uint64_t seed, uint32_t row, uint64_t width)
{
	return qs_row_cell(qb_hash(key, qb_seed_key(seed)), row, width);
}

/* ---- measuring: peers_measure.c ---- */

/* A number of bytes, with its name in tables. */
typedef struct peer_size
{
	const char *name;
	uint64_t bytes;
} peer_size;

#define PEER_SIZES 6

extern const peer_size peer_sizes[PEER_SIZES];

/* Make a structure and add all rows of its input. */
extern void *peer_fill(const peer_kind *kind, const peer_order *order);

/*
 * Make a structure of each of "shards" equal shards of the input, and merge the structures in
 * order.
 */
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

/*
 * Return the errors of the input's keys number "from" to "to" - 1; key 0 is the most frequent key.
 */
extern peer_errors
peer_measure(const peer_kind *kind, const void *peer, const stream *s, uint32_t from, uint32_t to);

/*
 * Return errors of all keys over several seeds, which replace order->seed.  "mean" and "most_of"
 * are means, "worst" is a median, and other members are 0.  Checks that no structure exceeds
 * order->bytes, unless order->low is set.
 */
extern peer_errors peer_over_seeds(const peer_kind *kind, const peer_order *order);

/* Write the mean error, the error of 99 % of the keys, and the worst error. */
extern void peer_write_errors(FILE *out, const peer_errors *e);

/* Return the number of keys with a weight of at least "least"; these are the first keys. */
extern uint32_t peer_keys_from(const stream *s, int64_t least);

/*
 * Return the keys that a structure names, with the largest estimates first, and set *entries to
 * their number.  The caller frees the result.
 */
extern peer_entry *peer_named(const peer_kind *kind, void *peer, uint32_t *entries);

/*
 * Return how many of the first k named keys are among the k most frequent keys.  Keys as frequent
 * as the k-th key count, too.
 */
extern uint32_t peer_right(const stream *s, const peer_entry *entry, uint32_t entries, uint32_t k);

/* Return the weight of a key in the stream; 0: the stream lacks the key. */
extern int64_t peer_truth(const stream *s, uint64_t key);

/* ---- the parts of accuracy_peers() ---- */

/* peers_top.c: the most frequent keys, and the bounds of their weights. */
extern void peers_top(const stream *zipf);

/*
 * peers_stored.c: structures of equal bytes stored in PostgreSQL.  Sets "mean" to the mean errors.
 */
extern void peers_stored(const stream *s, const peer_kind *const *kinds, size_t count,
						 double (*mean)[PEER_SIZES]);

/* peers_merged.c: structures that are merged from shards. */
extern void peers_merged(const stream *s);

/* peers_papers.c: references compared with their papers. */
extern void peers_papers(void);

#endif
