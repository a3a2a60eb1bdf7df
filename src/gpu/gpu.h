/*
 * gpu.h
 *		The GPU as the rest of the module sees it: settings, whether it is used, and cached
 *		values.  sketch_gpu.h, filter_gpu.h and sets_gpu.h have what each family needs.
 *
 * src/gpu/gpu.h
 */
#ifndef QS_GPU_GPU_H
#define QS_GPU_GPU_H

#include "gpu/shared.h"
#include "pgbase/state.h"

/* Settings, shared memory and worker: from _PG_init. */
extern void GpuInit(void);

/*
 * True if the GPU is to be used where it pays.  Raises an error if it must be used and is not
 * available.
 */
extern bool GpuIsWanted(void);

/* Returns why no GPU is available. */
extern const char *GpuMissingReason(void);

/* Returns why nothing goes to a GPU; NULL: a GPU is available, or is required. */
extern const char *GpuReason(void);

/* Wait while the worker starts, for qsketch.gpu_timeout at most; false: it has not started. */
extern bool GpuAwaitStart(void);

/*
 * ---- choice.c: where auto makes values, and looks up keys ----
 *
 * "bytes" are those of the tables or bits that keys touch.  With qsketch.device = gpu a value
 * of any size is large enough.
 */

/* The size from which on keys are looked up on a GPU, and a loaded value is kept there. */
extern uint64 GpuLookupBytes(void);

/* True if a value is large enough for that. */
extern bool GpuIsLarge(uint64 bytes);

/* True if a GPU fills a sketch faster than the processes of the plan do. */
extern bool GpuFillsFaster(uint64 bytes, const StateWork *work);

/* The fewest keys for which making a sketch on a GPU and fetching it pays. */
extern double GpuKeysLeast(uint64 bytes);

/*
 * True if enough keys are expected.  A GPU merges the tables of all processes, as otherwise
 * the CPU would.
 */
extern bool GpuHasKeys(uint64 bytes, const StateWork *work);

/*
 * True if fetching a value takes less time than filling it on the CPU, with this number of
 * random accesses to memory.  Each process fetches a value of its own, and merges those of
 * other processes.
 */
extern bool GpuPaysForFetching(double accesses, uint64 bytes);

/* Returns the reason why a "sketch" or "filter" that is too small stays on the CPU. */
extern const char *GpuSmallReason(const char *value, uint64 bytes, const StateWork *work);

/* Returns the reason why a "sketch" or "filter" that gets too few rows stays on the CPU. */
extern const char *GpuFewReason(const char *value, uint64 bytes, const StateWork *work);

/* ---- settings of the GPU worker and of the backends that use it ---- */

/* qsketch.device */
typedef enum DeviceSetting
{
	DEVICE_AUTO, /* use the GPU where it is faster */
	DEVICE_CPU,
	DEVICE_GPU /* use the GPU; an error if there is none */
} DeviceSetting;

/* qsketch.gpu_worker */
typedef enum GpuWorkerKind
{
	WORKER_AUTO, /* all GPUs that are found */
	WORKER_OFF
} GpuWorkerKind;

/* qsketch.gpu_fault: the fault that the worker simulates, for tests */
typedef enum GpuFault
{
	FAULT_NONE,
	FAULT_ERROR,  /* the next insert or query fails, and then no GPU answers */
	FAULT_MEMORY, /* no device memory for any new sketch */
	FAULT_SPILL,  /* no device memory for any insert either */
	FAULT_SLOW,   /* every request takes 20 ms longer */
	FAULT_HANG,   /* no request is served */
	FAULT_SPREAD, /* each chunk of a table goes to another device */
	FAULT_LOST    /* one device fails, and cannot be opened */
} GpuFault;

/* The device that fails with FAULT_LOST, numbered among the devices in use. */
#define GPU_FAULTY_DEVICE 2

extern int device_setting;
extern int gpu_worker_kind;
extern int gpu_buffer_size;  /* kB */
extern int gpu_memory_limit; /* MB on each device; 0: all memory */
extern int gpu_cache_size;   /* MB */
extern char *gpu_devices;
extern int gpu_min_size; /* kB: smallest sketch for which auto uses a GPU; -1: choice.c decides */
extern int gpu_min_keys; /* fewest keys that auto looks up on a GPU */
extern int gpu_min_elements; /* fewest elements of collections whose pairs auto finds on a GPU */
extern int gpu_split_time;   /* ms: expected time of a search that all devices share; for tests */
extern bool gpu_columns_enabled;
extern int gpu_timeout; /* s without progress of the worker until a backend gives up */
extern int gpu_fault;

extern void GpuDefineSettings(void);

/*
 * Read the device numbers in qsketch.gpu_devices, at most "room".  Returns how many; 0: all
 * devices.
 */
extern int GpuDeviceNumbers(int *number, int room);

/*
 * ---- cached values: copies of stored values on devices, for lookups of many keys ----
 *
 * Their names, and lookups in them.
 */

/* What differs between families for stored values. */
typedef struct GpuStored
{
	GpuFamily family;
	Size header_bytes; /* size of the header with which the format begins */

	/*
	 * Copies a value to a device; false: there is no memory for it.  NULL: the family has no
	 * lookups.
	 */
	bool (*load)(const void *value, GpuRef *ref);
} GpuStored;

/* The name of a value in a TOAST table; false: the datum is shorter than a header. */
extern bool GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key);

/* The name of a value whose bytes are all in memory. */
extern void GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key);

/* The number of the GPU that has a cached value of this name; -1: none. */
extern int GpuOfCached(const StoredName *key);

/* Keys to look up, and room for their answers. */
typedef struct GpuLookup
{
	const GpuStored *stored;
	int op; /* the family's request for a lookup */
	const uint64 *key;
	size_t count;
	void *answer;
	size_t answer_bytes; /* size of a key's answer */
} GpuLookup;

/* True if a device may look up "count" keys.  The value is not known yet. */
extern bool GpuMayLookup(size_t count);

/* Look up keys in the cached value of this name; false: there is no such value. */
extern bool GpuLookupCached(const GpuLookup *lookup, const StoredName *name);

/*
 * Copy a value to a device, and look up keys there.  The value is kept under its name; with
 * "name" NULL it is freed.  False: there is no memory for it.
 */
extern bool GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name);

#endif
