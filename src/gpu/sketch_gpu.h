/*
 * sketch_gpu.h
 *		Sketches on a GPU: requests and what slots hold; what functions on sketches see: an
 *		engine, lookups, tokens; and a backend's calls.
 *
 * A dense sketch goes to the worker and comes back piece by piece.  Pieces are
 * numbered by their offset in the table of counters, with the extra table
 * behind it.
 *
 * If its device has no memory for a sketch to grow, the sketch has several partitions: its
 * tables on the device, the keys of chunks on other devices, and the keys that came when it
 * was full.  The backend fetches them one after another, and merges them.
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
	SKETCH_CREATE, /* make an empty sketch, on device "count"; -1: on any */
	SKETCH_LOAD,   /* make a sketch whose tables will be written */
	SKETCH_WRITE,  /* write a piece of its tables */
	SKETCH_LOADED, /* all pieces are written: copy it to device "count"; -1: to any */
	SKETCH_INSERT, /* insert keys, or keys and then weights */
	SKETCH_QUERY,  /* keys; the reply has their estimates in their place */
	SKETCH_MERGE,  /* add sketch "other"; the reply says how much was merged */
	SKETCH_FETCH,  /* the reply has the shape of the tables of partition "count" */
	SKETCH_READ,   /* read a piece of these tables */
	/*
	 * Insert the keys of chunk "other" from the pages in the slot.  The reply has in "done"
	 * the number of inserted keys, of all wanted pages before page "offset".  If requests are
	 * served together, the first reply has the number of all keys, and the others have 0.
	 */
	SKETCH_COLUMN,
	SKETCH_GROUPS, /* SKETCH_COLUMN for the sketches of groups: GpuWantedOfGroups */
	/*
	 * Exact counts of frequent keys (sketch/frequent.h).  SKETCH_FREQUENT makes a table of
	 * "bytes" slots for "offset" wanted keys.  The next four are like SKETCH_COLUMN and
	 * SKETCH_GROUPS: first they sample chunks, then they count.
	 */
	SKETCH_FREQUENT,
	SKETCH_SAMPLE,
	SKETCH_SAMPLE_GROUPS,
	SKETCH_RECOUNT,
	SKETCH_RECOUNT_GROUPS,
	SKETCH_COLLECT,  /* the most frequent keys, or all ("weighted"); reply: a qs_frequent */
	SKETCH_COLLECTED /* read a piece of them */
} GpuSketchOp;

/* How much of a merge is done. */
typedef struct GpuSketchMerged
{
	bool begun;   /* the total includes the other sketch's */
	uint64 units; /* number of units that were added: sketch/merge.h */
} GpuSketchMerged;

/* A dense sketch without its tables.  For a new sketch only "params" is set. */
typedef struct GpuSketchShape
{
	qs_params params;
	int64 total;
	uint64 table_bytes;
	uint64 extra_bytes;
	uint64 extra_used; /* high buckets of a multilevel sketch */
	bool wide;
	bool more;              /* SKETCH_FETCH: there is a further partition */
	GpuSketchMerged merged; /* SKETCH_MERGE; SKETCH_FETCH: this partition into the first */
} GpuSketchShape;

/* What a device does not know of a partial sketch.  It is in a handle that is in transfer. */
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

/* Returns why a sketch with these parameters probably does not go to a GPU; NULL: it does. */
extern const char *GpuSketchReason(const qs_params *p, const StateWork *work);

/* True if sketches with these parameters stay on the CPU for reasons of their own. */
extern bool GpuSketchOnlyOnCpu(const qs_params *p);

/* The engine for new sketches, as set by qsketch.device. */
extern const qs_engine *GpuSketchEngine(const qs_params *p, const StateWork *work);

/*
 * True if a new sketch with these parameters will move to a device, if as many keys come as
 * are expected.
 */
extern bool GpuSketchWillMove(const qs_params *p, const StateWork *work);

/* The engine of this sketch, which may be on a device. */
extern const qs_engine *GpuSketchEngineOf(const qs_sketch *sk);

/*
 * Add the keys of a cached column from the pages in the chunks' sets.  Pages that were done
 * are taken off the sets; the others must be read.  "count" grows by the number of added
 * keys.
 */
extern qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count);

