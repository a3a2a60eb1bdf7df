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
 * Is the GPU to be used where it pays?  An error if it has to be used and is
 * not there.
 */
extern bool GpuIsWanted(void);

/* Why there is none, where there is none. */
extern const char *GpuMissingReason(void);

/* Why does nothing go to a GPU?  NULL: there is one, or there has to be one. */
extern const char *GpuReason(void);

/* Wait while the worker starts, for qsketch.gpu_timeout at most; is it there then? */
extern bool GpuAwaitStart(void);

/*
 * ---- choice.c: where auto makes values, and looks up keys ----
 *
 * "bytes" are those of the tables or bits that keys touch.  With qsketch.device = gpu all
 * values are large enough.
 */

/* The size from which on lookups go to a GPU, and values stay there for the next one. */
extern uint64 GpuLookupBytes(void);

/* Is a value so large? */
extern bool GpuIsLarge(uint64 bytes);

/* Does a GPU fill a sketch faster than the processes of the plan? */
extern bool GpuFillsFaster(uint64 bytes, const StateWork *work);

/* The fewest keys that are worth the way of a sketch to a GPU and back. */
extern double GpuKeysLeast(uint64 bytes);

/* Are so many keys expected?  A GPU merges the tables of all processes, which a CPU would do, too. */
extern bool GpuHasKeys(uint64 bytes, const StateWork *work);

/*
 * Each process fetches a value of its own, and merges those of others.  Does that take less time
 * than filling it on the CPU, with so many random accesses to memory?
 */
extern bool GpuPaysForFetching(double accesses, uint64 bytes);

/* The reason why a "sketch" or "filter" that is too small stays on the CPU. */
extern const char *GpuSmallReason(const char *value, uint64 bytes, const StateWork *work);

/* The reason why one stays there that gets too few rows. */
extern const char *GpuFewReason(const char *value, uint64 bytes, const StateWork *work);

/* ---- settings of the GPU worker and of the backends that use it ---- */

/* qsketch.device */
typedef enum DeviceSetting
{
	DEVICE_AUTO, /* the GPU where it is faster */
	DEVICE_CPU,
	DEVICE_GPU /* the GPU, or an error if there is none */
} DeviceSetting;

/* qsketch.gpu_worker */
typedef enum GpuWorkerKind
{
	WORKER_AUTO, /* the GPUs that it finds */
	WORKER_OFF
} GpuWorkerKind;

/* qsketch.gpu_fault: what the worker does wrong, for tests */
typedef enum GpuFault
{
	FAULT_NONE,
	FAULT_ERROR,  /* the next insert or query fails, and no GPU answers any more */
	FAULT_MEMORY, /* there is no device memory for any new sketch */
	FAULT_SPILL,  /* there is none for any insert either */
	FAULT_SLOW,   /* every request takes 20 ms more */
	FAULT_HANG,   /* no request is served */
	FAULT_SPREAD, /* each chunk of a table goes to another device */
	FAULT_LOST    /* one device fails, and cannot be opened */
} GpuFault;

/* The device that fails with FAULT_LOST: its number among the devices in use. */
#define GPU_FAULTY_DEVICE 2

extern int device_setting;
extern int gpu_worker_kind;
extern int gpu_buffer_size;  /* kB */
extern int gpu_memory_limit; /* MB on each device, 0: all there is */
extern int gpu_cache_size;   /* MB */
extern char *gpu_devices;
extern int gpu_min_size;     /* kB: smallest sketch that auto moves; -1: choice.c decides */
extern int gpu_min_keys;     /* fewest keys that auto looks up there */
extern int gpu_min_elements; /* of collections whose pairs auto finds there */
extern int gpu_split_time;   /* ms: expected time of a search that all devices share; for tests */
extern bool gpu_columns_enabled;
extern int gpu_timeout; /* s without progress of the worker */
extern int gpu_fault;

extern void GpuDefineSettings(void);

/* Numbers in qsketch.gpu_devices: how many, at most "room"; 0 = all devices. */
extern int GpuDeviceNumbers(int *number, int room);

/*
 * ---- cached values: copies of stored values on devices, for lookups of many keys ----
 *
 * Their names, and lookups in them.
 */

/* What differs between the stored values of the families. */
typedef struct GpuStored
{
	GpuFamily family;
	Size header_bytes; /* of its format, which begins with a header */

	/* Take a value to a device; false if there is no memory for it.  NULL: has no lookups. */
	bool (*load)(const void *value, GpuRef *ref);
} GpuStored;

/* The name of a value in a TOAST table; false if it is shorter than a header. */
extern bool GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key);

/* The name of a value whose bytes are all here. */
extern void GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key);

/* The number of the GPU that a cached value of this name is on, or -1. */
extern int GpuOfCached(const StoredName *key);

/* Keys to look up, and where their answers go. */
typedef struct GpuLookup
{
	const GpuStored *stored;
	int op; /* of the family */
	const uint64 *key;
	size_t count;
	void *answer;
	size_t answer_bytes; /* of each key */
} GpuLookup;

/* May a device look up so many keys?  The value is not known yet. */
extern bool GpuMayLookup(size_t count);

/* Look up in the cached value of this name; false if there is none. */
extern bool GpuLookupCached(const GpuLookup *lookup, const StoredName *name);

/*
 * Take a value to a device, and look up there.  The value stays there under its
 * name, or goes if "name" is NULL.  False if there is no memory for it.
 */
extern bool GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name);

#endif
