/*
 * sketch_gpu.h
 *		Sketches on a GPU: requests, what slots hold, and the functions that backends call.
 *
 * A dense sketch is sent and fetched piece by piece.  Offsets of pieces begin in the table of
 * counters, and continue in the extra table.
 *
 * If the device has no memory for a sketch to grow, the sketch has several partitions: its tables
 * on the device, the keys of chunks on other devices, and the keys that arrived after the device
 * had no memory.  The backend fetches the partitions one after another, and merges them.
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
	SKETCH_WRITE,  /* write a piece of the tables */
	SKETCH_LOADED, /* after all pieces: copy the sketch to device "count"; -1: to any */
	SKETCH_INSERT, /* insert keys; weights follow the keys if "weighted" is set */
	SKETCH_QUERY,  /* look up keys; the reply has an estimate for each key */
	SKETCH_MERGE,  /* merge sketch "other"; the reply says how much was merged */
	SKETCH_FETCH,  /* the reply has the shape of the tables of partition "count" */
	SKETCH_READ,   /* read a piece of the tables of partition "count" */
	/*
	 * Insert the wanted keys of chunk "other".  In the reply, "done" is the number of inserted
	 * keys, and "offset" is the first page that was not read.  If requests are served together, the
	 * first reply has the number of all keys, and all other replies have 0.
	 */
	SKETCH_COLUMN,
	SKETCH_GROUPS, /* SKETCH_COLUMN for the sketches of groups: GpuWantedOfGroups */
	/*
	 * Exact counts of frequent keys (sketch/frequent.h).  SKETCH_FREQUENT makes a table of "bytes"
	 * slots for "offset" wanted keys.  The next four requests name chunks, as SKETCH_COLUMN and
	 * SKETCH_GROUPS do.  SKETCH_SAMPLE and SKETCH_SAMPLE_GROUPS sample keys.  SKETCH_RECOUNT and
	 * SKETCH_RECOUNT_GROUPS count keys.
	 */
	SKETCH_FREQUENT,
	SKETCH_SAMPLE,
	SKETCH_SAMPLE_GROUPS,
	SKETCH_RECOUNT,
	SKETCH_RECOUNT_GROUPS,
	SKETCH_COLLECT, /* collect the most frequent keys, or all if "weighted"; reply: a qs_frequent */
	SKETCH_COLLECTED /* read a piece of the collected keys */
} GpuSketchOp;

/* The progress of a merge. */
typedef struct GpuSketchMerged
{
	bool begun;   /* the total includes the total of the other sketch */
	uint64 units; /* number of merged units (sketch/merge.h) */
} GpuSketchMerged;

/* Describes a dense sketch, without its tables.  For a new sketch, only "params" is set. */
typedef struct GpuSketchShape
{
	qs_params params;
	int64 total;
	uint64 table_bytes;
	uint64 extra_bytes;
	uint64 extra_used; /* number of high buckets of a multilevel sketch */
	bool wide;
	bool more;              /* SKETCH_FETCH: a further partition follows */
	GpuSketchMerged merged; /* progress of a SKETCH_MERGE, or of merging the fetched partition */
} GpuSketchShape;

/* The facts about a partial sketch that a handle in transfer has for its receiver. */
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

/*
 * The shape in the slot of SKETCH_CREATE or SKETCH_LOAD, or in the reply of SKETCH_MERGE or
 * SKETCH_FETCH.
 */
static inline GpuSketchShape *
GpuSketchShapeIn(GpuSlot *slot)
{
	return (GpuSketchShape *) slot->shape.bytes;
}

/* ---- the engine, lookups and tokens, for functions on sketches ---- */

/*
 * Returns why a sketch with these parameters will probably stay on the CPU; NULL: the sketch will
 * probably move to a GPU.
 */
extern const char *GpuSketchReason(const qs_params *p, const StateWork *work);

/* True if aggregates make sketches with these parameters only on the CPU. */
extern bool GpuSketchOnlyOnCpu(const qs_params *p);

/* The engine for new sketches: the CPU's engine, or an engine that moves sketches to a GPU. */
extern const qs_engine *GpuSketchEngine(const qs_params *p, const StateWork *work);

/* True if a new sketch with these parameters moves to a device when the expected keys arrive. */
extern bool GpuSketchWillMove(const qs_params *p, const StateWork *work);

/* The engine for a sketch that may already be on a device. */
extern const qs_engine *GpuSketchEngineOf(const qs_sketch *sk);

/*
 * Add the keys of a cached column from the pages in the chunks' sets.  Pages whose keys were added
 * are removed from the sets.  The caller must read the remaining pages.  "count" grows by the
 * number of added keys.
 */
extern qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count);

