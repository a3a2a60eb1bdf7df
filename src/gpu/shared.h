/*
 * shared.h
 *		What the GPU worker and the backends share, and who may touch what.
 *
 * One background worker owns the GPUs.  Backends (parallel workers too) give
 * it requests through slots of a fixed size in main shared memory, and name
 * values in its hands by their handle in a table.
 *
 * Families.  A value is of a family, and handles, slots and names of stored
 * values say of which.  What can be asked of a value, what its data in slots
 * mean and what describes it (its "shape") is known to the family alone: to its
 * client in the backends and its handler in the worker.
 *
 * Slots.  A slot holds one request and its data: keys, answers, or a piece of
 * something large.
 *
 *	FREE		on the list of free slots
 *	FILLING		a backend took it, and writes the request; or it reads the reply
 *	QUEUED		in the queue
 *	RUNNING		the worker has taken it from the queue
 *	DONE		the reply is there, for the backend that waits for it
 *
 *	backend		FREE -> FILLING -> QUEUED, DONE -> FREE
 *	worker		QUEUED -> RUNNING -> FREE, or DONE if someone waits
 *
 * The queue is first in, first out.  The worker takes all of it, and serves the
 * processes piece by piece, by the time that each has had (worker/schedule.c).  Requests that
 * change a value take effect in the order in which they were made, whoever made them.  A
 * backend that stops waiting (cancelled, failed) sets "abandoned" in a slot that is not
 * DONE yet, and the worker frees it at the end of the piece.  Between FREE and QUEUED
 * backends run nothing that can fail.
 *
 * Handles.  A handle is a value in the worker's hands.
 *
 *	UNUSED
 *	LIVE		belongs to a backend's transaction; keys may be on their way
 *	CACHED		belongs to nobody: a stored value or a chunk of a column, kept for queries
 *	PENDING_FREE		not wanted any more, to be freed after the requests that name it
 *	LOST		belongs to a backend, but its keys are lost: the worker or a device failed
 *
 *	backend		UNUSED -> LIVE -> PENDING_FREE or CACHED, LOST -> PENDING_FREE
 *				CACHED -> PENDING_FREE beyond the limits of the cache
 *	worker		PENDING_FREE -> UNUSED once no request names it ("pending" is 0),
 *				CACHED -> PENDING_FREE to make room, LIVE -> LOST if keys could not be
 *				added or its device is lost; when it fails or starts LIVE -> LOST, LOST stays LOST, and
 *				all others -> UNUSED
 *
 * A LIVE handle gets PENDING_FREE when its state's memory goes away, at the end of the
 * transaction, or when the backend exits, whichever is first.  One that is not
 * "attached" to such memory gets so when its subtransaction is rolled back, too.
 * A process of a parallel plan hands a handle over to its leader, who
 * takes ownership of it or frees it at the end of its own transaction; leaders outlive
 * their workers.  A serial number tells a handle from later ones of the same index.
 *
 * A LIVE handle is "full" if its device has no memory for the value to grow.  Its backend
 * fetches the value before it adds more to it, and goes on with the CPU's engine.
 *
 * Locks.
 *	"ring" (spinlock)	slots' states and "abandoned", list of free slots, holders,
 *						queue, "serving"
 *	"handles" (LWLock)	the table of handles, except "pending" and "used",
 *						which are atomic
 *	Everything else is atomic, or written by the worker alone (state, pid,
 *	devices, reason: set before "state" or "lost" says so).  Nobody holds both locks.
 *
 * The cache is limited by kind: GpuTrimCache().  Only columns, and what their own role
 * needs, push out columns.
 *
 * Quotas.  Neither a process nor a role can take all slots or all handles:
 * GpuMayTake().  A session's role is the one that it has logged in as: SET ROLE does
 * not change it.
 *
 * If a backend or the worker dies by a signal, the postmaster makes all of
 * this anew.
 *
 * src/gpu/shared.h
 */
#ifndef QS_GPU_SHARED_H
#define QS_GPU_SHARED_H

#include "postgres.h"

#include "pgbase/process.h"
#include "pgbase/state.h"

#include "base/status.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/spin.h"

/* Bytes of data of a slot, and what a backend sends in one. */
#define GPU_SLOT_BYTES   ((Size) 256 * 1024)
#define GPU_SLOT_KEYS    ((int) (GPU_SLOT_BYTES / sizeof(uint64)))
#define GPU_SLOT_WEIGHED ((int) (GPU_SLOT_BYTES / (2 * sizeof(uint64))))

/* The most requests that are served together: they fit into half of a GPU's staging memory. */
#define GPU_TOGETHER 16

