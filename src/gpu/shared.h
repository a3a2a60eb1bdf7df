/*
 * shared.h
 *		Shared memory of the GPU worker and the backends, and who may access which part.
 *
 * One background worker owns the GPUs.  Backends, including parallel workers, send requests to the
 * worker through slots of a fixed size in main shared memory.  A request names the worker's values
 * by their handles, which are entries of a table.
 *
 * Families.  A value belongs to a family.  Handles, slots and names of stored values record the
 * family.  Only the family's client in the backends and its handler in the worker know the requests
 * for its values, the meaning of the data in slots, and the "shape" that describes a value.
 *
 * Slots.  A slot holds one request and its data: keys, answers, or a piece of a large value.
 *
 *	FREE		on the list of free slots
 *	FILLING		a backend has taken the slot, and writes the request
 *	QUEUED		in the queue
 *	RUNNING		the worker has taken the request from the queue
 *	DONE		the slot has the reply, and a backend waits for the reply or reads it
 *
 *	backend		FREE -> FILLING -> QUEUED or FREE, DONE -> FREE
 *	worker		QUEUED -> RUNNING -> DONE if a backend waits, else RUNNING -> FREE
 *
 * The queue is first in, first out.  The worker takes all requests from the queue, and serves them
 * in pieces.  The process that has used the least worker time is served next (worker/schedule.c).
 * Requests that change a value take effect in the order of the queue, but additions of keys of
 * chunks may take effect in any order.  A backend that stops waiting (cancelled, failed) sets
 * "abandoned" in a slot that is not DONE yet.  The worker then begins no further piece of the
 * request, and frees the slot.  While a backend holds a slot in state FILLING, it runs no code that
 * can fail.
 *
 * Handles.  A handle stands for a value that the worker has.
 *
 *	UNUSED
 *	LIVE		belongs to a backend's transaction; requests with keys may be queued
 *	CACHED		has no owner: a cached value or a cached chunk, which queries find by name
 *	PENDING_FREE	to be freed after the requests that name it
 *	LOST		belongs to a backend, but its value is gone or incomplete, after a failure
 *
 *	backend		UNUSED -> LIVE -> PENDING_FREE or CACHED, LOST -> PENDING_FREE
 *				CACHED -> PENDING_FREE beyond the limits of the cache, or to unload or
 *				replace a chunk
 *	worker		PENDING_FREE -> UNUSED when no request names it ("pending" is 0)
 *				CACHED -> PENDING_FREE beyond lowered limits, to free device memory, or if
 *				its device failed
 *				LIVE -> LOST if a posted request failed, or if its device failed
 *				when the worker ends or starts: LIVE -> LOST, LOST stays LOST, all
 *				other states -> UNUSED
 *
 * A LIVE handle changes to PENDING_FREE at the first of these events: the owner drops the handle,
 * the memory context to which the handle is "attached" is reset, the transaction ends, or the
 * backend exits.  A handle that is not "attached" also changes to PENDING_FREE when its
 * subtransaction is rolled back.  A process of a parallel plan transfers a handle to its leader.
 * The leader takes ownership of the handle, or frees it at the end of the leader's transaction.
 * Leaders outlive their workers.  A serial number distinguishes a handle from later handles with
 * the same index.
 *
 * A LIVE handle is "full" if its device has no memory for the value to grow.  The backend fetches
 * the value before it adds more keys, and continues with the CPU's engine.
 *
 * Locks.
 *	"ring" (spinlock)	slots' states and "abandoned", list of free slots, holders,
 *						queue, "serving"
 *	"handles" (LWLock)	the table of handles, except its atomic members and the members
 *						that the worker sets while it serves requests
 * The other members of a slot belong to the worker while the slot is QUEUED or RUNNING, else to the
 * slot's backend.  All other members are constant, atomic, or written by the worker only (pid,
 * latch, devices, reason).  The worker sets "reason" before "state" or "lost" refers to it.  No
 * process holds both locks.
 *
 * handles.c limits the cached columns, and all cached handles together.  A chunk is evicted for
 * another chunk, or for a value of the same role.
 *
 * Quotas.  Neither a process nor a role can take all handles, or all slots if there are at least 8:
 * GpuMayTake().  A session's role is its login role, which SET ROLE does not change.
 *
 * If a backend or the worker dies by a signal, the postmaster initializes all of this memory again.
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

/* Bytes of data in a slot, and the maximum number of keys in a slot without and with weights. */
#define GPU_SLOT_BYTES   ((Size) 256 * 1024)
#define GPU_SLOT_KEYS    ((int) (GPU_SLOT_BYTES / sizeof(uint64)))
#define GPU_SLOT_WEIGHED ((int) (GPU_SLOT_BYTES / (2 * sizeof(uint64))))

