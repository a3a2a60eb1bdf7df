/*
 * top.h
 *		The most frequent keys of a sketch: candidates, with bounds of their weights.
 *
 * A sketch does not store its keys.  While a sketch is built, a qs_top keeps the keys with the
 * largest estimates as candidates, with the texts that SQL shows for them.  If a user requests n
 * keys, the list has a capacity of qs_top_capacity(n) = max(4n, n + 100) candidates.  While the
 * sketch is explicit, all its keys are candidates, with exact counts.
 *
 * How candidates are added and dropped.  After a batch of keys was added to the sketch, each key of
 * the batch whose estimate is above the threshold becomes a candidate.  A key that already is a
 * candidate is counted (engine/sketch_cpu.c).  When the list has twice its capacity, the candidates
 * with the smallest estimates are dropped.  The largest estimate of a dropped candidate becomes the
 * new threshold.
 *
 * What the bounds promise.  Each row has a weight, which is 1 by default.  The weight of a key is
 * the sum of its rows' weights.
 *
 *	lower		a candidate's weight is at least this.  While rows are only added, it is the
 *				exact weight since the key became a candidate.
 *	upper		a candidate's weight is at most this: lower + before.  "before" limits the weight
 *				that the key had before it became a candidate.  This limit follows from the key's
 *				estimate and the bound at that time.  "upper" never exceeds the sketch's estimate,
 *				and is usually far smaller: a frequent key first occurs when the sketch is nearly
 *				empty, and is counted exactly from then on.  A rare key that shares its counters
 *				with a frequent key has the frequent key's estimate, but a small "lower".
 *	bound		a key that is no candidate has at most this weight.  Such a key was refused at
 *				its last occurrence, or was dropped later.  Its estimate at that time was at
 *				most the threshold, and the bound is at least this threshold.
 *
 * Why the bounds hold for all weights that are not negative.  Let W be the weight of a key after a
 * batch, and w its weight in this batch.  The whole batch is added to the sketch before candidates
 * are updated.  So the key's estimate e is at least W, and e is the same for all rows of the key in
 * the batch.
 *
 * There are four cases:
 *
 *	- The key was a candidate and remains one: "lower" was at most W - w and grows by w, so it is at
 *	most W.  "before" does not change.
 *	- The key becomes a candidate: this happens at its first row of weight above 0, because e is the
 *	same for all its rows.  All its later rows are counted, even if the threshold reaches e in
 *	this batch.  So "lower" is w.  The key's weight before the batch was W - w <= e - w.  The key
 *	was no candidate, so W - w is also at most the bound before the batch.  "before" is the
 *	smaller of these two limits.
 *	- The key is refused: e is at most the threshold, so W is, too.  The bound is never below
 *	the threshold.  A key whose rows have weight 0 is skipped, and its W does not change.
 *	- The key is dropped: its estimate is at most the new threshold, so W is, too.  The key cannot
 *	become a candidate again in this batch, because e is not above the new threshold.
 *
 * The argument does not depend on the size of w, or on how a key's weight is divided among its
 * rows.  No sum can overflow.  The sketch refuses a batch that would raise the total weight above
 * INT64_MAX, before candidates are updated.  An estimate is at most the total, and "lower" +
 * "before" is at most the estimate.
 *
 * Subtracting (qs_top_subtract) removes the weights of another list, or of a sketch without a
 * list.  Let R >= 0 be the weight that is removed from a key.  The other list has bounds r <= R <=
 * r'.  For a sketch without a list, r' is the sketch's estimate, and r is 0, or the exact count if
 * the sketch is explicit.  So max(lower - r', 0) is a lower bound, and lower + before - r is an
 * upper bound.  The estimate of the remaining sketch is an upper bound, too.  A candidate is
 * dropped only if its upper bound is 0.  The bound of all keys that are no candidates still holds,
 * because R >= 0.  Estimates become smaller, so the threshold is set to 0.
 *
 * A subtraction of weights that were never added may remain undetected, as for a sketch.  After
 * this subtraction the bounds may be wrong.  The error is detected if a counter would be negative
 * or contradict its bucket (qs_tally), if an upper bound would be below a lower bound, or if the
 * lower bounds would sum to more than the total.
 *
 * Merging adds the bounds.  If both lists have a key, their "lower" and "before" are added.  If
 * only one list has a key, the key's "before" grows by the estimate of the other list's sketch, or
 * by the other list's bound if this bound is smaller.
 *
 * The sketch never depends on the candidates.  The sketch's bytes are the bytes of a sketch without
 * a list, except that explicit counts have 4 bytes if N < 2^32.  Which keys become candidates
 * depends on the order of the rows.  But all keys whose weights exceed the bound are candidates in
 * any order.  If the sketch is explicit, nothing depends on the order.
 *
 * Owned candidates are in an array with a hash table.  The candidates of a view are the sorted
 * entries of the byte format.  If the sketch of a view is explicit, the candidates are the sketch's
 * entries.
 *
 * src/sketch/top.h
 */
