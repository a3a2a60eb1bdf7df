/*
 * sketch_request.h
 *		What backends ask of the worker's sketches: numbers, and what slots hold.
 *
 * A dense sketch goes to the worker and comes back piece by piece.  Pieces are
 * numbered by their offset in the table of counters, with the extra table
 * behind it.
 *
 * A sketch that its device has no memory for to grow is several partitions: its tables
 * there, keys of chunks on other devices, and keys that came when it was full.  The
 * backend fetches them one after another, and merges them.
 *
 * src/gpu/sketch_request.h
 */
#ifndef QS_GPU_SKETCH_REQUEST_H
#define QS_GPU_SKETCH_REQUEST_H

#include "gpu/column_request.h"

#include "sketch/format.h"

typedef enum GpuSketchOp
{
	SKETCH_CREATE, /* an empty sketch, on device "count"; -1: on any */
	SKETCH_LOAD,   /* a sketch whose tables will be written */
	SKETCH_WRITE,  /* a piece of its tables */
	SKETCH_LOADED, /* all pieces are written: take it to the device */
	SKETCH_INSERT, /* keys, or keys and then weights */
	SKETCH_QUERY,  /* keys; the reply has estimates in their place */
	SKETCH_MERGE,  /* add sketch "other"; the reply says how far that got */
	SKETCH_FETCH,  /* the reply says what the tables of partition "count" look like */
	SKETCH_READ,   /* a piece of them */
	/*
	 * Keys of the pages in the slot, of the chunk "other".  The reply says how
	 * many keys were counted, "done", of all wanted pages before page "offset".
	 */
	SKETCH_COLUMN,
	SKETCH_GROUPS /* the same for the sketches of groups: GpuSketchGroups */
} GpuSketchOp;

/* Sketches of groups, and how many keys each of them got. */
typedef struct GpuGroupSketches
{
	qb_groups groups;
	GpuRef sketch[QB_GROUPS_MAX];
	uint64 added[QB_GROUPS_MAX];
} GpuGroupSketches;

/* Keys of a chunk for the sketches of groups, of which the handle is the first. */
typedef struct GpuSketchGroups
{
	GpuWanted wanted;
	GpuGroupSketches all;
} GpuSketchGroups;

/* How far a merge has got. */
typedef struct GpuSketchMerged
{
	bool begun;   /* the total has the other sketch's */
	uint64 units; /* so many of its units were added: sketch/merge.h */
} GpuSketchMerged;

/* The state of a dense sketch without its tables; of a new one "params" alone. */
typedef struct GpuSketchShape
{
	qs_params params;
	int64 total;
	uint64 table_bytes;
	uint64 extra_bytes;
	uint64 extra_used; /* high buckets of a multilevel sketch */
	bool wide;
	bool more;              /* SKETCH_FETCH: there is a further partition */
	GpuSketchMerged merged; /* SKETCH_MERGE; SKETCH_FETCH: of this partition into the first one */
} GpuSketchShape;

/* A partial sketch, as far as a device does not know it; in a handle that is in transfer. */
typedef struct GpuSketchPartial
{
	qs_params params;
	int64 total;
	qb_keys keys;
} GpuSketchPartial;

StaticAssertDecl(sizeof(GpuSketchGroups) <= GPU_SLOT_BYTES, "sketches of groups do not fit");
StaticAssertDecl(sizeof(GpuSketchShape) <= sizeof(GpuShape), "shape of a sketch does not fit");
StaticAssertDecl(sizeof(GpuSketchPartial) <= sizeof(GpuShape), "partial sketch does not fit");
StaticAssertDecl(QS_HEADER_BYTES <= sizeof(((StoredName *) 0)->header),
				 "header of a sketch does not fit");

/* The shape in a slot: SKETCH_CREATE, SKETCH_LOAD, and the reply of SKETCH_FETCH. */
static inline GpuSketchShape *
GpuSketchShapeIn(GpuSlot *slot)
{
	return (GpuSketchShape *) slot->shape.bytes;
}

#endif
