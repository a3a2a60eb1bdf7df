/*
 * top.h
 *		The most frequent keys of a sketch, kept beside the sketch: candidates with bounds.
 *
 * A sketch does not know its keys.  While it is built, a qs_top remembers the keys with the largest
 * estimates, with the text that SQL shows for them.  A user wants n keys, and the list has
 * qs_top_capacity(n) = max(4n, n + 100) candidates for them.  While the sketch is explicit, all its
 * keys are candidates, with exact counts.
 *
 * How candidates come and go.  After a batch of keys has gone into the sketch, each key of the
 * batch whose estimate is above the threshold becomes a candidate.  If it already is a candidate,
 * it is counted (engine/sketch_cpu.c).  When there are twice as many candidates as wanted, those
 * with the smallest estimates are dropped.  The largest estimate among the dropped is the threshold
 * from then on.
 *
 * What is promised.  Each row has a weight, which is 1 where none is given.  The weight
 * of a key is the sum of its rows' weights.
 *
 *	lower		a candidate's weight is at least this.  It is the exact weight since the key became
 *				a candidate.
 *	upper		a candidate's weight is at most this: lower + before.  Before the key became a
 *				candidate its weight was at most "before", by its estimate and the bound at that
 *				time.  "upper" is never above the sketch's own estimate, and mostly far below,
 *				because a frequent key comes early, when the sketch is nearly empty, and is counted
 *				exactly from then on.  A rare key that shares its counters with a frequent key has
 *				the frequent key's estimate, but a small "lower".
 *	bound		a key that is not a candidate has at most this weight.  Such a key was refused at
 *				its last occurrence, or has been dropped since.  Its estimate at that time was at
 *				most the threshold, and the threshold only grows.
 *
 * Why this holds for all weights that are not negative.  Let W be the weight of a key
 * after a batch, and w its weight in that batch.  The sketch has the whole batch before
 * the candidates are looked at, so the key's estimate e is at least W.  All rows of the key in the
 * batch have this estimate.
 *
 *	The key was a candidate and stays one.  "lower" was at most W - w and grows by w, so it is at
 *	most W.  "before" does not change.
 *	The key becomes a candidate, at its first row of weight above 0, since e is the same
 *	for all its rows.  Its other rows are counted even if the threshold has grown to e in the
 *	meantime.  Then "lower" is w.  Its weight before is W - w <= e - w.  It was no candidate, so W -
 *	w is at most the bound before the batch, too.  "before" is the smaller one.
 *	The key is refused: e is at most the threshold, so W is.  The bound is never below
 *	the threshold.  A key whose rows have weight 0 is skipped, and W is what it was.
 *	The key is dropped.  Its estimate is at most the new threshold, so W is.  It cannot come
 *	back in the same batch, since e is not above the new threshold.
 *
 * The argument does not depend on the size of w, or on how a key's weight is divided among its
 * rows.  No sum can overflow: the sketch refuses a batch with which the total
 * of all weights would exceed INT64_MAX, before the candidates see it.  An estimate is at
 * most the total, and "lower" + "before" is at most the estimate.
 *
 * Subtracting (qs_top_subtract) takes away the weights of another list, or of a sketch without a
 * list.  Let R be the weight of a key that is taken away.  R >= 0, so upper bounds still hold.  The
 * other list has bounds r <= R <= r'.  For a sketch without a list r' is its estimate, and r is 0,
 * or the exact count if the sketch is explicit.  So max(lower - r', 0) is a lower bound, and lower
 * + before - r is an upper bound.  The estimate of the remaining sketch is an upper bound, too.  A
 * candidate stays one unless its upper bound is 0, so the bound for all other keys holds as it is.
 * Estimates are smaller now, so the threshold starts again at 0.
 *
 * A subtraction of weights that were never added may stay unnoticed, as with a sketch.  Then bounds
 * promise nothing.  The subtraction is noticed if a counter would fall below zero, if an upper
 * bound would be below a lower one, or if the lower bounds would sum to more than the total.
 *
 * Merging adds the bounds.  For a key that both lists have, it adds "lower" and
 * "before".  For a key that only one list has, it adds to "before" the estimate of
 * the other list's sketch or that list's bound, whichever is smaller.
 *
 * The sketch never depends on the candidates.  Its bytes are those of a sketch without a list.
 * Which keys become candidates depends on the order of the rows, but all keys that occur more often
 * than the bound are candidates in any case.  As long as the sketch is explicit nothing depends on
 * the order.
 *
 * Owned candidates lie in an array and are found through a hash table.  In a view
 * they are the sorted entries of the byte format, which an explicit sketch has already.
 *
 * src/sketch/top.h
 */
#ifndef QS_TOP_H
#define QS_TOP_H

#include "sketch/format.h"
#include "sketch/frequent.h"

/* The most keys that a user can want. */
#define QS_TOP_MAX 100000

/* Stands for a row's number if the candidate has its text. */
#define QS_TOP_NO_ROW UINT32_MAX

