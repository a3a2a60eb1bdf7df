/*
 * shared.h
 *		What the GPU worker and the backends share, and which of them may access which part.
 *
 * One background worker owns the GPUs.  Backends, also parallel workers, give it requests
 * through slots of a fixed size in main shared memory.  They name the worker's values by
 * their handles, which are in a table.
 *
 * Families.  A value belongs to a family, which is noted in handles, slots and names of
 * stored values.  Three things are known only to the family, namely to its client in the
 * backends and its handler in the worker: the requests for its values, the meaning of their
 * data in slots, and the "shape" that describes a value.
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
 * The queue is first in, first out.  The worker takes all requests from the queue, and serves
 * the processes piece by piece, by the time that each has had (worker/schedule.c).  Requests
 * that change a value take effect in the order in which they were made, whoever made them.  A
 * backend that stops waiting (cancelled, failed) sets "abandoned" in a slot that is not DONE
 * yet, and the worker frees it at the end of the piece.  Between FREE and QUEUED backends run
 * nothing that can fail.
 *
 * Handles.  A handle stands for a value that the worker has.
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
 * transaction, or when the backend exits, whichever is first.  A handle that is not
 * "attached" to such memory also gets PENDING_FREE when its subtransaction is rolled back.  A
 * process of a parallel plan hands a handle over to its leader, who takes ownership of it or
 * frees it at the end of its own transaction; leaders outlive their workers.  A serial number
 * distinguishes a handle from later handles with the same index.
 *
 * A LIVE handle is "full" if its device has no memory for the value to grow.  Its backend
 * fetches the value before it adds more keys, and continues with the CPU's engine.
 *
 * Locks.
 *	"ring" (spinlock)	slots' states and "abandoned", list of free slots, holders,
 *						queue, "serving"
 *	"handles" (LWLock)	the table of handles, except "pending" and "used",
 *						which are atomic
 *	Everything else is atomic, or written by the worker alone (state, pid,
 *	devices, reason: set before "state" or "lost" says so).  Nobody holds both locks.
 *
 * The cache is limited by kind: GpuTrimCache().  A column is evicted only for another column,
 * or for a need of its own role.
 *
 * Quotas.  Neither a process nor a role can take all slots or all handles: GpuMayTake().  A
 * session's role is its login role, which SET ROLE does not change.
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

/* Bytes of data in a slot, and the number of keys that a backend sends in it. */
#define GPU_SLOT_BYTES   ((Size) 256 * 1024)
#define GPU_SLOT_KEYS    ((int) (GPU_SLOT_BYTES / sizeof(uint64)))
#define GPU_SLOT_WEIGHED ((int) (GPU_SLOT_BYTES / (2 * sizeof(uint64))))

/*
 * The most requests that are served together.  Their data fit into half of a GPU's staging
 * memory.
 */
#define GPU_TOGETHER 16

#define GPU_HANDLES     2048
#define GPU_DEVICES_MAX 16
#define GPU_TEXT_BYTES  256

typedef enum GpuWorkerState
{
	GPU_OFF,      /* the worker does not exist, or has ended */
	GPU_STARTING, /* the worker has not started yet, or is looking for devices */
	GPU_READY,    /* the worker serves requests */
	GPU_NONE,     /* the worker found no usable device: see "reason" */
	GPU_FAILED    /* the worker ended after an error, and will be restarted */
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
	GPU_FAMILY_EXACT,       /* exact counts of keys of cached columns: column_gpu.h */
	GPU_FAMILY_MEMBERSHIPS, /* rows that are to become collections of sets: sets_gpu.h */
	GPU_FAMILIES            /* the number of families */
} GpuFamily;

/* Names a handle. */
typedef struct GpuRef
{
	uint64 serial; /* 0: none */
	int index;
	GpuFamily family;
} GpuRef;

/* Describes a value besides its data.  Each family has a struct of its own for it. */
typedef union GpuShape
{
	uint8 bytes[128];
	uint64 align;
} GpuShape;

