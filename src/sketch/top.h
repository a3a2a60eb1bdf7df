/*
 * top.h
 *		The most frequent keys of a sketch, beside it: candidates with bounds.
 *
 * A sketch does not know its keys.  A qs_top remembers those with the largest
 * estimates, with the text that SQL shows of them, while the sketch is built.
 * There are n of interest and qs_top_capacity(n) candidates: max(4n, n + 100).
 * While the sketch is explicit all its keys are candidates, and exact.
 *
 * How candidates come and go.  After a batch of keys has gone into the sketch,
 * each of them whose estimate is above the threshold becomes a candidate, or is
 * counted if it is one (engine/sketch_top.c).  When there are twice as many
 * candidates as wanted those with the smallest estimates go, and the largest
 * estimate among these is the threshold from then on.
 *
 * What is promised, as long as nothing is removed:
 *
 *	lower		of a candidate: it occurred at least so often.  This is counted,
 *				key by key, from when it became a candidate.
 *	upper		lower + before: it occurred at most so often, since before it
 *				came it had occurred "before" times at most: so said its estimate
 *				then, and the bound.  Never above the sketch's own estimate, and
 *				mostly far below: a frequent key comes early, when the sketch is
 *				nearly empty, and from then on it is counted exactly.  A rare key
 *				that shares its counters with a frequent one has an estimate as
 *				large, but not the counts.
 *	bound		no key that is not a candidate occurred more often.  It was
 *				refused at its last occurrence, or has been dropped since, with an
 *				estimate at most as large as the threshold then; and thresholds
 *				only grow.
 *
 * Merging adds: lower and before of keys that both have; of keys that one has,
 * the other's estimate, if not its bound, is added to "before"; and bounds.
 *
 * The sketch never depends on the candidates, and its bytes are those that it
 * has alone.  Which keys become candidates depends on the order of the rows, but
 * all that occur more often than the bound are there in any case.  As long as
 * the sketch is explicit nothing depends on the order.
 *
 * Owned, the candidates lie in an array, found through a hash table; in a view
 * they are the entries of the byte format (top_format.h), sorted.
 *
 * src/sketch/top.h
 */
#ifndef QS_TOP_H
#define QS_TOP_H

#include "sketch/sketch.h"

/* Most keys that can be asked for. */
#define QS_TOP_MAX 100000

/* No row of a batch: the candidate has its text. */
#define QS_TOP_NO_ROW UINT32_MAX

typedef struct qs_top_key
{
	uint64_t fingerprint;
	int64_t lower;    /* it occurred at least so often, */
	int64_t before;   /* and at most so many times more */
	int64_t estimate; /* of the sketch, when it was last looked at */
	uint8_t *text;    /* NULL: none, or in a view elsewhere */
	uint32_t length;  /* of the text */
	uint32_t row;     /* of the batch, that has its text, or QS_TOP_NO_ROW */
} qs_top_key;

typedef struct qs_top
{
	uint32_t n;        /* keys of interest */
	int64_t bound;     /* no other key occurred more often */
	bool texts;        /* keys have texts; else they are their fingerprints */
	uint8_t encoding;  /* of the texts; the caller's number */
	bool view;         /* inside serialized bytes */
	uint64_t count;    /* candidates */
	int64_t threshold; /* keys of smaller estimates are none; owned, not kept in bytes */

	/* owned */
	const qb_memory *memory;
	qs_top_key *key;
	uint64_t room;
	uint32_t *slot;      /* hash table of 1 + index, or 0 */
	uint64_t slots;      /* a power of two */
	uint64_t fresh;      /* candidates from here on may have come with this batch */
	int64_t batch_bound; /* the bound when it began */

	/* view */
	const uint8_t *entries;
	const uint8_t *text;
} qs_top;

/* How many candidates are kept for n keys. */
QB_INLINE uint64_t
qs_top_capacity(uint32_t n)
{
	return n > 33 ? 4 * (uint64_t) n : (uint64_t) n + 100;
}

/* No candidates yet; needs no memory. */
extern void qs_top_init(qs_top *top, uint32_t n, const qb_memory *memory);

/* Release all memory of owned candidates. */
extern void qs_top_free(qs_top *top);

/* An owned copy of "from" (owned or view) in "to", which is uninitialized. */
extern qb_status qs_top_copy(qs_top *to, const qs_top *from, const qb_memory *memory);

/* Candidate i < count, in no order that means anything; its text, if any, stays where it is. */
extern qs_top_key qs_top_get(const qs_top *top, uint64_t i);

/* The candidate with this fingerprint; false: there is none. */
extern bool qs_top_find(const qs_top *top, uint64_t fingerprint, qs_top_key *key);

/* The same in place, for changing; owned. */
extern qs_top_key *qs_top_lookup(const qs_top *top, uint64_t fingerprint);

/*
 * A new candidate, which is not one yet.  If there are too many, others go, and
 * perhaps this one.
 */
extern qb_status qs_top_admit(qs_top *top, const qs_sketch *sk, const qs_top_key *key);

/* Give a candidate its text. */
extern qb_status
qs_top_set_text(qs_top *top, qs_top_key *key, const uint8_t *text, uint32_t length);

/*
 * Have no more candidates than wanted, in the order of their fingerprints, with
 * bounds as tight as the sketch says: what is written, and read by people.
 */
extern void qs_top_finish(qs_top *top, const qs_sketch *sk);

/*
 * Drop owned candidates that occurred less often than this, at most; the bound
 * then holds for them, too.
 */
extern void qs_top_drop_below(qs_top *top, int64_t least);

/*
 * into += from, with their sketches, which must be mergeable and of one family.
 * The smaller n holds.  "into" is owned, undefined after an error.
 */
extern qb_status
qs_top_merge(qs_top *into, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch);

#endif
