/*
 * unit_marks.h
 *		Marks: which units of a sketch are present, kept up to date as keys come and go.
 *
 * A sketch that is written again after every few keys, as a moving window does, need not have
 * all its tables looked at each time.  There is one bit for each unit, QS_BLOCK of them to a
 * word.  The bits are exact: a unit that got all zero again has none.
 *
 * src/sketch/unit_marks.h
 */
#ifndef QS_UNIT_MARKS_H
#define QS_UNIT_MARKS_H

#include "sketch/sketch.h"

/* Words that the marks of a sketch with these parameters take. */
extern uint64_t qs_mark_words(const qs_params *p);

/* Mark the units of a dense sketch, all of whose tables are looked at. */
extern void qs_mark_all(const qs_sketch *sk, uint64_t *marks);

/* Correct the marks after these keys were added or removed.  Takes some steps for each key. */
extern void
qs_mark_keys(const qs_sketch *sk, uint64_t *marks, const uint64_t *fingerprint, size_t count);

#endif
