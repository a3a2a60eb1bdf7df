/*
 * device.cuh
 *		What all families share: a device on the host side, and small functions of kernels.
 *
 * One stream runs all kernels of a device in order, except copy_spans (copy.cu).  Two more streams
 * copy data to the device and back.  qs_device_take() and qs_device_alloc() allocate device memory
 * and count its bytes, so the statistics show a leak.
 *
 * Errors: QS_CUDA_TRY makes a CUDA call.  If the call fails, the macro stores the error in the
 * qs_cuda and returns from the function.  qs_launched() checks a launch; qs_launch() launches a
 * kernel and checks the launch.
 *
 * cuda/device.cuh
 */
#ifndef QS_DEVICE_CUH
#define QS_DEVICE_CUH

#include <cuda_runtime.h>

#include "qs_cuda.h"

extern "C"
{
#include "base/hash.h"
}

/* The default number of threads of a block. */
#define QS_BLOCK 256

/* Number of staging slots.  The host fills a slot while a kernel works on another slot. */
#define QS_SLOTS 2

/* A slot of the staging memory, through which host keys are copied to the device. */
struct qs_slot
{
	uint8_t *host;       /* pinned host memory */
	uint8_t *device;     /* device memory of the size of "host" */
	cudaEvent_t arrived; /* event: the copy to the device is complete */
	cudaEvent_t done;    /* event: the kernel is complete */
	cudaEvent_t left;    /* event: the copy to the host is complete */
};

/* Device memory in words of 8 bytes. */
struct qs_buffer
{
	uint64_t *word;
	uint64_t room;
};

struct qs_cuda
{
	int device;
	int multiprocessors;
	int threads; /* largest number of resident threads of a multiprocessor */
	size_t l2_bytes;
	size_t shared_max; /* largest shared memory of a block, in bytes */
	bool writes_host;  /* kernels can write page-locked memory at its host addresses */
	cudaStream_t stream, in, out;
	cudaEvent_t reached; /* event in "stream", for which another device or "out" waits */
	cudaEvent_t awaited; /* event in a stream, for which the host waits */
	cudaEvent_t paced;   /* event: the work queued before the last qs_cuda_pace() is done */
	void (*pause)(void); /* called while the host waits, or NULL */
	cudaMemPool_t pool;  /* pool of device memory; NULL: the device has no pools */
	uint64_t peers;      /* bit d: this device reads the memory of device d */
	size_t pool_spare;   /* bytes of device memory / POOL_SPARE_FRACTION */
	size_t freed;        /* bytes freed since the pool was last trimmed */
	qs_slot slot[QS_SLOTS];
	unsigned next_slot; /* number of the next slot */
	size_t slot_bytes;
	uint64_t *result;      /* device memory for results */
	uint64_t *host_result; /* pinned host memory for results: qs_read_bytes() */
	uint64_t *scratch;     /* device memory that any family may overwrite */
	uint8_t *work;         /* workspace, which grows on demand */
	size_t work_bytes;
	int cached_chunks;  /* number of cached chunks; at 0 the next three buffers are freed */
	qs_buffer gathered; /* gathered keys */
	qs_buffer tiles;    /* a list of runs, or data of groups and lists of tiles */
	qs_buffer table;    /* hash tables for counting distinct keys */
	uint64_t base;      /* bytes that qs_cuda_open() allocated, which belong to no value */
	uint64_t limit;     /* largest device memory of all values, in bytes */
	qs_cuda_bulk bulk;
	qs_cuda_error error;
	struct
	{
		uint64_t device_bytes; /* bytes of allocated device memory */
		uint64_t bulk_keys;    /* number of keys inserted by partitioning; for tests */
	} stats;
};

/* Words of "result" and of "host_result", enough for a count of each group; words of "scratch". */
#define QS_RESULT_WORDS  512
#define QS_SCRATCH_WORDS 4096

/* ---- device.cu and copy.cu ---- */

/* Store an error, and return its status; QB_OK for cudaSuccess. */
extern qb_status qs_cuda_note(qs_cuda_error *error, cudaError_t code, const char *call);