typedef struct GpuSlot
{
	/* under the lock "ring" */
	GpuSlotState state;
	bool abandoned;
	int next; /* next free slot */
	int proc; /* the process that has taken it */

	/* the request: the backend's while FILLING, then the worker's until DONE */
	bool wait;      /* the process waits for the reply */
	GpuRef handle;  /* the value of the request */
	GpuRef other;   /* another value that it needs; serial 0: none */
	int op;         /* the request, in the family's numbers; the next five are the family's, too */
	int count;      /* number of keys */
	bool weighted;  /* weights follow the keys */
	uint64 offset;  /* offset of a piece */
	uint64 bytes;   /* size of a piece */
	GpuShape shape; /* of the request or the reply */
	int done;       /* for the worker: keys or steps served so far */
	bool more;      /* for the worker: this was not the last piece */
	qb_status status; /* in the reply */
	bool gone;        /* in the reply: the value does not exist any more */
} GpuSlot;

/*
 * The name of a stored value: its family, its header, and where it is stored or a hash of all
 * its bytes.  Names are compared byte by byte, so unused bytes must be 0.
 */
typedef struct StoredName
{
	uint32 family; /* GpuFamily */
	uint32 kind;   /* a database's OID, or 0 for a hash */
	uint64 id[2];
	uint8 header[64];
} StoredName;

/*
 * The state of a chunk that the worker publishes in shared memory, so that backends need not ask
 * for it.  "first" is set if exactly the pages before it count as copied.
 */
typedef struct GpuChunkState
{
	uint32 first; /* 0: other pages count as copied, or none */
	uint64 map_lsn;
	uint64 keys; /* values that are not NULL */
} GpuChunkState;

typedef struct GpuHandle
{
	GpuHandleState state;
	GpuFamily family;
	uint64 serial;
	int proc;               /* LIVE, LOST: the owner */
	int pid;                /* LIVE, LOST: the owner's, for monitoring */
	Oid role;               /* login role of the session that made it */
	SubTransactionId subid; /* LIVE, LOST; invalid: a parallel worker's, not received yet */
	bool attached;          /* LIVE, LOST: memory of the owner drops it */
	bool in_transfer;       /* transferred to a leader that has not received it */
	TokenNumber token;      /* if in transfer: the handle is for the process that has this token */
	GpuShape shape;         /* if in transfer: what the device does not know of the value */
	bool full;              /* LIVE: the device has no memory for it to grow; fetch it */
	int device;             /* set by the worker */
	uint64 bytes;           /* device memory, set by the worker */
	uint32 pages;           /* chunk: number of pages that count as copied, set by the worker */
	GpuChunkState chunk_state; /* chunk: set by the worker, under "handles" */
	StoredName key;            /* CACHED */
	int next_named;            /* CACHED: next handle of its chain, which begins in "named" */
	pg_atomic_uint64 used;     /* CACHED: time of the last use, by "clock" */
	pg_atomic_uint64 used_at;  /* CACHED chunk: the same time as a TimestampTz */
	pg_atomic_uint32 pending;
} GpuHandle;

typedef struct GpuDeviceInfo
{
	int number;
	char name[64];
	char driver[32];
	uint64 memory_bytes;
	uint32 peers;                 /* devices whose memory this one can read; bits: 1 << index */
	bool lost;                    /* it failed, and is not used until it is opened again */
	char reason[GPU_TEXT_BYTES];  /* if it is lost: the reason */
	pg_atomic_uint64 memory_used; /* by our values */
	pg_atomic_uint64 values;
} GpuDeviceInfo;

/* The counters, in the order of the columns of qsketch_stat_gpu. */
typedef enum GpuCounter
{
	COUNT_CREATED,   /* values created or loaded */
	COUNT_BATCHES,   /* batches of keys inserted */
	COUNT_KEYS,      /* keys inserted */
	COUNT_QUERIES,   /* batches of keys looked up */
	COUNT_LOOKUPS,   /* keys looked up */
	COUNT_MERGES,    /* merges of two values */
	COUNT_FETCHES,   /* values fetched by backends */
	COUNT_BYTES_IN,  /* bytes of keys and tables sent to the worker */
	COUNT_BYTES_OUT, /* bytes of answers and tables sent back */
	COUNT_CACHE_HITS,
	COUNT_CACHE_MISSES,
	COUNT_FALLBACKS,    /* values that stayed on or came back to the CPU for lack of memory */
	COUNT_RING_WAITS,   /* times that a backend found no free slot */
	COUNT_RING_WAIT_US, /* time of these waits */
	COUNT_RESTARTS,     /* restarts of the worker after an error */
	COUNT_SEARCHES,     /* searches for pairs of sets */
	COUNT_PAIRS,        /* pairs of sets sent back */
	COUNT_COLUMN_KEYS,  /* keys that came from cached columns */
	COUNT_VALUES_OUT,   /* cached values evicted */
	COUNT_COLUMNS_OUT,  /* chunks of cached columns evicted */
	GPU_COUNTERS
} GpuCounter;

