/*
 * segment.h
 *		Shared memory of a parallel query: whether there is room, and values that all processes
 *		merge, slice by slice.
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
 * Fill and return "memory" so that it allocates from shared memory.  A process has an address of a
 * table while it uses the table.  Other processes find the table by its dsa_pointer.
 */
extern const qb_memory *SegmentMemory(dsa_area *area, qb_memory *memory);
extern dsa_pointer SegmentPointer(const void *table);
extern void *SegmentAddress(dsa_area *area, dsa_pointer pointer);

/*
 * ---- a value that all processes of a parallel scan merge ----
 *
 * The shared value is in slices, each with a lock.  Each process adds its own value, slice by
 * slice.
 */

/* One slice.  Only the process that has its lock may use it. */
typedef struct SharedSlice
{
	LWLock lock;
	dsa_pointer table[3];               /* made by SegmentMemory(); invalid: no table */
	uint64 data[FLEXIBLE_ARRAY_MEMBER]; /* the family's data, zeroed before their first use */
} SharedSlice;

/* How values of a family are cut into slices.  These functions raise errors themselves. */
struct StateSlices
{
	Size size; /* size of the family's data in a slice, without tables */

	/*
	 * Count all keys.  Returns the number of units into which the value can be cut, and in *bytes
	 * its size.  0: it cannot be cut.
	 */
	uint64 (*units)(KeyedState *state, Size *bytes);
	/* Add "count" units of the value, from "first" on, to a slice. */
	void (*add)(KeyedState *state, uint64 first, uint64 count, SharedSlice *slice, dsa_area *area);
	/* Add a slice to the value.  Slices come in order. */
	void (*take)(KeyedState *state, uint64 first, uint64 count, const SharedSlice *slice,
				 dsa_area *area);
	/* Make the state empty. */
	void (*clear)(KeyedState *state);
};

/* A value that is merged in slices, in the shared state of a scan. */
typedef struct SharedValue
{
	LWLock
		lock; /* guards all fields below; from "units" on they stay as they are until the value is taken */
	int64 count; /* number of keys in all values that were added */
	Size had;    /* bytes of the largest value for which this run or an earlier run had room */
	uint64 units;
	uint32 slices;
	Size slice_size;
	dsa_pointer slice_data; /* address of the slices; invalid: no value was added */
} SharedValue;

/* SharedValueInit() is called before the first run, SharedValueReset() once all processes are gone. */
extern void SharedValueInit(SharedValue *shared);
extern void SharedValueReset(SharedValue *shared, dsa_area *area);

/* Add the value of a state, and make the state empty.  False: the value is small, or cannot be added. */
extern bool SharedValueAdd(SharedValue *shared, KeyedState *state, dsa_area *area);

/*
 * Add to a state everything that the processes have added to the shared value.  No process may add
 * any more.
 */
extern void SharedValueTake(SharedValue *shared, KeyedState *state, dsa_area *area);

#endif