/*
 * Maximum number of requests that the worker serves together.  The data of GPU_TOGETHER slots fit
 * into half of a device's staging memory.
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
	GPU_FAILED    /* the worker ended unexpectedly, and will be restarted */
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
	GPU_FAMILY_MEMBERSHIPS, /* rows that will become collections of sets: sets_gpu.h */
	GPU_FAMILIES            /* the number of families */
} GpuFamily;

/* Names a handle. */
typedef struct GpuRef
{
	uint64 serial; /* 0: none */
	int index;
	GpuFamily family;
} GpuRef;

/* Describes a value, a request or a reply.  Each family stores its own structs in "bytes". */
typedef union GpuShape
{
	uint8 bytes[128];
	uint64 align;
} GpuShape;

typedef struct GpuSlot
{
	/* protected by the lock "ring" */
	GpuSlotState state;
	bool abandoned;
	int next; /* next free slot */
	int proc; /* number of the process that has taken the slot */

	/* the request: accessed by the worker while QUEUED or RUNNING, else by the backend */
	bool wait;     /* the process waits for the reply */
	GpuRef handle; /* the value of the request */
	GpuRef other;  /* another value that the request needs; serial 0: none */
	int op; /* the family's number of the request; the family also defines the next five members */
	int count;        /* number of keys */
	bool weighted;    /* weights follow the keys */
	uint64 offset;    /* offset of a piece */
	uint64 bytes;     /* size of a piece */
	GpuShape shape;   /* of the request or the reply */
	int done;         /* number of keys or steps that the worker has served */
	bool more;        /* for the worker: further pieces follow */
	qb_status status; /* in the reply */
	bool gone;        /* in the reply: a value that the request names no longer exists */
} GpuSlot;

/*
 * The name of a cached value: its family, its header, and its location or a hash of all its bytes.
 * The name of a chunk has the column as header, and the number of the chunk.  Names are compared
 * byte by byte, so unused bytes must be 0.
 */
typedef struct StoredName
{
	uint32 family; /* GpuFamily */
	uint32 kind;   /* a database's OID, or 0 for a hash */
	uint64 id[2];
	uint8 header[64];
} StoredName;

/*
 * The state of a chunk, which the worker publishes in shared memory, so that backends need not
 * request it.
 */
typedef struct GpuChunkState
{
	uint32 first; /* number of cached pages if they are the chunk's first pages; else 0 */
	uint64 map_lsn;
	uint64 keys; /* number of values that are not NULL */
} GpuChunkState;

typedef struct GpuHandle
{
	GpuHandleState state;
	GpuFamily family;
	uint64 serial;
	int proc;                  /* LIVE, LOST: number of the owner's process */
	int pid;                   /* LIVE, LOST: process ID of the owner, for monitoring */
	Oid role;                  /* login role of the session that created the handle */
	SubTransactionId subid;    /* LIVE, LOST: the owner's subtransaction; invalid: in transfer */
	bool attached;             /* LIVE, LOST: a memory context of the owner drops the handle */
	bool in_transfer;          /* transferred, and not received yet */
	TokenNumber token;         /* if in transfer: the token that stands for the handle */
	GpuShape shape;            /* if in transfer: facts about the value, for its receiver */
	bool full;                 /* LIVE: the device has no memory for the value to grow */
	int device;                /* set by the worker */
	uint64 bytes;              /* device memory, set by the worker */
	uint32 pages;              /* chunk: number of cached pages, set by the worker */
	GpuChunkState chunk_state; /* chunk: set by the worker, under "handles" */
	StoredName key;            /* CACHED */
	int next_named;        /* CACHED: index + 1 of the next handle in the chain; 0: last handle */
	pg_atomic_uint64 used; /* CACHED: time of the last use, by "clock" */
	pg_atomic_uint64 used_at; /* CACHED chunk: time of the last use, a TimestampTz */
	pg_atomic_uint32 pending;
} GpuHandle;