/*
 * Find the sketches of groups that become dense by the keys of this chunk alone.  They are
 * moved to a device, still without keys.  All have the same parameters, and have no keys yet.
 */
extern void GpuSketchGetDense(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							  bool *dense);

/*
 * Add the keys on the chunks' pages to sketches of groups that are on a device.  False: some
 * keys could not be added, and the sketches must not be used.
 */
extern bool GpuSketchAddGroups(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							   int chunks, uint64 *added);

/*
 * Keys with exact counts, in no order.  Any other key has an estimate below "least", or a count of
 * at most "left_out".
 */
typedef struct GpuRecounted
{
	qs_frequent_key *key;
	uint64 count;
	int64 least;
	int64 left_out;
	bool mixed; /* a key may come several times, or with an incomplete count */
} GpuRecounted;

/*
 * True if a sketch is on the device of all chunks.  Then its frequent keys are counted
 * without a copy of it.
 */
extern bool GpuSketchIsWith(const qs_sketch *sk, const GpuColumnChunk *chunk, int chunks);

/*
 * Count the most frequent keys on the chunks' pages exactly, about "wanted" keys for each
 * sketch.  The sketches must be dense and have exactly the keys of these pages.  All of them
 * are here, or all fulfil GpuSketchIsWith() for the chunks.  "groups": the groups of the
 * sketches; NULL: there is one sketch.  False: some keys could not be counted.
 */
extern bool
GpuSketchRecount(const qs_sketch *const *sk, uint32 count, const qb_groups *groups, uint64 wanted,
				 const GpuColumnChunk *chunk, int chunks, GpuRecounted *counted);

/*
 * Combine the counts of all devices, and drop keys whose count is not complete, so that the keys are
 * distinct.  The sketch must be here.
 */
extern void GpuRecountedFinish(GpuRecounted *counted, const qs_sketch *sk);

/* A partial state on a device, passed to the combine function as a varlena. */
extern Size GpuTokenSize(void);
extern void GpuWriteToken(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsToken(Datum datum);
extern void GpuOpenToken(Datum datum, qs_sketch *sk, const qb_memory *memory);

/* True if the GPU should look up "count" keys in a sketch. */
extern bool GpuSketchWantsLookup(const qs_sketch *sk, size_t count);

/* Cached sketches. */
extern const GpuStored gpu_stored_sketches;

/* ---- a sketch of a backend whose tables are on a device: in "remote" of the sketch ---- */

/* In the sketch's memory context.  The device's sketch is dropped at the end of that context. */
typedef struct GpuRemote
{
	GpuScopedHandle handle;
	bool in_transfer;         /* the sketch belongs to the process that redeems its token */
	TokenNumber token;        /* if in transfer */
	bool merging;             /* a merge into it has begun; still true after an error */
	struct GpuRemote *before; /* the sketch that is read before this one; or NULL */
	struct GpuRemote *next;   /* the sketch that is read after this one; or NULL */
	bool described;           /* "shape" is set */
	GpuSketchShape shape;     /* shape of the tables, which may have changed since */
} GpuRemote;

/* Mark a sketch remote, and free its tables here. */
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

/* Copy a piece from the tables, or into the tables. */
extern void GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset,
						 uint64 bytes, uint8 *to);
extern void GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
						  const uint8 *from);

/* ---- a backend's calls, which may wait: see client.h ---- */

/*
 * Make "count" empty sketches on this device, or on any (-1), several requests at a time.
 * "created" tells which exist.
 */
extern void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *created);

/*
 * Copy a dense sketch to this device, or to any (-1); of an sf sketch only the slim table.
 * False: there is no memory for it.
 */
extern bool GpuSketchUpload(const qs_sketch *sk, int device, GpuRef *ref);

/*
 * Add a sketch to another in the worker.  QB_NO_MEMORY: "merged" says how much was merged,
 * and the rest must be merged here.
 */
extern qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged);

/* Merge the rest of a dense sketch here. */
extern qb_status
GpuSketchMergeRest(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged);

/*
 * Fetch the tables of a sketch on a device into "here", an empty owned sketch, which becomes
 * dense.  After that the device's sketch takes no keys, and must be dropped.  Meanwhile the
 * worker prepares the next sketch of the chain.
 */
extern qb_status GpuSketchFetch(const qs_sketch *sk, qs_sketch *here);

#endif
