/*
 * builder.h
 *		Makes a collection from rows (set id, element) in any order, by one process or by several.
 *
 * Ids and elements get codes in the order of their first rows (dictionary.h).  A row is stored as
 * its two codes, in eight bytes.  At the end ranks replace the codes, each row's element is put
 * into its set, and each set is sorted.  Collections are merged by building one collection from the
 * rows of all collections.  A merge looks up one code for each distinct element, not for each row.
 *
 * From QSET_COMPACT rows on, duplicates are dropped before the array of rows grows.  So the array
 * has space for at most 4 * (d + n) rows, where d is the number of distinct rows or, if that is
 * more, QSET_COMPACT, and n is the number of rows that one call adds.
 *
 * src/sets/builder.h
 */
#ifndef QSET_BUILDER_H
#define QSET_BUILDER_H

#include "sets/collection.h"
#include "sets/dictionary.h"

/* Number of rows that are added in one batch, so that their table lookups overlap. */
#define QSET_BATCH QSET_DICTIONARY_AT_ONCE

/* From this many rows on, duplicates are dropped before the array of rows grows. */
#define QSET_COMPACT (UINT64_C(1) << 24)

typedef struct qset_builder
{
	qset_dictionary sets;
	qset_dictionary elements;
	uint64_t *row; /* set's code << 32 | element's code */
	uint64_t rows;
	uint64_t room;
	qb_keys keys;
	const qb_memory *memory;
} qset_builder;

/* Make an empty builder.  Allocates no memory. */
extern void
qset_builder_init(qset_builder *b, bool wide, const qb_keys *keys, const qb_memory *memory);
extern void qset_builder_free(qset_builder *b);

/*
 * Add rows.  QB_MISMATCH: "high" is NULL although the builder is wide, or the reverse.  After
 * QB_NO_MEMORY or QB_TOO_MANY the builder can only be freed.
 */
extern qb_status qset_builder_add(qset_builder *b, const int64_t *id, const uint64_t *low,
								  const uint64_t *high, uint64_t rows);

/*
 * Add the rows of a collection.  QB_MISMATCH: the collection has sets, and its width or type of
 * keys differs from the builder's.
 */
extern qb_status qset_builder_add_collection(qset_builder *b, const qset_collection *c);

/*
 * An image is a copy of a builder without pointers, from which another process on this machine
 * continues.  An image has the keys of the codes, then the rows.  Keys and rows are unsorted, so
 * making an image takes no longer than copying.  "image" is aligned to 8 bytes.  Readers trust that
 * qset_builder_write() made the image, and check only its width and type of keys.
 */
extern uint64_t qset_builder_image_bytes(const qset_builder *b);
extern void qset_builder_write(const qset_builder *b, void *image);
extern uint64_t qset_builder_image_rows(const void *image);
extern const qb_keys *qset_builder_image_keys(const void *image, bool *wide);

/*
 * Add the rows of an image.  QB_MISMATCH: the image has sets, and its width or type of keys differs
 * from the builder's.
 */
extern qb_status qset_builder_add_image(qset_builder *b, const void *image);

/*
 * Make a collection of all rows, for runs.c.  The elements of a set are unsorted, and may have
 * duplicates.  The builder does not change.
 */
extern qb_status qset_builder_group(const qset_builder *b, qset_collection *out);

/* Make the collection of all rows.  The builder does not change. */
extern qb_status qset_builder_finish(qset_builder *b, qset_collection *out);

/*
 * ---- runs.c: one collection made of the runs of several processes, shard by shard ----
 *
 * A run has the rows of one builder, grouped by set (qset_builder_group()), in one memory block
 * that all processes can read.  The processes cut the elements and the ids of all runs into shards
 * of about the same size, and each process takes one shard after another:
 *
 *	qset_shard_elements	the distinct elements of a shard, numbered within the shard
 *	qset_shard_number		the elements' numbers among the elements of all shards
 *	qset_shard_sets		the sets of a shard: all their elements, sorted once
 *	qset_runs_join		one process concatenates the shards
 *
 * All processes must finish a step before any process begins the next step.  No process sorts or
 * looks up a row of another process's shard.  The last step only copies.  A set is never divided,
 * so the largest set limits the speedup.
 *
 * Readers trust that qset_run_write() made a block, and check nothing in it.
 */

/* The greatest number of shards. */
#define QSET_MOST_SHARDS 128

typedef struct qset_run
{
	qset_collection rows; /* elements of a set are unsorted, and may have duplicates */
	uint32_t *number;     /* number of each element: first in its shard, later among all elements */
} qset_run;

/*
 * Return the bytes of a block, write a block, and find a block's arrays.  A block is aligned to 8
 * bytes.
 */
extern uint64_t qset_run_bytes(const qset_collection *grouped);
extern void qset_run_write(const qset_collection *grouped, void *block);
extern void qset_run_open(qset_run *run, void *block);

/* The least key of each shard except the first.  Earlier shards have smaller keys. */
typedef struct qset_cuts
{
	uint32_t shards;
	int64_t id[QSET_MOST_SHARDS - 1];
	uint64_t low[QSET_MOST_SHARDS - 1];
	uint64_t high[QSET_MOST_SHARDS - 1];
} qset_cuts;

/* All runs, as each process sees them; all runs have the same width. */
typedef struct qset_runs
{
	const qset_run *run;
	uint32_t count;
	qset_cuts cuts;
	const qb_memory *memory;
} qset_runs;

/*
 * Cut all runs into "shards" shards, by samples of the keys.  Every process computes the same
 * cuts.  QB_MISMATCH: the elements of the runs have different types or widths.  Other error:
 * QB_NO_MEMORY.
 */
extern qb_status qset_runs_cut(qset_runs *runs, uint32_t shards);

/*
 * A shard is a collection whose arrays the caller allocates, with the lengths that
 * qset_shard_room() returns.  offset[] has one entry more than id[].  qset_shard_elements() fills
 * low[], high[] and universe.  qset_shard_sets() fills id[], offset[], rank[], sets and elements.
 * Error: QB_NO_MEMORY.
 */
typedef struct qset_room
{
	uint64_t universe;
	uint64_t sets;
	uint64_t elements;
} qset_room;

extern qset_room qset_shard_room(const qset_runs *runs, uint32_t shard);
extern qb_status qset_shard_elements(const qset_runs *runs, uint32_t shard, qset_collection *out);
extern void qset_shard_number(const qset_runs *runs, uint32_t shard, uint64_t first);
extern qb_status qset_shard_sets(const qset_runs *runs, uint32_t shard, qset_collection *out);

/* Join all shards into one collection.  Errors: QB_NO_MEMORY, QB_TOO_MANY. */
extern qb_status qset_runs_join(const qset_collection *shard, uint32_t shards, const qb_keys *keys,
								qset_collection *out, const qb_memory *memory);

#endif