/* Amount of the cache in use by a kind: values, or chunks of columns. */
typedef struct GpuCacheUsage
{
	pg_atomic_uint32 count;
	pg_atomic_uint64 bytes;
} GpuCacheUsage;

/* A column of which chunks have been evicted since it was loaded. */
typedef struct GpuPushedOut
{
	StoredName column; /* with the "id" of any of its chunks */
	uint32 chunks;     /* 0: unused */
	Oid from;          /* the role that had loaded it */
	Oid role;          /* the role that needed the room last; invalid: the limit was lowered */
	uint64 when;       /* time of the last eviction, a TimestampTz */
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
	pg_atomic_uint64 progress; /* number of pieces of requests served so far */

	/* slots */
	slock_t ring;
	bool serving; /* the worker takes requests */
	int slot_count;
	int free_slot;  /* head of the list; -1: empty */
	int free_count; /* length of the list */
	uint64 queue_head;
	uint64 queue_tail;
	/*
	 * Processes with fewer than GpuFew() slots wait for the first, other processes for the
	 * second.
	 */
	ConditionVariable slot_freed[2];

	/* handles */
	LWLock *handles;
	uint64 last_serial;
	uint64 secret[4];               /* key of the hash that names values */
	pg_atomic_uint32 pending_frees; /* handles that are pending free */
	pg_atomic_uint64 clock;         /* clock for "used" */
	GpuCacheUsage cache_usage[2];   /* CACHED handles: [false] values, [true] columns */
	GpuPushedOut pushed_out[GPU_PUSHED_OUT_MAX];
	int named[GPU_HANDLES]; /* first handles of the chains of CACHED handles (names.c) */
	GpuHandle handle[GPU_HANDLES];

	pg_atomic_uint64 counter[GPU_COUNTERS];
	pg_atomic_uint64 since; /* time when the counters were zero, a TimestampTz */

	/*
	 * The number of handles of each process.  At the end of most transactions it is 0, and
	 * nothing is to be done.
	 */
	int proc_count;
	pg_atomic_uint32 handle_count[FLEXIBLE_ARRAY_MEMBER];
} GpuShared;

/* NULL without shared_preload_libraries, or with qsketch.gpu_worker = off.  Tests use it. */
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
extern bool GpuEvict(int device, bool column, Oid role, bool role_only);
extern void GpuHandleFreed(int index);
extern bool GpuLoseHandle(const GpuRef *ref);
extern void GpuResetHandles(void);

/*
 * For the worker: publish the state of a chunk.  Readers see the old state or the new one, never a
 * mix.
 */
extern void GpuShowChunk(int index, const GpuChunkState *chunk_state);

/*
 * Read the published states of chunks.  "first" is 0 if the chunk is gone, or if the worker must
 * be asked.
 */
extern void GpuReadChunkStates(const GpuRef *ref, uint32 count, GpuChunkState *chunk_state);

/* names.c */
extern void GpuAddName(GpuHandle *handle);
extern void GpuRemoveName(const GpuHandle *handle);
extern bool GpuFindCached(const StoredName *name, GpuRef *ref, int *device);
extern void GpuEachChunk(const StoredName *column, void (*visit)(GpuHandle *handle, void *context),
						 void *context);
extern void
GpuEachCached(GpuFamily family, void (*visit)(GpuHandle *handle, void *context), void *context);

/* The most cached handles. */
#define GPU_CACHED_MAX (GPU_HANDLES / 2)

/* The part of a cache limit that columns may have.  Values may have all that columns leave. */
#define GPU_COLUMNS_OF(limit) ((limit) - (limit) / 8)

/* The number of slots or handles, of "all", that are few for a process. */
static inline int
GpuFew(int all)
{
	return Max(1, all / 64);
}

/*
 * True if a process may take one more of "all" slots or handles, of which "free" are free.
 * The process has "mine", and all processes of its role have "role".  The last quarter is for
 * processes that have few, and half of that quarter for roles that have few.
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

/* The reference that names a handle. */
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