typedef struct qs_top_key
{
	uint64_t fingerprint;
	int64_t lower;    /* the key's weight is at least this, */
	int64_t before;   /* and at most lower + before */
	int64_t estimate; /* the sketch's estimate when the key was last looked at */
	uint8_t *text;    /* NULL: no text; a view has texts elsewhere */
	uint32_t length;  /* length of the text */
	uint32_t row;     /* the row of the batch that has the text; or QS_TOP_NO_ROW */
} qs_top_key;

typedef struct qs_top
{
	uint32_t n;        /* number of keys that the user wants */
	int64_t bound;     /* no key that is not a candidate has a larger weight */
	bool texts;        /* keys have texts; else a key is shown as its fingerprint */
	bool view;         /* the candidates are inside serialized bytes */
	uint64_t count;    /* number of candidates */
	uint64_t length;   /* length of all texts, if they are owned */
	int64_t threshold; /* keys with smaller estimates are not candidates; not stored in bytes */

	/* only in owned lists */
	const qb_memory *memory;
	qs_top_key *key;
	uint64_t room;
	uint32_t *slot;      /* hash table of 1 + index, or 0 */
	uint64_t slots;      /* slots of the hash table, a power of two */
	uint64_t fresh;      /* candidates from this index on may be new in this batch */
	int64_t batch_bound; /* the bound when this batch began */

	/* only in views */
	const uint8_t *entries;
	uint64_t entry_bytes; /* of one: 24, or those of an explicit sketch, without "before" */
	const uint8_t *text;  /* all texts, each with a zero byte behind it */
	uint64_t text_bytes;
} qs_top;

/* A position among the candidates; { 0 } is before the first one. */
typedef struct qs_top_position
{
	uint64_t entry;
	uint64_t text;
} qs_top_position;

/* The number of candidates that are kept for n wanted keys. */
QB_INLINE uint64_t
qs_top_capacity(uint32_t n)
{
	return n > 33 ? 4 * (uint64_t) n : (uint64_t) n + 100;
}

/* Make an empty list; needs no memory yet. */
extern void qs_top_init(qs_top *top, uint32_t n, const qb_memory *memory);

/* Release all memory of owned candidates. */
extern void qs_top_free(qs_top *top);

/* An owned copy of "from" (owned or view) in "to", which is uninitialized. */
extern qb_status qs_top_copy(qs_top *to, const qs_top *from, const qb_memory *memory);

/* The next candidate, in an arbitrary order; false at the end.  Its text, if any, is not copied. */
extern bool qs_top_next(const qs_top *top, qs_top_position *position, qs_top_key *key);

/* Find the candidate with this fingerprint, in a view without its text.  False: there is none. */
extern bool qs_top_find(const qs_top *top, uint64_t fingerprint, qs_top_key *key);

/*
 * The candidate with this fingerprint, in place, to be changed; NULL: there is none.  For owned
 * lists only.
 */
extern qs_top_key *qs_top_lookup(const qs_top *top, uint64_t fingerprint);

/* Bounds of the weight of a key. */
typedef struct qs_top_limits
{
	int64_t lower;
	int64_t upper;
} qs_top_limits;

extern qs_top_limits qs_top_limits_of(const qs_top *top, const qs_sketch *sk, uint64_t fingerprint);

/*
 * Add a candidate, which must not be one yet.  If there are too many candidates, some are dropped,
 * perhaps this one.
 */
extern qb_status qs_top_admit(qs_top *top, const qs_sketch *sk, const qs_top_key *key);

/*
 * Make candidates of exact counts in an empty owned list whose keys have no texts.  The counts must
 * include every key of the sketch that may have a weight above "bound".
 * The keys are put into another order.
 */
extern qb_status
qs_top_fill(qs_top *top, const qs_sketch *sk, qs_frequent_key *key, uint64_t count, int64_t bound);

/* Give a candidate its text. */
extern qb_status
qs_top_set_text(qs_top *top, qs_top_key *key, const uint8_t *text, uint32_t length);

/*
 * Reduce the candidates to the capacity, in the order of their fingerprints, with bounds as tight
 * as the sketch allows.  This is the state that is written and shown.
 */
extern void qs_top_finish(qs_top *top, const qs_sketch *sk);

/*
 * Drop owned candidates whose upper bound is below "least".  The list's bound then holds for their
 * keys, too.
 */
extern void qs_top_drop_below(qs_top *top, int64_t least);

/*
 * into += from, with their sketches.  Both must have equal n, parameters and kinds of keys, and
 * both or none have texts, else QB_MISMATCH.  "into" is owned, and undefined after any other error.
 */
extern qb_status
qs_top_merge(qs_top *into, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch);

/*
 * into += from, for two lists of one query, without their sketches, which are merged elsewhere.  If
 * only one list has a key, its "before" grows by the other list's bound.  So the bounds hold, but
 * are wider.  "into" may have more candidates than qs_top_capacity() until qs_top_finish() is
 * called.
 */
extern qb_status qs_top_merge_list(qs_top *into, const qs_top *from);