#ifndef QS_TOP_H
#define QS_TOP_H

#include "sketch/format.h"
#include "sketch/frequent.h"

/* The maximum number of keys that a user can request. */
#define QS_TOP_MAX 100000

/* The value of qs_top_key.row if no row of the batch has the text. */
#define QS_TOP_NO_ROW UINT32_MAX

typedef struct qs_top_key
{
	uint64_t fingerprint;
	int64_t lower;    /* the key's weight is at least this */
	int64_t before;   /* the key's weight is at most lower + before */
	int64_t estimate; /* the sketch's estimate of the key, which is not always up to date */
	uint8_t *text;    /* the key's text, or NULL */
	uint32_t length;  /* length of the text */
	uint32_t row;     /* the row of the batch that has the text, or QS_TOP_NO_ROW */
} qs_top_key;

typedef struct qs_top
{
	uint32_t n;        /* number of requested keys */
	int64_t bound;     /* a key that is no candidate has at most this weight */
	bool texts;        /* keys have texts; false: a key is shown as its fingerprint */
	bool view;         /* the candidates are inside serialized bytes */
	uint64_t count;    /* number of candidates */
	uint64_t length;   /* owned: length of all texts */
	int64_t threshold; /* keys with larger estimates become candidates; not in the bytes */

	/* only in owned lists */
	const qb_memory *memory;
	qs_top_key *key;
	uint64_t room;
	uint32_t *slot;      /* hash table: 0, or 1 + index in the low bits (top.c) */
	uint64_t slots;      /* slots of the hash table, a power of two */
	uint64_t fresh;      /* candidates from this index on may be new in this batch */
	int64_t batch_bound; /* the bound when this batch began */

	/* only in views */
	const uint8_t *entries;
	uint64_t entry_bytes; /* bytes of an entry; entries of explicit sketches have no "before" */
	const uint8_t *text;  /* all texts, a zero byte after each */
	uint64_t text_bytes;
} qs_top;

/* A position in a list of candidates; { 0 } is the start. */
typedef struct qs_top_position
{
	uint64_t entry;
	uint64_t text;
} qs_top_position;

/* Returns the capacity of a list for n requested keys. */
QB_INLINE uint64_t
qs_top_capacity(uint32_t n)
{
	return n > 33 ? 4 * (uint64_t) n : (uint64_t) n + 100;
}

/* Makes an empty list.  Allocates nothing. */
extern void qs_top_init(qs_top *top, uint32_t n, const qb_memory *memory);

/* Releases all memory of an owned list. */
extern void qs_top_free(qs_top *top);

/* Makes "to", which is uninitialized, an owned copy of "from" (owned or view). */
extern qb_status qs_top_copy(qs_top *to, const qs_top *from, const qb_memory *memory);