#ifdef QS_CUDA_FAULTS
/* Test builds: true if this call must fail. */
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

#define QS_TRY(expression)                    \
	do                                        \
	{                                         \
		qb_status try_status_ = (expression); \
		if (try_status_ != QB_OK)             \
			return try_status_;               \
	}                                         \
	while (0)

/* Make the device current for this host thread, and clear gpu->error. */
extern qb_status qs_cuda_enter(qs_cuda *gpu);

/*
 * Allocate device memory, aligned to 256 bytes; qs_device_alloc() also zeroes it.  The memory may
 * be used and freed in the order of gpu->stream.  Before another stream uses the memory, that
 * stream must wait for gpu->stream.
 */
extern qb_status qs_device_take(qs_cuda *gpu, size_t bytes, void **pointer);
extern qb_status qs_device_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
extern void qs_device_free(qs_cuda *gpu, void *pointer, size_t bytes);

/* Return the workspace, with at least "bytes" bytes.  Its content is undefined. */
extern qb_status qs_workspace(qs_cuda *gpu, size_t bytes, uint8_t **pointer);

/* Free the workspace. */
extern void qs_workspace_free(qs_cuda *gpu);

/*
 * Grow a buffer to at least "words" words, within the limit.  If the buffer grows, its content is
 * lost.
 */
extern qb_status qs_have_room(qs_cuda *gpu, qs_buffer *buffer, uint64_t words);
extern void qs_free_room(qs_cuda *gpu, qs_buffer *buffer);

/* Return QB_NO_MEMORY if a value of this many bytes would exceed the limit. */
extern qb_status qs_ask_room(const qs_cuda *gpu, uint64_t bytes);

/*
 * Queue a copy on gpu->stream.  "bytes" may be 0.  qs_copy_now() also waits for the copy, so the
 * caller may reuse or free the host memory on return.
 */
extern qb_status
qs_copy(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind);
extern qb_status
qs_copy_now(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind);

/* True if this is page-locked host memory, which devices can copy from and to directly. */
extern bool qs_is_pinned(const void *pointer);

/* The two arrays of a value in device memory.  "extra" continues "table". */
struct qs_extent
{
	const uint8_t *table;
	uint64_t table_bytes;
	const uint8_t *extra;
	uint64_t extra_bytes;
};

/*
 * Copy pieces of a value to the host, and wait for all copies together.  If host memory is not
 * page-locked, wait for each copy.  The copies run on gpu->out, in parallel with gpu->stream.  If
 * work on gpu->stream may still change the value, call qs_follow_stream() first.  QB_NO_MEMORY: a
 * piece is not within the value.
 */
extern qb_status
qs_copy_pieces(qs_cuda *gpu, const qs_extent &value, const qs_cuda_piece *piece, int count);

/* Make later work on gpu->out wait for all work that is queued on gpu->stream. */
extern qb_status qs_follow_stream(qs_cuda *gpu);

/*
 * Copy memory of device "from" to device "to", in order with the kernels of both devices.  "from"
 * may be "to".  Peers (qs_cuda_join()) copy directly.  For other devices the driver copies through
 * host memory.
 */
extern qb_status
qs_transfer(qs_cuda *to, void *at, qs_cuda *from, const void *pointer, uint64_t bytes);

/* True if kernels of "gpu" may read the memory of "other". */
static inline bool
qs_reads(const qs_cuda *gpu, const qs_cuda *other)
{
	return gpu->peers >> other->device & 1;
}

/* Make later work on "gpu" wait for all work that is queued on "other". */
extern qb_status qs_follow(qs_cuda *gpu, qs_cuda *other);

/*
 * Make later work on "other" wait for all work queued on "gpu".  So "other" frees or changes no
 * memory that "gpu" still reads.  A failure returns QB_DEVICE_ERROR.
 */
extern qb_status qs_hold(qs_cuda *gpu, qs_cuda *other);

/*
 * Wait for all work queued on a stream, or for an event.  During the wait the thread may serve
 * other devices (qs_cuda_options.pause).
 */
