/*
 * device.cuh
 *		A device on the host side: streams, memory, errors; what all families share.
 *
 * One stream runs all kernels of a device in order.  Two more streams carry
 * copies in and out.  Device memory comes from qs_device_alloc(), which counts
 * it, so that a leak shows in the statistics.
 *
 * Errors: each CUDA call goes through QS_CUDA_TRY, which notes the error in
 * the qs_cuda and returns from the caller.  A launch is followed by
 * QS_CUDA_LAUNCHED; qs_launch() launches and checks.
 *
 * cuda/device.cuh
 */
#ifndef QS_DEVICE_CUH
#define QS_DEVICE_CUH

#include <cuda_runtime.h>

#include "qs_cuda.h"

/* Threads of a block, unless a kernel has a reason for another number. */
#define QS_BLOCK 256

/* Staging slots: one is filled while another is worked on. */
#define QS_SLOTS 2

/* One slot of the staging memory: host keys pass through it. */
struct qs_slot
{
	uint8_t *host;       /* pinned */
	uint8_t *device;     /* of the same size */
	cudaEvent_t arrived; /* the copy in is complete */
	cudaEvent_t done;    /* the kernel is complete */
	cudaEvent_t left;    /* the copy out is complete */
};

/* Device memory in words. */
struct qs_buffer
{
	uint64_t *word;
	uint64_t room;
};

struct qs_cuda
{
	int device;
	int multiprocessors;
	int threads; /* the most threads that one multiprocessor holds */
	size_t l2_bytes;
	size_t shared_max; /* shared memory that one block may ask for */
	cudaStream_t stream, in, out;
	cudaEvent_t reached; /* a point of the stream that another device waits for */
	cudaEvent_t awaited; /* a point of a stream that the host waits for */
	void (*pause)(void); /* called while the host waits; or NULL */
	cudaMemPool_t pool; /* of device memory; NULL: the device has none */
	size_t freed;       /* bytes since the pool was last trimmed */
	qs_slot slot[QS_SLOTS];
	unsigned turn; /* of the slots */
	size_t slot_bytes;
	uint64_t *result;      /* a few words on the device ... */
	uint64_t *host_result; /* ... and where they are copied to, pinned */
	uint64_t *scratch;     /* more words on the device; each family uses them as it likes */
	uint8_t *work;         /* workspace; grows, freed by qs_workspace_free() */
	size_t work_bytes;
	int copies;         /* chunks of cached columns, which these are for */
	qs_buffer gathered; /* keys */
	qs_buffer tiles;    /* lists of runs or tiles */
	qs_buffer table;    /* distinct keys, while they are counted */
	uint64_t base;      /* device memory that is not for values */
	uint64_t limit;     /* of memory for values */
	qs_cuda_bulk bulk;
	qs_cuda_error error;
	qs_cuda_stats stats;
};

/* Words of qs_cuda.result and .scratch. */
#define QS_RESULT_WORDS  8
#define QS_SCRATCH_WORDS 4096

/* ---- device.cu ---- */

/* Note an error; QB_OK for cudaSuccess. */
extern qb_status qs_cuda_note(qs_cuda_error *error, cudaError_t code, const char *call);

#ifdef QS_CUDA_FAULTS
/* Test builds: must this call fail? */
extern "C" bool qs_cuda_fault(void);
#else
static inline bool
qs_cuda_fault(void)
{
	return false;
}
#endif

#define QS_CUDA_TRY_NOTED(error, call)                                                          \
	do                                                                                          \
	{                                                                                           \
		qb_status try_status_ =                                                                 \
			qs_cuda_note((error), qs_cuda_fault() ? cudaErrorMemoryAllocation : (call), #call); \
		if (try_status_ != QB_OK)                                                               \
			return try_status_;                                                                 \
	}                                                                                           \
	while (0)

#define QS_CUDA_TRY(gpu, call) QS_CUDA_TRY_NOTED(&(gpu)->error, call)

/* After a launch: did it start? */
#define QS_CUDA_LAUNCHED(gpu) QS_CUDA_TRY(gpu, cudaGetLastError())

#define QS_TRY(expression)                    \
	do                                        \
	{                                         \
		qb_status try_status_ = (expression); \
		if (try_status_ != QB_OK)             \
			return try_status_;               \
	}                                         \
	while (0)

/* Make the device current for this host thread. */
extern qb_status qs_cuda_enter(qs_cuda *gpu);

/*
 * Device memory of at least 1 byte, aligned to 256: zeroed, or as it is.  It may be used,
 * and freed, in the order of gpu->stream; on another stream only after it was synchronized.
 */
extern qb_status qs_device_take(qs_cuda *gpu, size_t bytes, void **pointer);
extern qb_status qs_device_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
extern void qs_device_free(qs_cuda *gpu, void *pointer, size_t bytes);

/* Get the workspace, at least this large; its old content is lost. */
extern qb_status qs_workspace(qs_cuda *gpu, size_t bytes, uint8_t **pointer);

/* Free the workspace. */
extern void qs_workspace_free(qs_cuda *gpu);

/* Is there room for a value of so many bytes, by the limit? */
extern qb_status qs_ask_room(const qs_cuda *gpu, uint64_t bytes);

/*
 * Copy device memory of "from", which may be the same device, in order with the kernels of
 * both.  It goes straight from device to device where they are peers (qs_cuda_join()), and
 * through the driver's own memory of the host elsewhere.
 */
extern qb_status
qs_carry(qs_cuda *to, void *at, qs_cuda *from, const void *pointer, uint64_t bytes);

/*
 * Wait for all that is queued on a stream, or for an event.  While they wait others may use
 * other devices from this thread (qs_cuda_options.pause).
 */
extern qb_status qs_wait(qs_cuda *gpu, cudaStream_t stream);
extern qb_status qs_wait_event(qs_cuda *gpu, cudaEvent_t event);

/* Note an error of another device as one of this device, if it has none of its own. */
static inline qb_status
qs_pass_error(qs_cuda *gpu, const qs_cuda *other, qb_status status)
{
	if (status != QB_OK && !gpu->error.name)
		gpu->error = other->error;
	return status;
}

/* Copy the first words of gpu->result to gpu->host_result and wait. */
extern qb_status qs_read_result(qs_cuda *gpu, int words);

static inline uint64_t
qs_ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Blocks that fill the device, but no more than "wanted". */
template <typename Kernel>
static qb_status
qs_grid(qs_cuda *gpu, Kernel kernel, int block, size_t shared, uint64_t wanted, int *grid)
{
	int each = 0;
	uint64_t most;

	QS_CUDA_TRY(gpu, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared));
	most = (uint64_t) (each > 0 ? each : 1) * gpu->multiprocessors;
	*grid = (int) (wanted < most ? (wanted > 0 ? wanted : 1) : most);
	return QB_OK;
}

/*
 * Launch a kernel with a thread for each item.  If the items are more than the
 * threads that fill the device, so many threads take the items in strides.
 */
template <typename... Parameters, typename... Arguments>
static qb_status
qs_launch(qs_cuda *gpu, void (*kernel)(Parameters...), uint64_t items, Arguments... arguments)
{
	int grid;

	QS_TRY(qs_grid(gpu, kernel, QS_BLOCK, 0, qs_ceil_div(items, QS_BLOCK), &grid));
	kernel<<<grid, QS_BLOCK, 0, gpu->stream>>>(arguments...);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

#endif