typedef struct GpuDeviceInfo
{
	int number;
	char name[64];
	char driver[32];
	uint64 memory_bytes;
	uint32 peers;                 /* devices whose memory this device can read; bits: 1 << index */
	bool lost;                    /* the device failed, and is not used until it is opened again */
	char reason[GPU_TEXT_BYTES];  /* if "lost" is set: the reason */
	pg_atomic_uint64 memory_used; /* bytes used by qsketch's values */
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
	COUNT_BYTES_OUT, /* bytes of answers and tables returned by the worker */
	COUNT_CACHE_HITS,
	COUNT_CACHE_MISSES,
	COUNT_FALLBACKS,    /* values and lookups on the CPU, usually for lack of device memory */
	COUNT_RING_WAITS,   /* times that a backend had to wait for a slot */
	COUNT_RING_WAIT_US, /* microseconds that backends have waited for slots */
	COUNT_RESTARTS,     /* failures of a device */
	COUNT_SEARCHES,     /* searches for pairs of sets */
	COUNT_PAIRS,        /* pairs of sets returned */
	COUNT_COLUMN_KEYS,  /* keys of cached columns that were counted or added */
	COUNT_VALUES_OUT,   /* cached values evicted */
	COUNT_COLUMNS_OUT,  /* chunks of cached columns evicted */
	GPU_COUNTERS
} GpuCounter;

/* Number and bytes of the cached values, or of the cached chunks of columns. */
typedef struct GpuCacheUsage
{
	pg_atomic_uint32 count;
	pg_atomic_uint64 bytes;
} GpuCacheUsage;

/* A column with chunks that were evicted since the column was loaded. */
typedef struct GpuPushedOut
{
	StoredName column; /* name of a chunk that was evicted */
	uint32 chunks;     /* number of evicted chunks; 0: the entry is unused */
	Oid from;          /* the role that loaded the column */
	Oid role;          /* the last chunk was evicted for this role; invalid: for no role */
	uint64 when;       /* time of the last eviction, a TimestampTz */
} GpuPushedOut;

#define GPU_PUSHED_OUT_MAX 64

typedef struct GpuShared
{
	/* the worker */
	pg_atomic_uint32 state; /* GpuWorkerState */
	int worker_pid;
	Latch *worker_latch;
	char reason[GPU_TEXT_BYTES]; /* why no GPU is available, or the last failure */
	int device_count;
	GpuDeviceInfo device[GPU_DEVICES_MAX];
	pg_atomic_uint64 progress; /* number of pieces of requests served so far */

	/* slots */
	slock_t ring;
	bool serving; /* the worker accepts requests */
	int slot_count;
	int free_slot;  /* head of the list; -1: empty */
	int free_count; /* length of the list */
	uint64 queue_head;
	uint64 queue_tail;
	/*
	 * Processes with fewer than GpuFew() slots wait for slot_freed[0], all other processes for
	 * slot_freed[1].
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
	int named[GPU_HANDLES]; /* for each chain: index + 1 of its first handle; 0: empty */
	GpuHandle handle[GPU_HANDLES];

	pg_atomic_uint64 counter[GPU_COUNTERS];
	pg_atomic_uint64 since; /* time when the counters began, a TimestampTz */

	/*
	 * The number of handles of each process.  If the number is 0 at the end of a transaction, the
	 * process need not search the table of handles.
	 */
	int proc_count;
	pg_atomic_uint32 handle_count[FLEXIBLE_ARRAY_MEMBER];
} GpuShared;

/* NULL without shared_preload_libraries, or with qsketch.gpu_worker = off.  Exported for tests. */
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
 * For the worker: publish the state of a chunk.  Readers see the old state or the new state, never
 * a mix of both.
 */
extern void GpuShowChunk(int index, const GpuChunkState *chunk_state);

/*
 * Read the published states of chunks.  "first" is 0 if the chunk is gone, or if its state must be
 * requested.
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

/* Maximum number of cached handles. */
#define GPU_CACHED_MAX (GPU_HANDLES / 2)

/*
 * Columns may use this part of the cache's limits of bytes and handles.  Values may use what
 * columns do not use.
 */
#define GPU_COLUMNS_OF(limit) ((limit) - (limit) / 8)

/*
 * A process has few slots or handles if their number is below this limit.  "all" is the number of
 * all slots or handles.
 */
static inline int
GpuFew(int all)
{
	return Max(1, all / 64);
}

/*
 * True if a process may take one more of "all" slots or handles.  "free" counts the free slots or
 * handles, "mine" counts the slots or handles of the process, and "role" counts the slots or
 * handles of all processes of its role.  If at most a quarter of "all" is free, only a process with
 * fewer than GpuFew() may take one more.  If at most an eighth is free, its role must also have less
 * than a sixteenth of "all".
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

/* The failed devices, as a bitmap with bit 1 << index for a device. */
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