#define GPU_HANDLES     2048
#define GPU_DEVICES_MAX 16
#define GPU_TEXT_BYTES  256

typedef enum GpuWorkerState
{
	GPU_OFF,      /* there is none, or it has ended */
	GPU_STARTING, /* not started yet, or looking for devices */
	GPU_READY,    /* serves requests */
	GPU_NONE,     /* found no usable device: see "reason" */
	GPU_FAILED    /* ended after an error, will be restarted */
} GpuWorkerState;

typedef enum GpuSlotState
{
	SLOT_FREE,
	SLOT_FILLING,
	SLOT_QUEUED,
	SLOT_RUNNING,
	SLOT_DONE
} GpuSlotState;

typedef enum GpuHandleState
{
	HANDLE_UNUSED,
	HANDLE_LIVE,
	HANDLE_CACHED,
	HANDLE_PENDING_FREE,
	HANDLE_LOST
} GpuHandleState;

typedef enum GpuFamily
{
	GPU_FAMILY_SKETCH,
	GPU_FAMILY_SETS,
	GPU_FAMILY_FILTER,
	GPU_FAMILY_COLUMN,      /* cached columns of tables, for all families: column_gpu.h */
	GPU_FAMILY_EXACT,       /* exact counts of their keys: column_gpu.h */
	GPU_FAMILY_MEMBERSHIPS, /* rows that are to become collections of sets: sets_gpu.h */
	GPU_FAMILIES            /* how many there are */
} GpuFamily;

/* Names a handle. */
typedef struct GpuRef
{
	uint64 serial; /* 0: none */
	int index;
	GpuFamily family;
} GpuRef;

/* What a family says of a value besides its data: a struct of its own. */
typedef union GpuShape
{
	uint8 bytes[128];
	uint64 align;
} GpuShape;

typedef struct GpuSlot
{
	/* under "ring" */
	GpuSlotState state;
	bool abandoned;
	int next; /* free slot */
	int proc; /* who has taken it */

	/* the request: the backend's while FILLING, then the worker's until DONE */
	bool wait;        /* that process waits for the reply */
	GpuRef handle;    /* the value that it is about */
	GpuRef other;     /* another one that it needs, or serial 0 */
	int op;           /* what to do, as the family numbers it; so are the next five */
	int count;        /* keys */
	bool weighted;    /* weights follow the keys */
	uint64 offset;    /* of a piece */
	uint64 bytes;     /* of a piece */
	GpuShape shape;   /* request or reply */
	int done;         /* for the worker: keys, or steps, that were served */
	bool more;        /* for the worker: this was a piece, and not the last */
	qb_status status; /* reply */
	bool gone;        /* reply: there is no such value any more */
} GpuSlot;

/*
 * The name of a stored value: its family, its header, and where it is stored or a
 * hash of all its bytes.  Names are compared byte by byte, so unused bytes are 0.
 */
typedef struct StoredName
{
	uint32 family; /* GpuFamily */
	uint32 kind;   /* a database's OID, or 0 for a hash */
	uint64 id[2];
	uint8 header[64];
} StoredName;

/*
 * What the worker shows of a chunk of a cached column, so that backends need not ask.  "first" is set if
 * exactly the pages before it count as copied.
 */
typedef struct GpuChunkShown
{
	uint32 first; /* 0: the copied pages are others, or there are none */
	uint64 map_lsn;
	uint64 keys; /* values that are not NULL */
} GpuChunkShown;

typedef struct GpuHandle
{
	GpuHandleState state;
	GpuFamily family;
	uint64 serial;
	int proc;               /* LIVE, LOST: the owner */
	int pid;                /* LIVE, LOST: the owner's, for people */
	Oid role;               /* that its maker has logged in as */
	SubTransactionId subid; /* LIVE, LOST; invalid: a parallel worker's, not received yet */
	bool attached;          /* LIVE, LOST: memory of the owner drops it */
	bool in_transfer;       /* to a leader who has not received it */
	TokenNumber token;      /* if in transfer: who has it receives the handle */
	GpuShape shape;         /* if in transfer: what the device does not know of the value */
	bool full;              /* LIVE: its device has no memory for it to grow; it is to be fetched */
	int device;             /* set by the worker */
	uint64 bytes;           /* of device memory, set by the worker */
	uint32 pages;           /* chunk: how many count as copied, set by the worker */
	GpuChunkShown shown;    /* chunk: set by the worker, under "handles" */
	StoredName key;         /* CACHED */
	int next_named;         /* CACHED: the next one of its chain, as "named" has the first */
	pg_atomic_uint64 used;  /* CACHED: when last, by "clock" */
	pg_atomic_uint64 used_at; /* CACHED chunk: the same as TimestampTz */
	pg_atomic_uint32 pending;
} GpuHandle;

