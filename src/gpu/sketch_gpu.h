/*
 * sketch_gpu.h
 *		Sketches on a GPU: requests and what slots hold; what functions on sketches see: an
 *		engine, lookups, tokens; and a backend's calls.
 *
 * A dense sketch goes to the worker and comes back piece by piece.  Pieces are
 * numbered by their offset in the table of counters, with the extra table
 * behind it.
 *
 * A sketch that its device has no memory for to grow is several partitions: its tables
 * there, keys of chunks on other devices, and keys that came when it was full.  The
 * backend fetches them one after another, and merges them.
 *
 * src/gpu/sketch_gpu.h
 */
#ifndef QS_GPU_SKETCH_GPU_H
#define QS_GPU_SKETCH_GPU_H

#include "gpu/client.h"
#include "gpu/column_gpu.h"
#include "gpu/gpu.h"

#include "engine/sketch_engine.h"
#include "sketch/format.h"
#include "sketch/frequent.h"

typedef enum GpuSketchOp
{
	SKETCH_CREATE, /* an empty sketch, on device "count"; -1: on any */
	SKETCH_LOAD,   /* a sketch whose tables will be written */
	SKETCH_WRITE,  /* a piece of its tables */
	SKETCH_LOADED, /* all pieces are written: take it to device "count"; -1: to any */
	SKETCH_INSERT, /* keys, or keys and then weights */
	SKETCH_QUERY,  /* keys; the reply has estimates in their place */
	SKETCH_MERGE,  /* add sketch "other"; the reply says how far that got */
	SKETCH_FETCH,  /* the reply says what the tables of partition "count" look like */
	SKETCH_READ,   /* a piece of them */
	/*
	 * Keys of the pages in the slot, of the chunk "other".  The reply says how
	 * many keys were counted, "done", of all wanted pages before page "offset".  Of requests
	 * that are served together the first reply has the number of all keys, and the others have 0.
	 */
	SKETCH_COLUMN,
	SKETCH_GROUPS, /* the same for the sketches of groups: GpuWantedOfGroups */
	/*
	 * Exact counts of frequent keys (sketch/frequent.h): a table of "bytes" slots for "offset"
	 * wanted keys; then as SKETCH_COLUMN and SKETCH_GROUPS samples of chunks, and then counts.
	 */
	SKETCH_FREQUENT,
	SKETCH_SAMPLE,
	SKETCH_SAMPLE_GROUPS,
	SKETCH_RECOUNT,
	SKETCH_RECOUNT_GROUPS,
	SKETCH_COLLECT,  /* the most frequent keys, or all ("weighted"); the reply has a qs_frequent */
	SKETCH_COLLECTED /* a piece of them */
} GpuSketchOp;

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

StaticAssertDecl(sizeof(GpuSketchShape) <= sizeof(GpuShape), "shape of a sketch does not fit");
StaticAssertDecl(sizeof(GpuSketchPartial) <= sizeof(GpuShape), "partial sketch does not fit");
StaticAssertDecl(sizeof(qs_frequent) <= sizeof(GpuShape), "counts of frequent keys do not fit");
StaticAssertDecl(QS_HEADER_BYTES <= sizeof(((StoredName *) 0)->header),
				 "header of a sketch does not fit");

/* The shape in a slot: SKETCH_CREATE, SKETCH_LOAD, and the reply of SKETCH_FETCH. */
static inline GpuSketchShape *
GpuSketchShapeIn(GpuSlot *slot)
{
	return (GpuSketchShape *) slot->shape.bytes;
}

/* ---- the GPU as functions on sketches see it ---- */

/* Why does a sketch of such parameters probably not go to a GPU?  NULL: it does. */
extern const char *GpuSketchReason(const qs_params *p, const StateWork *work);

/* Do sketches of such parameters stay on the CPU for any reason of their own? */
extern bool GpuSketchOnlyOnCpu(const qs_params *p);

/* The engine for new sketches, as qsketch.device wants it. */
extern const qs_engine *GpuSketchEngine(const qs_params *p, const StateWork *work);

/* Will a new sketch of such parameters move to a device, if as many keys come as are expected? */
extern bool GpuSketchWillMove(const qs_params *p, const StateWork *work);

/* The engine of a sketch that is on a device, or not. */
extern const qs_engine *GpuSketchEngineOf(const qs_sketch *sk);

/*
 * Add the keys of a cached column on the pages that the chunks' sets have.  The pages that were
 * done are taken off the sets: the others have to be read.  "count" grows by the keys added.
 */
extern qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count);