/*
 * Reads the next candidate, in an arbitrary order.  key->text points into the list.  False: no
 * candidate is left.
 */
extern bool qs_top_next(const qs_top *top, qs_top_position *position, qs_top_key *key);

/*
 * Finds the candidate with this fingerprint.  Sets no text if the list is a view.  False: the key
 * is no candidate.
 */
extern bool qs_top_find(const qs_top *top, uint64_t fingerprint, qs_top_key *key);

/*
 * Returns the candidate with this fingerprint in an owned list, for changes in place.  NULL: the
 * key is no candidate.
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
 * Adds a key that is no candidate yet.  If the list then has twice its capacity, and the sketch is
 * not explicit, drops candidates, possibly also the new candidate.
 */
extern qb_status qs_top_admit(qs_top *top, const qs_sketch *sk, const qs_top_key *key);

/*
 * Fills an empty owned list, whose keys have no texts, from exact counts.  "key" must have every
 * key of the sketch whose weight may be above "bound".  The function may reorder "key".
 */
extern qb_status
qs_top_fill(qs_top *top, const qs_sketch *sk, qs_frequent_key *key, uint64_t count, int64_t bound);

/* Stores a copy of "text" in a candidate. */
extern qb_status
qs_top_set_text(qs_top *top, qs_top_key *key, const uint8_t *text, uint32_t length);

/*
 * Drops candidates beyond the capacity, and sorts candidates by fingerprint.  Lowers upper bounds
 * to the sketch's estimates.  A list must be in this state to be written or shown.
 */
extern void qs_top_finish(qs_top *top, const qs_sketch *sk);

/*
 * Drops owned candidates whose upper bound is below "least".  If necessary, raises the list's
 * bound, so that the bound holds for the dropped keys.
 */
extern void qs_top_drop_below(qs_top *top, int64_t least);

/*
 * into += from, for two lists and for their sketches.  QB_MISMATCH: n, parameters or types of keys
 * differ, or both lists have keys but only one has texts.  "into" is owned.  After QB_NO_MEMORY
 * "into" is undefined.
 */
extern qb_status
qs_top_merge(qs_top *into, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch);

/*
 * into += from, for two lists of one query.  The caller merges their sketches.  If only one list
 * has a key, the key's "before" grows by the other list's bound.  So the bounds may be wider than
 * after qs_top_merge().  "into" may exceed its capacity until qs_top_finish() is called.
 */
extern qb_status qs_top_merge_list(qs_top *into, const qs_top *from);

/*
 * top -= from, with the rules of qs_top_merge().  If "from" is NULL, only "from_sketch" is
 * subtracted.  QB_UNDERFLOW: a subtraction of weights that were never added was detected, and "top"
 * and "sketch" are undefined.
 */
extern qb_status
qs_top_subtract(qs_top *top, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch);

/*
 * Reduces an owned list to n requested keys, at most the list's n, and folds its sketch by
 * qs_fold().
 */
extern qb_status qs_top_fold(qs_top *top, qs_sketch *sketch, uint32_t n, uint64_t buckets);

/*
 * An owned list can be passed to another process of the same query without its sketch.
 * qs_top_write_list() writes entries and texts as in the byte format, in qs_top_list_size() bytes.
 * The candidates must be sorted by fingerprint.  The other process receives these bytes and the
 * returned qs_top.  In the other process qs_top_open_list() makes this qs_top a view of the bytes.
 */
extern uint64_t qs_top_list_size(const qs_top *top);
extern qs_top qs_top_write_list(const qs_top *top, uint8_t *out);
extern void qs_top_open_list(qs_top *view, const uint8_t *bytes);