typedef struct GpuDeviceInfo
{
	int number;
	char name[64];
	char driver[32];
	uint64 memory_bytes;
	uint32 peers;                 /* devices whose memory it reads directly; bits: 1 << index */
	bool lost;                    /* it failed: nothing goes there until it is opened again */
	char reason[GPU_TEXT_BYTES];  /* if it is lost, why */
	pg_atomic_uint64 memory_used; /* by our values */
	pg_atomic_uint64 values;
} GpuDeviceInfo;

/* What is counted, in the order of the columns of qsketch_stat_gpu. */
typedef enum GpuCounter
{
	COUNT_CREATED,   /* values made or loaded */
	COUNT_BATCHES,   /* of keys inserted */
	COUNT_KEYS,      /* inserted */
	COUNT_QUERIES,   /* batches of keys looked up */
	COUNT_LOOKUPS,   /* keys looked up */
	COUNT_MERGES,    /* of two values */
	COUNT_FETCHES,   /* values brought back */
	COUNT_BYTES_IN,  /* of keys and tables given to the worker */
	COUNT_BYTES_OUT, /* of answers and tables given back */
	COUNT_CACHE_HITS,
	COUNT_CACHE_MISSES,
	COUNT_FALLBACKS,    /* values that stayed on or came back to the CPU for lack of memory */
	COUNT_RING_WAITS,   /* times that a backend found no free slot */
	COUNT_RING_WAIT_US, /* and how long they waited */
	COUNT_RESTARTS,     /* of the worker after an error */
	COUNT_SEARCHES,     /* for pairs of sets */
	COUNT_PAIRS,        /* of sets, given back */
	COUNT_COLUMN_KEYS,  /* keys that came from cached columns */
	COUNT_VALUES_OUT,   /* cached values that were pushed out */
	COUNT_COLUMNS_OUT,  /* chunks of cached columns that were */
	GPU_COUNTERS
} GpuCounter;

/* What is cached of a kind: values, or chunks of columns. */
typedef struct GpuCopies
{
	pg_atomic_uint32 count;
	pg_atomic_uint64 bytes;
} GpuCopies;

/* A column of which chunks were pushed out since it was loaded. */
typedef struct GpuPushedOut
{
	StoredName column; /* with the "id" of any chunk */
	uint32 chunks;     /* 0: unused */
	Oid from;          /* the role that had loaded it */
	Oid role;          /* that needed the room last; invalid: there was less for all */
	uint64 when;       /* that was, a TimestampTz */
} GpuPushedOut;

#define GPU_PUSHED_OUT_MAX 64

typedef struct GpuShared
{
	/* the worker */
	pg_atomic_uint32 state; /* GpuWorkerState */
	int worker_pid;
	Latch *worker_latch;
	char reason[GPU_TEXT_BYTES]; /* why there is no GPU, or what failed last */
	int device_count;
	GpuDeviceInfo device[GPU_DEVICES_MAX];
	pg_atomic_uint64 progress; /* pieces of requests served, ever */

	/* slots */
	slock_t ring;
	bool serving; /* the worker takes requests */
	int slot_count;
	int free_slot;  /* first of the list, or -1 */
	int free_count; /* its length */
	uint64 queue_head;
	uint64 queue_tail;
	/* Processes with fewer than GpuFew() slots wait for the first, others for the second. */
	ConditionVariable slot_freed[2];

	/* handles */
	LWLock *handles;
	uint64 last_serial;
	uint64 secret[4];               /* of the hash that names values */
	pg_atomic_uint32 pending_frees; /* handles in this state */
	pg_atomic_uint64 clock;         /* for "used" */
	GpuCopies copies[2];            /* CACHED handles: [false] values, [true] columns */
	GpuPushedOut pushed_out[GPU_PUSHED_OUT_MAX];
	int named[GPU_HANDLES]; /* chains of CACHED handles (names.c) */
	GpuHandle handle[GPU_HANDLES];

	pg_atomic_uint64 counter[GPU_COUNTERS];
	pg_atomic_uint64 since; /* a TimestampTz: when they were zero */

	/* Handles of each process, so that most ends of transactions cost nothing. */
	int proc_count;
	pg_atomic_uint32 owned[FLEXIBLE_ARRAY_MEMBER];
} GpuShared;

/* NULL without shared_preload_libraries, or with qsketch.gpu_worker = off.  Tests look at it. */
extern PGDLLEXPORT GpuShared *gpu_shared;

