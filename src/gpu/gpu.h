/*
 * gpu.h
 *		The GPU as the rest of the module sees it: settings, the choice of the GPU, cached values.
 *
 * sketch_gpu.h, filter_gpu.h, sets_gpu.h and column_gpu.h declare the functions of the families.
 *
 * src/gpu/gpu.h
 */
#ifndef QS_GPU_GPU_H
#define QS_GPU_GPU_H

#include "gpu/shared.h"
#include "pgbase/state.h"

/* Defines the settings, and requests shared memory and the worker.  Called from _PG_init(). */
extern void GpuInit(void);

/* True if a GPU may be used.  Raises an error if qsketch.device is gpu and no GPU is available. */
extern bool GpuIsWanted(void);

/* Returns why no GPU is available. */
extern const char *GpuMissingReason(void);

/* Returns why no GPU is used; NULL: a GPU is available, or is required. */
extern const char *GpuReason(void);

/* Wait while the worker starts, at most for qsketch.gpu_timeout; false: the worker is not ready. */
extern bool GpuAwaitStart(void);

/*
 * ---- choice.c: whether qsketch.device = auto makes values and looks up keys on a GPU ----
 *
 * "bytes" is the size of the tables or bits that keys touch.  With qsketch.device = gpu, a value of
 * any size is large enough.
 */

/*
 * With auto, keys are looked up on a GPU if a sketch has at least this size, or a filter at least
 * an eighth of this size.  After a lookup, a stored value stays on the GPU.  A computed value stays
 * if it has at least this size, or if this process has loaded it before.
 */
extern uint64 GpuLookupBytes(void);

/* True if a value of this size is large enough for lookups on a GPU. */
extern bool GpuIsLarge(uint64 bytes);

/* True if a GPU fills a sketch faster than the processes of the plan do. */
extern bool GpuFillsFaster(uint64 bytes, const StateWork *work);

/*
 * Minimum number of keys of a sketch for which a GPU pays.  Assumes that the sketch is made on the
 * GPU and fetched.
 */
extern double GpuKeysLeast(uint64 bytes);

/*
 * True if enough keys are expected for a GPU to pay.  Assumes that the GPU merges the tables of all
 * processes.
 */
extern bool GpuHasKeys(uint64 bytes, const StateWork *work);

/*
 * True if fetching a value takes less time than filling it on the CPU.  The CPU fills the value by
 * "accesses" random accesses to memory.  Assumes that each process fetches its own value, and that
 * the CPU merges the fetched values.
 */
extern bool GpuPaysForFetching(double accesses, uint64 bytes);

/* Returns the reason why a "sketch" or "filter" that is too small stays on the CPU. */
extern const char *GpuSmallReason(const char *value, uint64 bytes, const StateWork *work);

/* Returns the reason why a "sketch" or "filter" that receives too few rows stays on the CPU. */
extern const char *GpuFewReason(const char *value, uint64 bytes, const StateWork *work);

/* ---- settings of the GPU worker and of the backends that use it ---- */

/* qsketch.device */
typedef enum DeviceSetting
{
	DEVICE_AUTO, /* use the GPU where it is faster */
	DEVICE_CPU,
	DEVICE_GPU /* use the GPU; an error if no GPU is available */
} DeviceSetting;

/* qsketch.gpu_worker */
typedef enum GpuWorkerKind
{
	WORKER_AUTO, /* start the worker */
	WORKER_OFF
} GpuWorkerKind;

/* qsketch.gpu_fault: the fault that the worker simulates for tests */
typedef enum GpuFault
{
	FAULT_NONE,
	FAULT_ERROR,  /* a request in GpuHandler.faulty fails, and then all devices count as failed */
	FAULT_MEMORY, /* no device memory for any new value */
	FAULT_SPILL,  /* no device memory for keys of sketches, or for sorting rows of sets */
	FAULT_SLOW,   /* the worker sleeps 20 ms before each piece of a request */
	FAULT_HANG,   /* no request is served */
	FAULT_SPREAD, /* the chunks of a table are spread over the devices */
	FAULT_LOST    /* device GPU_FAULTY_DEVICE fails, and cannot be opened */
} GpuFault;

/* The index in GpuShared.device of the device that fails with FAULT_LOST. */
#define GPU_FAULTY_DEVICE 2

extern int device_setting;
extern int gpu_worker_kind;
extern int gpu_buffer_size;  /* kB */
extern int gpu_memory_limit; /* MB on each device; 0: no limit */
extern int gpu_cache_size;   /* MB */
extern char *gpu_devices;
extern int gpu_min_size; /* kB: smallest sketch for which auto uses a GPU; -1: choice.c decides */
extern int gpu_min_keys; /* minimum number of keys that auto looks up on a GPU */
extern int gpu_min_elements; /* minimum number of elements for auto to find pairs on a GPU */
extern int gpu_split_time;   /* ms: minimum expected time of a search that all devices share */
extern bool gpu_columns_enabled;
extern int gpu_timeout; /* seconds without progress of the worker until a backend raises an error */
extern int gpu_fault;

extern void GpuDefineSettings(void);

/*
 * Read at most "room" device numbers from qsketch.gpu_devices.  Returns the length of the list; 0:
 * all devices are to be used.
 */
extern int GpuDeviceNumbers(int *number, int room);

/* ---- cached values: copies of stored values on devices, for lookups of many keys ---- */

/* How a family names and loads its stored values. */
typedef struct GpuStored
{
	GpuFamily family;
	Size header_bytes; /* size of the header with which the format begins */

	/*
	 * Copies a value to a device; false: no memory or no handle is free.  NULL: the family has no
	 * lookups.
	 */
	bool (*load)(const void *value, GpuRef *ref);
} GpuStored;

/* Write the name of a value in a TOAST table; false: the datum is shorter than a header. */
extern bool GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key);

/* Write the name of a value whose bytes are all in memory. */
extern void GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key);

/* The number of the GPU that has a cached value of this name; -1: no GPU. */
extern int GpuOfCached(const StoredName *key);

/* Keys to look up, and the array for their answers. */
typedef struct GpuLookup
{
	const GpuStored *stored;
	int op; /* the family's request for a lookup */
	const uint64 *key;
	size_t count;
	void *answer;
	size_t answer_bytes; /* size of a key's answer */
} GpuLookup;

/* True if a GPU may be used, and "count" keys are enough for a lookup on a GPU. */
extern bool GpuMayLookup(size_t count);

/*
 * Look up keys in the cached value of this name; false: no such value is cached, or the lookup
 * failed, usually because the value was freed.
 */
extern bool GpuLookupCached(const GpuLookup *lookup, const StoredName *name);

/*
 * Copy a value to a device, and look up keys in the copy.  If "name" is NULL, the copy is then
 * freed.  Otherwise it may stay cached under "name".  False: the copy or the lookup failed, usually
 * for lack of device memory.
 */
extern bool GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name);

#endif
