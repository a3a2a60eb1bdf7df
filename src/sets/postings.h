/*
 * postings.h
 *		The sets that are most similar to one: a collection with a list for each element
 *		of the sets that have it.
 *
 * A question is a set, and its answer are the best pairs of it and a set of the
 * collection.  It adds up the lists of its elements, so it looks at no other part of the
 * collection.  It goes through the sets block by block, so that a block's counters stay
 * in the cache while all lists are added to them.
 *
 *	begin[0 .. universe]	element r is in sets list[begin[r] .. begin[r + 1] - 1]
 *	list[0 .. elements-1]	ascending for each element
 *
 * The lists cost more than one question does.  So a question can also be put to the
 * collection itself, all of which is then read.  The answers are the same.
 *
 * src/sets/postings.h
 */
#ifndef QSET_POSTINGS_H
#define QSET_POSTINGS_H

#include "sets/pairs.h"
#include "sets/collection.h"

typedef struct qset_question
{
	const uint32_t *rank; /* those of its elements that the collection has, ascending */
	uint64_t ranks;
	uint64_t size;  /* number of all its elements */
	int64_t itself; /* the set of the collection that it is, which is no answer; -1: none */
	qset_filter filter;
	uint64_t most; /* the most pairs of an answer; more are QB_NO_ROOM */
} qset_question;

typedef struct qset_postings
{
	qset_collection collection;
	uint64_t *begin;
	uint32_t *list;
} qset_postings;

/* Bytes of the postings of a collection of these sizes. */
extern uint64_t
qset_postings_memory(uint64_t sets, uint64_t elements, uint64_t universe, bool wide);

/*
 * Make the postings of a collection, which belongs to them from then on, whatever the
 * result.  All memory is that of the collection.
 */
extern qb_status
qset_postings_make(qset_postings *p, qset_collection *collection, const qset_interrupt *interrupt);
extern void qset_postings_free(qset_postings *p);

/* The question of a set of the collection. */
extern void qset_question_of_set(qset_question *q, const qset_collection *c, uint64_t set);

/*
 * Answer a question by the postings, or by the collection.  "best" gets its pairs in
 * memory of "memory", the best first, and none unless the result is QB_OK.  Of a pair a
 * is 0.
 */
extern qb_status
qset_postings_answer(const qset_postings *p, const qset_question *q, const qset_kernels *kernels,
					 qset_best *best, const qb_memory *memory, const qset_interrupt *interrupt);
extern qb_status
qset_collection_answer(const qset_collection *c, const qset_question *q, qset_best *best,
					   const qb_memory *memory, const qset_interrupt *interrupt);

#endif