extern qb_status qs_wait(qs_cuda *gpu, cudaStream_t stream);
extern qb_status qs_wait_event(qs_cuda *gpu, cudaEvent_t event);

/*
 * Return cudaSuccess if an event has occurred, cudaErrorNotReady if it has not, or an error.
 * Clears CUDA's last error, so that the next call does not report cudaErrorNotReady.
 */
extern cudaError_t qs_query_event(cudaEvent_t event);

/*
 * After a failure, copy the error of "other" to "gpu", unless "gpu" has an error.  Returns
 * "status".
 */
static inline qb_status
qs_pass_error(qs_cuda *gpu, const qs_cuda *other, qb_status status)
{
	if (status != QB_OK && !gpu->error.name)
		gpu->error = other->error;
	return status;
}

/* Copy at most QS_RESULT_WORDS words of device memory to gpu->host_result, and wait. */
extern qb_status qs_read_bytes(qs_cuda *gpu, const void *from, uint64_t bytes);

/* Copy the first words of gpu->result to gpu->host_result, and wait. */
static inline qb_status
qs_read_result(qs_cuda *gpu, int words)
{
	return qs_read_bytes(gpu, gpu->result, words * sizeof(uint64_t));
}

static inline uint64_t
qs_ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Return the number of bits that hold any number below "count". */
static inline int
qs_bits_of(uint64_t count)
{
	return count <= 1 ? 0 : 64 - __builtin_clzll(count - 1);
}

/*
 * Return the number of slots, 2^k, of a hash table that is at most half full with "count" elements.
 */
__host__ __device__ __forceinline__ uint64_t
qs_slots_for(uint64_t count)
{
	uint64_t slots = 64;

	while (slots < 2 * count)
		slots *= 2;
	return slots;
}

/* Set *grid to the number of blocks that fill the device, but to at most "wanted". */
template <typename Kernel>
static qb_status
qs_grid(qs_cuda *gpu, Kernel kernel, int block, size_t shared, uint64_t wanted, int *grid)
{
	int each = 0;
	uint64_t most;

	*grid = wanted > 0 ? (int) wanted : 1;
	if (wanted <= (uint64_t) gpu->multiprocessors)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared));
	most = (uint64_t) (each > 0 ? each : 1) * gpu->multiprocessors;
	if (wanted > most)
		*grid = (int) most;
	return QB_OK;
}

/* Return the error of the preceding launch, or QB_OK. */
static inline qb_status
qs_launched(qs_cuda *gpu)
{
	QS_CUDA_TRY(gpu, cudaGetLastError());
	return QB_OK;
}

/*
 * Run an algorithm of CUB.  The first call returns the bytes of memory that the algorithm needs.
 * The second call runs the algorithm in the workspace.
 */
template <typename Call>
static qb_status
qs_run_cub(qs_cuda *gpu, Call call)
{
	uint8_t *memory;
	size_t bytes = 0;

	QS_CUDA_TRY(gpu, call((void *) NULL, bytes));
	QS_TRY(qs_workspace(gpu, bytes, &memory));
	QS_CUDA_TRY(gpu, call((void *) memory, bytes));
	return QB_OK;
}

/* Allow each block of a kernel this many bytes of dynamic shared memory. */
template <typename Kernel>
static qb_status
qs_allow_shared(qs_cuda *gpu, Kernel kernel, size_t shared)
{
	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	return QB_OK;
}

/* The shape of a launch. */
struct qs_shape
{
	uint64_t blocks; /* blocks with work; fewer are launched if they fill the device */
	int threads;     /* threads of a block */
	size_t shared;   /* bytes of dynamic shared memory of a block */
};

