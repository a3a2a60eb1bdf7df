/*
 * builder.h
 *		Making a collection from rows (set id, element) in any order.
 *
 * Ids and elements get codes in the order in which they first come
 * (dictionary.h).  A row is kept as its two codes, in eight bytes.  At the end the
 * codes become ranks, one pass puts each row's element into its set, and each
 * set is sorted by itself.  When many rows have come, duplicates are dropped
 * before the end: memory is bounded by twice the distinct rows.  Collections
 * are merged by building one collection from the rows of all.  That looks
 * codes up once for each distinct element, not once for each row.
 *
 * src/sets/builder.h
 */
#ifndef QSET_BUILDER_H
#define QSET_BUILDER_H

#include "sets/collection.h"
#include "sets/dictionary.h"

/* Rows are taken in batches of this many, so that table lookups overlap. */
#define QSET_BATCH QSET_DICTIONARY_AT_ONCE

/* From this many rows on, duplicates are dropped before more memory is taken. */
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
	const qset_interrupt *interrupt;
} qset_builder;

/* An empty builder; needs no memory yet. */
extern void qset_builder_init(qset_builder *b, bool wide, const qb_keys *keys,
							  const qb_memory *memory, const qset_interrupt *interrupt);
extern void qset_builder_free(qset_builder *b);

/*
 * Add rows; high is NULL unless the builder is wide.  After QB_NO_MEMORY,
 * QB_TOO_MANY or QB_CANCELLED the builder can only be freed.
 */
extern qb_status qset_builder_add(qset_builder *b, const int64_t *id, const uint64_t *low,
								  const uint64_t *high, uint64_t rows);

/* Add the rows of a collection of the same width and kind of keys. */
extern qb_status qset_builder_add_collection(qset_builder *b, const qset_collection *c);

/*
 * An image is a copy of a builder without pointers, with which another process
 * on this machine continues.  It holds the keys of the codes, then the rows.
 * Nothing in it is sorted, so making it costs no more than copying.  "image"
 * is aligned to 8 bytes and comes from qset_builder_write(): nothing in it is
 * checked.
 */
extern uint64_t qset_builder_image_bytes(const qset_builder *b);
extern void qset_builder_write(const qset_builder *b, void *image);
extern uint64_t qset_builder_image_rows(const void *image);
extern qb_status qset_builder_add_image(qset_builder *b, const void *image);

/*
 * Make a collection of all rows for runs.h: its sets are not sorted, and
 * duplicates stay.  The builder does not change.
 */
extern qb_status qset_builder_place(const qset_builder *b, qset_collection *out);

/*
 * Make the collection of all rows.  The builder loses its duplicates and does
 * not change otherwise.
 */
extern qb_status qset_builder_finish(qset_builder *b, qset_collection *out);

#endif