/*
 * ---- the byte format of a sketch with its most frequent keys, version 1 ----
 *
 * Little-endian: a header of 64 bytes, the sketch in its own format (format.h), entries of the
 * candidates, and texts of the candidates.
 *
 *	offset	bytes	field
 *	0		3		magic "QTP"
 *	3		1		version, 1
 *	4		4		n, 1 .. QS_TOP_MAX
 *	8		4		CRC-32C of all bytes with this field 0
 *	12		1		1: keys have texts; 0: keys are their fingerprints, or no keys exist
 *	13		1		encoding of the texts: 6 (UTF-8), or 0 if the sketch's keys have
 *					QB_TEXT_BYTES (qb_text) or there are no texts
 *	14		2		reserved, 0
 *	16		8		bound
 *	24		8		bytes of the sketch
 *	32		8		candidates
 *	40		8		bytes of all texts, less than 2^32
 *	48		16		reserved, 0
 *
 * With an explicit sketch all keys are candidates, and their counts are exact.  So the sketch's
 * entries serve as candidates.  There are no further entries, and the bound is 0.  The sketch's
 * entries have 12 bytes if N < 2^32 (format.h).
 *
 * With a dense or compact sketch there are at most qs_top_capacity(n) candidates.  An entry has 24
 * bytes, and entries ascend by fingerprint:
 *
 *	0		8		fingerprint
 *	8		8		lower, at least 0
 *	16		8		before; lower + before is at least 1 and at most the sketch's estimate
 *
 * Texts are in the order of the entries.  A zero byte follows each text, and no text contains a
 * zero byte.
 *
 * These fields depend on each other.  The named function compares them:
 *
 *	texts, candidates		qs_top_open(): without candidates there are no texts
 *	texts, encoding, bytes	qs_top_open(): without texts these are 0
 *	encoding, sketch		qs_top_open(): texts are in UTF-8 (6) unless the keys have QB_TEXT_BYTES
 *	texts, family			the caller: numbers have no texts, all other keys have; only the
 *							caller knows families
 *	candidates, bound, sketch	qs_top_open(): in an explicit sketch all keys are candidates, and the
 *							bound is 0; else there are at most qs_top_capacity(n) candidates,
 *							and the bound is at most N
 *	sizes, length			qs_top_open()
 *	entries, sketch			qs_top_validate(): bounds are within the sketch's estimates
 *
 * qs_top_merge() and qs_top_subtract() first compare two lists: their n, their sketches, and
 * whether their keys have texts.
 */

#define QS_TOP_FORMAT_VERSION_1 1
#define QS_TOP_AT_VERSION       3
#define QS_TOP_HEADER_BYTES     64

/* Offsets in an entry.  The count in an explicit sketch's entry has the offset of "lower". */
#define QS_TOP_ENTRY_LOWER  8
#define QS_TOP_ENTRY_BEFORE 16
#define QS_TOP_ENTRY_BYTES  24

/*
 * Returns the number of bytes that qs_top_write() writes if the sketch is written as "sketch" says.
 * The candidates are owned, and in the state after qs_top_finish().
 */
extern uint64_t qs_top_flat_size(const qs_top *top, const qs_flat *sketch);

/* Serializes into qs_top_flat_size() bytes, under the conditions of that function. */
extern void qs_top_write(const qs_top *top, const qs_sketch *sk, const qs_flat *flat, uint8_t *out);

/*
 * Makes "view" and "sketch" views of bytes, after checking all lengths.  Whatever the bytes
 * contain, no operation on the views reads outside of the bytes.
 */
extern qb_status
qs_top_open(qs_top *view, qs_sketch *sketch, const uint8_t *bytes, uint64_t length);

/* Validates untrusted bytes: all rules of this format, and the sketch. */
extern qb_status qs_top_validate(const uint8_t *bytes, uint64_t length);

/*
 * Does the work of qs_top_validate(), and calls memory->pause, which may jump out of the function.
 */
extern qb_status
qs_top_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Returns the bytes of the sketch inside bytes that qs_top_open() has accepted. */
extern const uint8_t *qs_top_sketch_bytes(const uint8_t *bytes, uint64_t *length);

#endif