/* Launch a kernel whose blocks process their work in grid strides. */
template <typename... Parameters, typename... Arguments>
static qb_status
qs_launch_blocks(qs_cuda *gpu, void (*kernel)(Parameters...), qs_shape shape,
				 Arguments... arguments)
{
	int grid;

	if (shape.shared > 0)
		QS_TRY(qs_allow_shared(gpu, kernel, shape.shared));
	QS_TRY(qs_grid(gpu, kernel, shape.threads, shape.shared, shape.blocks, &grid));
	kernel<<<grid, shape.threads, shape.shared, gpu->stream>>>(arguments...);
	return qs_launched(gpu);
}

/*
 * Launch a kernel that processes items by qs_for_each(): one thread per item, or fewer threads if
 * they fill the device.
 */
template <typename... Parameters, typename... Arguments>
static qb_status
qs_launch(qs_cuda *gpu, void (*kernel)(Parameters...), uint64_t items, Arguments... arguments)
{
	return qs_launch_blocks(gpu, kernel, { qs_ceil_div(items, QS_BLOCK), QS_BLOCK, 0 },
							arguments...);
}

/* Return "status".  After a failure, also destroy *object and set it to NULL. */
template <typename Object>
static qb_status
qs_keep(qb_status status, Object **object, void (*destroy)(Object *))
{
	if (status != QB_OK)
	{
		destroy(*object);
		*object = NULL;
	}
	return status;
}

/*
 * ---- batches of keys, copied from the host, and answers, copied back ----
 *
 * Host keys are copied through QS_SLOTS slots of pinned memory, each with device memory of the same
 * size.  While a kernel works on one slot, the host fills another slot and queues its copy.  Arrays
 * in pinned memory are copied directly.  Floor: the bus carries 8 bytes per key (16 with weights),
 * and the key's answer.  The bus takes longer than most kernels.
 *
 * A slot has the keys of a piece of a batch, or of several batches, followed by their weights or
 * answers.
 *
 * qs_for_pieces() copies and processes a whole batch.
 */

/* Keys in device memory; weight NULL: all weights are 1. */
struct qs_batch
{
	const uint64_t *key;
	const int64_t *weight;
	uint64_t count;
};

/* A batch in host memory. */
struct qs_host_batch
{
	const uint64_t *key;
	const int64_t *weight; /* or NULL */
	void *answer;          /* or NULL */
	size_t answer_bytes;   /* bytes of a key's answer */
	uint64_t count;
	bool pinned_key, pinned_weight, pinned_answer;
};

/* Describe a host batch; answer NULL: there are no answers. */
extern qs_host_batch qs_describe(const uint64_t *key, const int64_t *weight, void *answer,
								 size_t answer_bytes, uint64_t count);

/* Return how many keys of the batch fit into a slot. */
extern uint64_t qs_piece_keys(const qs_cuda *gpu, const qs_host_batch *b);

/*
 * Copy batches one after another into a slot, and make later kernels wait for the copies.  *ready
 * describes the keys on the device.  The slot must be large enough for all batches.  Either all
 * batches have weights or no batch has weights.
 */
extern qb_status
qs_fill_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, int batches, qs_batch *ready);

/* Return the index of the next slot.  Successive calls return the indexes of all slots in turn. */
static inline int
qs_next_slot(qs_cuda *gpu)
{
	return (int) (gpu->next_slot++ % QS_SLOTS);
}

/* Return the device memory for the answers of a slot. */
extern void *qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b);

/*
 * Record the end of the slot's kernel, and queue the copy of the answers to the host, if there are
 * answers.  Call this after the launch.
 */
extern qb_status qs_finish_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *piece);

/*
 * Wait for a slot's answers, and copy them to the caller's array.  Call this before the slot is
 * filled again, and after the last piece.
 */
extern qb_status qs_drain_slot(qs_cuda *gpu, qs_slot *slot, qs_host_batch *piece);

/* Return "count" keys of a batch, from index "at" on. */
static inline qs_host_batch
qs_piece(const qs_host_batch *b, uint64_t at, uint64_t count)
{
	qs_host_batch piece = *b;

	piece.key += at;
	piece.weight += piece.weight ? at : 0;
	if (piece.answer)
		piece.answer = (uint8_t *) piece.answer + at * piece.answer_bytes;
	piece.count = count;
	return piece;
}