/* shared.c */
extern void GpuRequestShared(int kilobytes);
extern GpuSlot *GpuSlotAt(int index);
extern int GpuSlotIndex(const GpuSlot *slot);
extern uint8 *GpuSlotData(const GpuSlot *slot);
extern uint8 *GpuAllData(Size *bytes);
extern bool GpuHasFew(void);
extern GpuSlot *GpuTrySlot(void);
extern void GpuFreeSlot(GpuSlot *slot);
extern bool GpuSubmit(GpuSlot *slot);
extern void GpuServeRequests(void);
extern GpuSlot *GpuNextRequest(void);
extern bool GpuIsIdle(void);
extern void GpuReply(GpuSlot *slot);
extern bool GpuIsDone(const GpuSlot *slot);
extern void GpuAbandonSlot(GpuSlot *slot);
extern void GpuFailRequests(void);

/* handles.c */
extern bool GpuNewHandle(GpuFamily family, GpuRef *ref);
extern void GpuDropHandle(const GpuRef *ref);
extern void GpuAttachHandle(const GpuRef *ref);
extern void GpuTransferHandle(const GpuRef *ref, const TokenNumber *token, const GpuShape *shape);
extern bool
GpuReceiveHandle(GpuFamily family, const TokenNumber *token, GpuRef *ref, GpuShape *shape);
extern void GpuDropHandles(SubTransactionId subid, SubTransactionId parent);
extern void GpuRaiseSubHandles(SubTransactionId from, SubTransactionId to);
extern void GpuPublishHandle(const GpuRef *ref, const StoredName *key);
extern bool GpuForgetCached(const GpuRef *ref);
extern int GpuListPushedOut(GpuPushedOut *list);
extern void GpuForgetPushedOut(const StoredName *column);
extern void GpuHandleUsed(int index);
extern int GpuTakePending(int *index, int room, uint32 busy);
extern void GpuTrimCache(void);
extern bool GpuEvict(int device, bool column, Oid role, bool own);
extern void GpuHandleFreed(int index);
extern bool GpuLoseHandle(const GpuRef *ref);
extern void GpuResetHandles(void);

/*
 * For the worker: show the state of a chunk.  Readers see the old state or the new one, never a
 * mix.
 */
extern void GpuShowChunk(int index, const GpuChunkShown *shown);

/* What is shown of chunks; "first" is 0 if the chunk is gone, or if the worker must be asked. */
extern void GpuReadShown(const GpuRef *ref, uint32 count, GpuChunkShown *shown);

/* names.c */
extern void GpuAddName(GpuHandle *handle);
extern void GpuRemoveName(const GpuHandle *handle);
extern bool GpuFindCached(const StoredName *name, GpuRef *ref, int *device);
extern void GpuEachChunk(const StoredName *column, void (*visit)(GpuHandle *handle, void *context),
						 void *context);
extern void
GpuEachCached(GpuFamily family, void (*visit)(GpuHandle *handle, void *context), void *context);

/* Cached handles, of which there are at most so many. */
#define GPU_CACHED_MAX (GPU_HANDLES / 2)

/* What columns may have of a limit of the cache; values have what columns leave. */
#define GPU_COLUMNS_OF(limit) ((limit) - (limit) / 8)

/* How many of "all" slots or handles are few for a process. */
static inline int
GpuFew(int all)
{
	return Max(1, all / 64);
}

/*
 * May a process take one more of "all" slots or handles, if some are free?  The
 * process has "mine", all processes of its role have "role".  The last quarter is for
 * processes that have few, and half of the quarter for roles that have few.
 */
static inline bool
GpuMayTake(int free, int all, int mine, int role)
{
	if (free > all / 4)
		return true;
	if (free <= 0 || mine >= GpuFew(all))
		return false;
	return free > all / 8 || role < Max(1, all / 16);
}

/* The name of a handle. */
static inline GpuRef
GpuRefOf(const GpuHandle *handle)
{
	return (GpuRef){ handle->serial, (int) (handle - gpu_shared->handle), handle->family };
}

static inline GpuWorkerState
GpuStateNow(void)
{
	return gpu_shared ? (GpuWorkerState) pg_atomic_read_u32(&gpu_shared->state) : GPU_OFF;
}

/* The devices that are lost.  Bits: 1 << index. */
static inline uint32
GpuLostDevices(void)
{
	uint32 lost = 0;
	int i;

	for (i = 0; i < gpu_shared->device_count; i++)
		lost |= (uint32) gpu_shared->device[i].lost << i;
	return lost;
}

static inline void
GpuCount(GpuCounter counter, int64 n)
{
	pg_atomic_fetch_add_u64(&gpu_shared->counter[counter], n);
}

#endif
