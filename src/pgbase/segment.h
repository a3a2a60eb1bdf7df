/*
 * segment.h
 *		Shared memory of a parallel query: its free size, and a value that all processes merge in
 *		slices.
 *
 * src/pgbase/segment.h
 */
#ifndef QS_PGBASE_SEGMENT_H
#define QS_PGBASE_SEGMENT_H

#include "postgres.h"

#include "pgbase/state.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"

extern bool SegmentHasRoom(Size bytes);
extern bool SegmentsFit(Size bytes);
extern void *SegmentPut(dsa_area *area, Size size, dsa_pointer *pointer);

/*
 * Fill and return "memory", which allocates from shared memory.  The address of a table is valid
 * only in one process.  Other processes find the table by its dsa_pointer.
 */
extern const qb_memory *SegmentMemory(dsa_area *area, qb_memory *memory);
extern dsa_pointer SegmentPointer(const void *table);
extern void *SegmentAddress(dsa_area *area, dsa_pointer pointer);

/*
 * ---- a value that all processes of a parallel scan merge ----
 *
 * The shared value consists of slices, each with a lock.  Each process adds its value slice by
 * slice.
 */

/* One slice.  Only the process that holds the lock may use the slice. */
typedef struct SharedSlice
{
	LWLock lock;
	dsa_pointer table[3];               /* tables from SegmentMemory(); invalid: no table */
	uint64 data[FLEXIBLE_ARRAY_MEMBER]; /* the family's data, zeroed before their first use */
} SharedSlice;

/* Functions that cut values of a family into slices.  Failures raise errors. */
struct StateSlices
{
	Size size; /* size of the family's data in a slice, without tables */

	/*
	 * Count all buffered keys.  Returns the number of units into which the value can be cut, and in
	 * *bytes the value's size.  0: the value cannot be cut.
	 */
	uint64 (*units)(KeyedState *state, Size *bytes);
	/* Add "count" units of the value, from "first" on, to a slice. */
	void (*add)(KeyedState *state, uint64 first, uint64 count, SharedSlice *slice, dsa_area *area);
	/* Add a slice to the value.  The caller passes the slices in order. */
	void (*take)(KeyedState *state, uint64 first, uint64 count, const SharedSlice *slice,
				 dsa_area *area);
	/* Make the state empty. */
	void (*clear)(KeyedState *state);
};

/*
 * A value that is merged in slices, in the shared state of a scan.  The first added value sets
 * "units" and the later members, which do not change until SharedValueTake() or SharedValueReset().
 */
typedef struct SharedValue
{
	LWLock lock; /* protects all members */
	int64 count; /* number of keys in all added values */
	Size had;    /* bytes of the largest value that has fitted into memory, in any run */
	uint64 units;
	uint32 slices;
	Size slice_size;
	dsa_pointer slice_data; /* address of the slices; invalid: no value was added */
} SharedValue;

/*
 * Call SharedValueInit() before the first run, and SharedValueReset() after all processes of a run
 * have ended.
 */
extern void SharedValueInit(SharedValue *shared);
extern void SharedValueReset(SharedValue *shared, dsa_area *area);

/*
 * Add the value of a state, and make the state empty.  False: the state has removals, or its value
 * is small, cannot be cut, or does not fit into memory.
 */
extern bool SharedValueAdd(SharedValue *shared, KeyedState *state, dsa_area *area);

/* Add the shared value to a state.  All processes must have added their values. */
extern void SharedValueTake(SharedValue *shared, KeyedState *state, dsa_area *area);

#endif