/*
 * Which sketches of groups, of equal parameters and without keys yet, get dense by the keys
 * of this chunk alone?  Those are on a device now, without keys.
 */
extern void GpuSketchGetDense(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							  bool *dense);

/*
 * Add the keys on the chunks' pages to sketches of groups that are on a device.  False: not all
 * keys could be added, and the sketches are of no use.
 */
extern bool GpuSketchAddGroups(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							   int chunks, uint64 *added);

/*
 * Keys with exact counts, distinct and in no order.  Any other key has an estimate below "least", or
 * a count of "left_out" at most.
 */
typedef struct GpuRecounted
{
	qs_frequent_key *key;
	uint64 count;
	int64 least;
	int64 left_out;
} GpuRecounted;

/* Is a sketch on the device of all chunks?  Then its frequent keys are counted without a copy of it. */
extern bool GpuSketchIsWith(const qs_sketch *sk, const GpuColumnChunk *chunk, int chunks);

/*
 * Count the frequent keys on the chunks' pages, about so many of each sketch, once more: those of
 * dense sketches that have these keys and no others, and are here, or all GpuSketchIsWith() the
 * chunks.  "groups": those of the sketches; NULL: it is one sketch.  False: not all keys could be
 * counted.
 */
extern bool
GpuSketchRecount(const qs_sketch *const *sk, uint32 count, const qb_groups *groups, uint64 wanted,
				 const GpuColumnChunk *chunk, int chunks, GpuRecounted *counted);

/* Put together what devices have counted, and leave out what is not complete.  The sketch is here. */
extern void GpuRecountedFinish(GpuRecounted *counted, const qs_sketch *sk);

/* A partial state on a device, passed to the combine function as a varlena. */
extern Size GpuTokenSize(void);
extern void GpuWriteToken(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsToken(Datum datum);
extern void GpuOpenToken(Datum datum, qs_sketch *sk, const qb_memory *memory);

/* Is the GPU to look up so many keys in a sketch? */
extern bool GpuSketchWantsLookup(const qs_sketch *sk, size_t count);

/* Cached sketches. */
extern const GpuStored gpu_stored_sketches;

/* ---- a sketch of a backend whose tables are on a device: in "remote" of the sketch ---- */

/* In the sketch's memory context, which drops the device's sketch at its end. */
typedef struct GpuRemote
{
	GpuOwned owned;
	bool in_transfer;         /* the sketch is for whoever redeems its token */
	TokenNumber token;        /* if in transfer */
	bool merging;             /* a merge into it has not ended, and never will after an error */
	struct GpuRemote *before; /* of the sketch that is read before this one; or NULL */
	struct GpuRemote *next;   /* of the sketch that is read after it; or NULL */
	bool described;           /* "shape" is set */
	GpuSketchShape shape;     /* what the tables looked like; they may have got keys since */
} GpuRemote;

/* Free the tables of a sketch, which are on a device now. */
extern void GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref);

/* ---- the tables of a sketch on their way through slots, piece by piece ---- */

/* Describe a dense sketch, owned or a view. */
extern void GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk);

/* Bytes of all tables. */
static inline uint64
GpuShapeBytes(const GpuSketchShape *shape)
{
	return shape->table_bytes + shape->extra_bytes;
}

/* Make an empty owned sketch dense, with tables to be written. */
extern qb_status GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape);

/* Copy a piece out of the tables, or into them. */
extern void GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset,
						 uint64 bytes, uint8 *to);
extern void GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
						  const uint8 *from);

/* ---- a backend's calls, which may wait: see client.h ---- */

/*
 * So many empty sketches on this device, or on any (-1), several at a time; which ones are "made"?
 */
extern void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *made);

/*
 * A copy of a dense sketch on this device, or on any (-1): of an sf sketch its slim table alone.  False
 * if there is no memory for it.
 */
extern bool GpuSketchUpload(const qs_sketch *sk, int device, GpuRef *ref);

/*
 * Add a sketch to another.  QB_NO_MEMORY: "merged" says how far that got, and the rest is to
 * be done here.
 */
extern qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged);

/* Merge here what is left of a dense sketch. */
extern qb_status
GpuSketchMergeRest(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged);

/*
 * Fetch the tables of a sketch that is on a device into "here", an empty owned sketch, which gets
 * dense.  The device's sketch takes no more keys then, and has to be dropped.  The worker gets the
 * next one of the chain ready meanwhile.
 */
extern qb_status GpuSketchFetch(const qs_sketch *sk, qs_sketch *here);

#endif
