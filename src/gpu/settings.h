/*
 * settings.h
 *		Settings of the GPU worker and of the backends that use it.
 *
 * src/gpu/settings.h
 */
#ifndef QS_GPU_SETTINGS_H
#define QS_GPU_SETTINGS_H

#include "postgres.h"

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
	FAULT_ERROR,  /* the next insert or query fails as on a broken GPU */
	FAULT_MEMORY, /* there is no device memory for any new sketch */
	FAULT_SPILL,  /* there is none for any insert either */
	FAULT_SLOW,   /* every request takes 20 ms more */
	FAULT_HANG    /* no request is served */
} GpuFault;

extern int device_setting;
extern int gpu_worker_kind;
extern int gpu_buffer_size;  /* kB */
extern int gpu_memory_limit; /* MB on each device, 0: all there is */
extern int gpu_cache_size;   /* MB */
extern char *gpu_devices;
extern int gpu_min_size;     /* kB: smallest sketch that auto moves */
extern int gpu_min_keys;     /* fewest keys that auto looks up there */
extern int gpu_min_elements; /* of collections whose pairs auto finds there */
extern int gpu_split_time;   /* ms: expected time of a search that all devices share; for tests */
extern bool gpu_columns_enabled;
extern int gpu_timeout; /* s without progress of the worker */
extern int gpu_fault;

extern void GpuDefineSettings(void);

/* Numbers in qsketch.gpu_devices: how many, at most "room"; 0 = all devices. */
extern int GpuDeviceNumbers(int *number, int room);

#endif
