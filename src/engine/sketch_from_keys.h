/*
 * sketch_from_keys.h
 *		The compact encoding of keys that no table has counted.
 *
 * A sketch that is counted once and then stored or sent would otherwise get tables, most
 * of them zeros, only to have them searched for what is not zero.  Sorting some
 * thousand keys by their bucket takes a fraction of that time and memory.
 *
 * src/engine/sketch_from_keys.h
 */
#ifndef QS_SKETCH_FROM_KEYS_H
#define QS_SKETCH_FROM_KEYS_H

#include "sketch/sketch.h"

/*
 * Make "made" the compact sketch of an owned explicit sketch and of the keys (weight NULL:
 * 1 each).  It is written as the bytes that counting the keys would give.  Its body comes
 * from "memory", and the caller releases it.  The explicit sketch may get its table of masks,
 * and does not change otherwise.
 *
 * False: the sketch would not be compact, or only counting can tell.  That is so with few
 * distinct keys, more keys than buckets, structures whose keys have counters in many places,
 * a total out of range, and no memory.
 */
extern bool qs_compact_from_keys(qs_sketch *made, const qb_memory *memory, qs_sketch *sk,
								 const uint64_t *fingerprint, const int64_t *weight, size_t count);

#endif