/*
 * top -= from, with the rules of qs_top_merge().  "from" may be NULL: then only its sketch is
 * subtracted.  QB_UNDERFLOW if weights that were never added are subtracted, and this is noticed.
 */
extern qb_status
qs_top_subtract(qs_top *top, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch);

/*
 * Fold an owned list to n wanted keys, at most the list's own n, and fold its sketch as qs_fold()
 * does.
 */
extern qb_status qs_top_fold(qs_top *top, qs_sketch *sketch, uint32_t n, uint64_t buckets);

/*
 * Write an owned list alone, for a process of the same query: it gets entries and texts as in the
 * byte format, in qs_top_list_size() bytes.  The candidates must be in the order of their
 * fingerprints.  qs_top_open_list() makes "view", a copy of what qs_top_write_list() returned, a
 * view of these bytes.
 */
extern uint64_t qs_top_list_size(const qs_top *top);
extern qs_top qs_top_write_list(const qs_top *top, uint8_t *out);
extern void qs_top_open_list(qs_top *view, const uint8_t *bytes);

/*
 * ---- the byte format of a sketch with its most frequent keys, version 1 ----
 *
 * Little-endian: a header of 64 bytes, the sketch in its own format (format.h),
 * entries of the candidates, their texts.
 *
 *	offset	bytes	field
 *	0		3		magic "QTP"
 *	3		1		version, 1
 *	4		4		n, 1 .. QS_TOP_MAX
 *	8		4		CRC-32C of all bytes with this field 0
 *	12		1		1: keys have texts; 0: keys are their fingerprints, or there are none
 *	13		1		encoding of the texts: 6 UTF-8; 0 unknown, as the sketch says (qb_text),
 *					or no texts
 *	14		2		reserved, 0
 *	16		8		bound
 *	24		8		bytes of the sketch
 *	32		8		candidates
 *	40		8		bytes of all texts, less than 2^32
 *	48		16		reserved, 0
 *
 * With an explicit sketch all keys are candidates, and their counts are exact.  So the sketch's own
 * entries are enough.  There are no other entries, and the bound is 0.  Most of these entries have
 * 12 bytes (format.h).
 *
 * With a dense sketch there are at most qs_top_capacity(n) candidates.  An entry has 24 bytes, and
 * entries ascend by fingerprint:
 *
 *	0		8		fingerprint
 *	8		8		lower, at least 0
 *	16		8		before; lower + before is at least 1 and at most the sketch's estimate
 *
 * Texts are in the order of the entries, each with a zero byte behind it, which no text contains.
 *
 * Fields that depend on each other, and who compares them:
 *
 *	texts, candidates		qs_top_open(): without candidates there are no texts
 *	texts, encoding, bytes	qs_top_open(): without texts these are 0
 *	encoding, sketch		qs_top_open(): UTF-8, unless the sketch has text of an unknown encoding
 *	texts, family			the caller: numbers have no texts, all other keys have; only the
 *							caller knows families
 *	candidates, bound, sketch	qs_top_open(): of an explicit sketch as above, of another one at
 *							most qs_top_capacity(n); the bound is at most N
 *	sizes, length			qs_top_open()
 *	entries, sketch			qs_top_validate(): bounds are within the sketch's estimates
 *
 * qs_top_merge() and qs_top_subtract() begin by comparing two lists: their n, their sketches,
 * and whether their keys have texts.
 */

#define QS_TOP_FORMAT_VERSION_1 1
#define QS_TOP_AT_VERSION       3
#define QS_TOP_HEADER_BYTES     64

/* Offsets in an entry, which begins like an entry of an explicit sketch. */
#define QS_TOP_ENTRY_LOWER  8
#define QS_TOP_ENTRY_BEFORE 16
#define QS_TOP_ENTRY_BYTES  24

/*
 * The bytes that qs_top_write() will write, if the sketch is written as "sketch" says.  The
 * candidates are owned, and have gone through qs_top_finish().
 */
extern uint64_t qs_top_flat_size(const qs_top *top, const qs_flat *sketch);

/* Serialize into qs_top_flat_size() bytes, under the conditions of that function. */
extern void qs_top_write(const qs_top *top, const qs_sketch *sk, const qs_flat *flat, uint8_t *out);

/*
 * Make "view" and "sketch" views of bytes, after checking all lengths.  Whatever the
 * bytes hold, no operation on the views reads outside of them.
 */
extern qb_status
qs_top_open(qs_top *view, qs_sketch *sketch, const uint8_t *bytes, uint64_t length);

/* The one validator for bytes from outside.  Checks all that this format says, and the sketch. */
extern qb_status qs_top_validate(const uint8_t *bytes, uint64_t length);

/* qs_top_validate() with the pauses of "memory", which may jump out. */
extern qb_status
qs_top_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* The bytes of the sketch inside bytes that qs_top_open() has accepted. */
extern const uint8_t *qs_top_sketch_bytes(const uint8_t *bytes, uint64_t *length);

#endif