/*
 * Find the groups that have too many distinct keys on the first pages of this chunk for an explicit
 * sketch.  Move the sketches of these groups to a device, but do not add the keys.  dense[i] tells
 * whether sketch i was moved.  All sketches have the same parameters, and are empty.
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
 * Keys with exact counts, in no order.  Each key that is not in "key" has an estimate below
 * "least", or a count of at most "left_out".
 */
typedef struct GpuRecounted
{
	qs_frequent_key *key;
	uint64 count;
	int64 least;
	int64 left_out;
	bool mixed; /* a key may occur several times, or with an incomplete count */
} GpuRecounted;

/*
 * True if a sketch is on the device of all chunks, and is not full.  Its frequent keys can then be
 * counted without a copy of the sketch.
 */
extern bool GpuSketchIsWith(const qs_sketch *sk, const GpuColumnChunk *chunk, int chunks);

/*
 * Count the most frequent keys on the chunks' pages exactly, about "wanted" keys for each sketch.
 * The sketches must be dense and have exactly the keys of these pages.  Either all sketches are in
 * this process, or all fulfil GpuSketchIsWith() for the chunks.  "groups" has the groups of the
 * sketches; NULL: one sketch.  False: some keys could not be counted.
 */
extern bool
GpuSketchRecount(const qs_sketch *const *sk, uint32 count, const qb_groups *groups, uint64 wanted,
				 const GpuColumnChunk *chunk, int chunks, GpuRecounted *counted);

/*
 * Combine the counts of all devices, and drop keys whose counts are incomplete.  Afterwards the
 * keys are distinct.  The sketch must be in this process.
 */
extern void GpuRecountedFinish(GpuRecounted *counted, const qs_sketch *sk);

/* Tokens: varlenas that stand for partial states on devices (sketch_token.c). */
extern Size GpuTokenSize(void);
extern void GpuWriteToken(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsToken(Datum datum);
extern void GpuOpenToken(Datum datum, qs_sketch *sk, const qb_memory *memory);

/* True if the GPU should look up "count" keys in a sketch. */
extern bool GpuSketchWantsLookup(const qs_sketch *sk, size_t count);

/* Names and loads sketches for the worker's cache. */
extern const GpuStored gpu_stored_sketches;

/* ---- a backend's sketch, with its tables on a device ---- */

/*
 * The "remote" of a sketch, in the sketch's memory context.  The device's sketch is dropped at the
 * end of that context.
 */
typedef struct GpuRemote
{
	GpuScopedHandle handle;
	bool in_transfer;         /* the sketch belongs to the process that redeems its token */
	TokenNumber token;        /* if in transfer: the token */
	bool merging;             /* a merge into the sketch has begun; stays true after an error */
	struct GpuRemote *before; /* the sketch that is read before this sketch; or NULL */
	struct GpuRemote *next;   /* the sketch that is read after this sketch; or NULL */
	bool described;           /* "shape" is set */
	GpuSketchShape shape;     /* shape of the tables when the worker described them */
} GpuRemote;

/* Mark a sketch remote, and free its tables in this process. */
extern void GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref);

/* ---- pieces of the tables of a sketch, as slots carry them ---- */

/* Describe a dense sketch, owned or a view. */
extern void GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk);

/* Bytes of all tables. */
static inline uint64
GpuShapeBytes(const GpuSketchShape *shape)
{
	return shape->table_bytes + shape->extra_bytes;
}

/* Make an empty owned sketch dense.  The caller then writes its tables. */
extern qb_status GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape);

/* GpuReadPiece() copies a piece from the tables.  GpuWritePiece() copies a piece to the tables. */
extern void GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset,
						 uint64 bytes, uint8 *to);
extern void GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
						  const uint8 *from);

/* ---- a backend's calls, which may wait: see client.h ---- */

/*
 * Make "count" empty sketches on this device (-1: on any), several requests at a time.  created[i]
 * tells whether ref[i] exists.
 */
extern void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *created);

/*
 * Copy a dense sketch to this device (-1: to any).  An sf sketch is copied without its fat table.
 * False: no memory or no handle is free.
 */
extern bool GpuSketchUpload(const qs_sketch *sk, int device, GpuRef *ref);

/*
 * Merge sketch "other" into sketch "ref" in the worker.  QB_NO_MEMORY: "merged" says how much was
 * merged, and the caller must merge the rest.
 */
extern qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged);

/* Merge "from" into "into" in this process, except the units that "merged" counts. */
extern qb_status
GpuSketchMergeRest(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged);

/*
 * Fetch the tables of a sketch on a device into "here", an empty owned sketch, which becomes dense.
 * During the fetch, the worker prepares the next sketch of the chain.  The device's sketch exists
 * until the caller drops it.
 */
extern qb_status GpuSketchFetch(const qs_sketch *sk, qs_sketch *here);

#endif