/*
 * Call work(ready, at, answers) for each piece of a host batch.  "work" queues kernels for the keys
 * from index "at" on.  The kernels write "answers".  On return all keys are copied, and all answers
 * are in the caller's array.
 */
template <typename Work>
static qb_status
qs_for_pieces(qs_cuda *gpu, const qs_host_batch *b, Work work)
{
	qs_host_batch waiting[QS_SLOTS] = {};
	uint64_t most = qs_piece_keys(gpu, b);

	for (uint64_t at = 0; at < b->count; at += most)
	{
		int s = qs_next_slot(gpu);
		qs_slot *slot = &gpu->slot[s];
		qs_batch ready;

		QS_TRY(qs_drain_slot(gpu, slot, &waiting[s]));
		waiting[s] = qs_piece(b, at, b->count - at < most ? b->count - at : most);
		QS_TRY(qs_fill_slot(gpu, slot, &waiting[s], 1, &ready));
		QS_TRY(work(&ready, at, qs_slot_answers(gpu, slot, b)));
		QS_TRY(qs_finish_slot(gpu, slot, &waiting[s]));
	}
	for (int s = 0; s < QS_SLOTS; s++)
		QS_TRY(qs_drain_slot(gpu, &gpu->slot[s], &waiting[s]));
	return qs_wait(gpu, gpu->in);
}

/* ---- the range of bits in which keys differ: a radix sort can skip the bits outside ---- */

/*
 * Bits that are set in any key, and bits that are set in all keys.  The keys of most columns differ
 * in 20 to 30 bits only, so a sort by these bits takes 3 or 4 passes of 8 bits instead of 8.
 */
struct qs_key_bits
{
	uint64_t any = 0;
	uint64_t all = ~UINT64_C(0);
};

/* Add the bits of more keys to *bits, and wait for the result. */
extern qb_status qs_learn_bits(qs_cuda *gpu, const int64_t *key, uint64_t count, qs_key_bits *bits);

/* The range from the first to the last bit in which any two keys differ. */
struct qs_bit_range
{
	int begin, end;
};

static inline qs_bit_range
qs_differing(const qs_key_bits &bits)
{
	uint64_t differ = bits.any & ~bits.all;

	if (differ == 0)
		return { 0, 1 };
	return { __builtin_ctzll(differ), 64 - __builtin_clzll(differ) };
}

/* ---- kernels ---- */

#define QS_ALL_LANES 0xffffffffu

typedef unsigned long long qs_u64; /* the type that atomicAdd() takes */

__device__ __forceinline__ uint32_t
qs_lane()
{
	return threadIdx.x % 32;
}

/*
 * As qb_reduce() for n below 2^32, with half as many multiplications.  Every n on a device is below
 * 2^32.
 */
__device__ __forceinline__ uint32_t
qs_reduce_short(uint64_t hv, uint64_t n)
{
	uint64_t low = (hv & UINT32_MAX) * (uint32_t) n;

	return (uint32_t) (((hv >> 32) * (uint32_t) n + (low >> 32)) >> 32);
}

/*
 * Return the group of the key with index "key" in an array of keys ordered by group.  This is the
 * first group whose "end" is greater than "key".
 */
template <typename Group>
__device__ __forceinline__ uint32_t
qs_group_at(const Group *group, uint32_t groups, uint64_t key)
{
	uint32_t low = 0, high = groups - 1;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (group[middle].end > key)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Call each(i) for all numbers below "count".  The threads of the grid process the numbers in
 * strides.
 */
template <typename Each>
__device__ __forceinline__ void
qs_for_each(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		each(i);
}

/*
 * Call each(i) for all numbers below "count".  The warps of the grid process the numbers in
 * strides.  All lanes of a warp make the same calls.
 */
template <typename Each>
__device__ __forceinline__ void
qs_for_each_of_warps(uint64_t count, Each each)
{
	uint64_t warps = (uint64_t) gridDim.x * blockDim.x / 32;

	for (uint64_t i = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count;
		 i += warps)
		each(i);
}

#endif
