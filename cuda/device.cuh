/*
 * device.cuh
 *		What all families share: a device on the host side, and small functions of kernels.
 *
 * One stream runs all kernels of a device in order.  Two more streams carry
 * copies in and out.  Device memory comes from qs_device_alloc(), which counts
 * it, so that a leak shows in the statistics.
 *
 * Errors: each CUDA call goes through QS_CUDA_TRY, which notes the error in
 * the qs_cuda and returns from the caller.  A launch is followed by
 * qs_launched(); qs_launch() launches and checks.
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

/* Threads of a block, unless a kernel has a reason for another number. */
#define QS_BLOCK 256

/* Staging slots: one is filled while another is worked on. */
#define QS_SLOTS 2

/* One slot of the staging memory: host keys pass through it. */
struct qs_slot
{
	uint8_t *host;       /* pinned */
	uint8_t *device;     /* device memory of the same size */
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
	bool writes_host;  /* kernels can write page-locked memory at its host addresses */
	cudaStream_t stream, in, out;
	cudaEvent_t reached; /* a point of the stream that another device, or "out", waits for */
	cudaEvent_t awaited; /* a point of a stream that the host waits for */
	cudaEvent_t paced;   /* the end of the work that was queued before the last qs_cuda_pace() */
	void (*pause)(void); /* called while the host waits, or NULL */
	cudaMemPool_t pool;  /* pool of device memory; NULL: the device has no pools */
	uint64_t peers;      /* devices whose memory this device reads; bits: 1 << device */
	size_t pool_spare;   /* the most unused bytes that the pool keeps */
	size_t freed;        /* bytes freed since the pool was last trimmed */
	qs_slot slot[QS_SLOTS];
	unsigned next_slot; /* number of the next slot */
	size_t slot_bytes;
	uint64_t *result;      /* words for results on the device ... */
	uint64_t *host_result; /* ... and their copy in pinned host memory */
	uint64_t *scratch;     /* more words on the device; each family uses them as it likes */
	uint8_t *work;         /* workspace; grows, freed by qs_workspace_free() */
	size_t work_bytes;
	int cached_chunks;  /* chunks of cached columns that use the next three buffers */
	qs_buffer gathered; /* gathered keys */
	qs_buffer tiles;    /* lists of runs or tiles */
	qs_buffer table;    /* distinct keys, while they are counted */
	uint64_t base;      /* device memory that is not for values */
	uint64_t limit;     /* limit of memory for values */
	qs_cuda_bulk bulk;
	qs_cuda_error error;
	struct
	{
		uint64_t device_bytes; /* device memory held now */
		uint64_t bulk_keys;    /* keys inserted by partitioning, for tests */
	} stats;
};

/* Words of .result and .host_result, with room for a count of each group; words of .scratch. */
#define QS_RESULT_WORDS  512
#define QS_SCRATCH_WORDS 4096

/* ---- device.cu, and copies: copy.cu ---- */

/* Note an error; QB_OK for cudaSuccess. */
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

/* Make the device current for this host thread. */
extern qb_status qs_cuda_enter(qs_cuda *gpu);

/*
 * Device memory of at least 1 byte, aligned to 256; qs_device_alloc() zeroes it, qs_device_take()
 * does not.  It may be used and freed in the order of gpu->stream.  Another stream must first wait
 * for that stream.
 */
extern qb_status qs_device_take(qs_cuda *gpu, size_t bytes, void **pointer);
extern qb_status qs_device_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
extern void qs_device_free(qs_cuda *gpu, void *pointer, size_t bytes);

/* Get the workspace, with at least this many bytes.  Its old content is lost. */
extern qb_status qs_workspace(qs_cuda *gpu, size_t bytes, uint8_t **pointer);

/* Free the workspace. */
extern void qs_workspace_free(qs_cuda *gpu);

/* Give a buffer room for this many words, within the limit.  Its old content is lost. */
extern qb_status qs_have_room(qs_cuda *gpu, qs_buffer *buffer, uint64_t words);
extern void qs_free_room(qs_cuda *gpu, qs_buffer *buffer);

/* Check whether the limit leaves room for a value of this many bytes. */
extern qb_status qs_ask_room(const qs_cuda *gpu, uint64_t bytes);

/*
 * Copy bytes on gpu->stream, after the kernels that are queued there.  Zero bytes are allowed.
 * qs_copy_now() also waits, so the caller may reuse or free the host memory when it returns.
 */
extern qb_status
qs_copy(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind);
extern qb_status
qs_copy_now(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind);

/* True if this is page-locked host memory, which devices can copy from and to directly. */
extern bool qs_is_pinned(const void *pointer);

/* Where a value is on a device: its table, and a second part that continues it. */
struct qs_extent
{
	const uint8_t *table;
	uint64_t table_bytes;
	const uint8_t *extra;
	uint64_t extra_bytes;
};

/*
 * Copy pieces of a value to the host, and wait once.  If the host memory is not page-locked, wait
 * for each piece.  The copies run on gpu->out, in parallel with gpu->stream.  If work queued on
 * gpu->stream may still change the value, call qs_follow_stream() first.  A piece outside of the
 * value gives QB_NO_MEMORY.
 */
extern qb_status
qs_copy_pieces(qs_cuda *gpu, const qs_extent &value, const qs_cuda_piece *piece, int count);

/* Make later work on gpu->out wait for all work that is queued on gpu->stream. */
extern qb_status qs_follow_stream(qs_cuda *gpu);

/*
 * Copy device memory of "from" to "to", in order with the kernels of both.  Both may be one device.
 * Peers (qs_cuda_join()) copy directly; otherwise the driver copies through host memory.
 */
extern qb_status
qs_transfer(qs_cuda *to, void *at, qs_cuda *from, const void *pointer, uint64_t bytes);

/* True if kernels of a device may read the memory of another device. */
static inline bool
qs_reads(const qs_cuda *gpu, const qs_cuda *other)
{
	return gpu->peers >> other->device & 1;
}

/* Make later work on "gpu" wait for all work that is queued on "other". */
extern qb_status qs_follow(qs_cuda *gpu, qs_cuda *other);

/*
 * Let another device wait for what is queued on this one, which reads its memory: nothing of it is
 * freed or changed before.  QB_DEVICE_ERROR if that fails.
 */
extern qb_status qs_hold(qs_cuda *gpu, qs_cuda *other);

/*
 * Wait for all work queued on a stream, or for an event.  Meanwhile this thread may use other
 * devices (qs_cuda_options.pause).
 */
extern qb_status qs_wait(qs_cuda *gpu, cudaStream_t stream);
extern qb_status qs_wait_event(qs_cuda *gpu, cudaEvent_t event);

/*
 * Test whether an event has come; cudaErrorNotReady: not yet.  Clears CUDA's last error, so that
 * the next call does not report it again.
 */
extern cudaError_t qs_query_event(cudaEvent_t event);

/*
 * Note an error of another device as an error of this device, unless this device has its own error.
 */
static inline qb_status
qs_pass_error(qs_cuda *gpu, const qs_cuda *other, qb_status status)
{
	if (status != QB_OK && !gpu->error.name)
		gpu->error = other->error;
	return status;
}

/* Copy bytes of the device, QS_RESULT_WORDS words at most, to gpu->host_result and wait. */
extern qb_status qs_read_bytes(qs_cuda *gpu, const void *from, uint64_t bytes);

/* Read the first words of gpu->result into gpu->host_result, and wait. */
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

/* The number of bits that the numbers below "count" need. */
static inline int
qs_bits_of(uint64_t count)
{
	return count <= 1 ? 0 : 64 - __builtin_clzll(count - 1);
}

/* Slots of a hash table (2^k) that is at most half full with "count" elements. */
__host__ __device__ __forceinline__ uint64_t
qs_slots_for(uint64_t count)
{
	uint64_t slots = 64;

	while (slots < 2 * count)
		slots *= 2;
	return slots;
}

/* Blocks that fill the device, but no more than "wanted". */
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

/* Check after a launch whether it started. */
static inline qb_status
qs_launched(qs_cuda *gpu)
{
	QS_CUDA_TRY(gpu, cudaGetLastError());
	return QB_OK;
}

/* Call an algorithm of CUB twice: first to learn how much memory it needs. */
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

/* Allow a kernel's blocks this much shared memory. */
template <typename Kernel>
static qb_status
qs_allow_shared(qs_cuda *gpu, Kernel kernel, size_t shared)
{
	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	return QB_OK;
}

/* How a kernel is launched. */
struct qs_shape
{
	uint64_t blocks; /* blocks that have work; fewer run if they fill the device */
	int threads;     /* threads of a block */
	size_t shared;   /* bytes of shared memory that a block asks for */
};

/* Launch a kernel whose blocks take their work in strides. */
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

/* Launch a kernel with a thread for each item.  The kernel takes its items by qs_for_each(). */
template <typename... Parameters, typename... Arguments>
static qb_status
qs_launch(qs_cuda *gpu, void (*kernel)(Parameters...), uint64_t items, Arguments... arguments)
{
	return qs_launch_blocks(gpu, kernel, { qs_ceil_div(items, QS_BLOCK), QS_BLOCK, 0 },
							arguments...);
}

/* Return *object, or destroy it after a failure. */
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
 * ---- batches of keys on their way from the host to a device, and answers back ----
 *
 * Host keys go through QS_SLOTS slots of pinned memory, each with device
 * memory of the same size: while a kernel works on one slot, the host fills
 * and copies the other.  Arrays that lie in pinned memory already are copied
 * directly.  Floor: 8 bytes per key (16 with weights) over the bus, and the
 * answer back, which is slower than most kernels.
 *
 * A slot holds the keys of a piece of a batch, then their weights or answers.
 *
 * qs_for_pieces() does all of this for a batch.
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

/* Keys of the batch that fit into a slot. */
extern uint64_t qs_piece_keys(const qs_cuda *gpu, const qs_host_batch *b);

/*
 * Copy batches side by side into a slot, which must have room for them, and make kernels wait for
 * the slot. *ready says where they are on the device.  Either all batches have weights or none.
 */
extern qb_status
qs_fill_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, int batches, qs_batch *ready);

/* The next slot in turn.  While kernels work on one slot, the others are filled. */
static inline int
qs_next_slot(qs_cuda *gpu)
{
	return (int) (gpu->next_slot++ % QS_SLOTS);
}

/* Where a kernel writes the answers of a slot. */
extern void *qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b);

/*
 * Call this after the kernel.  Notes the kernel's end, and queues the copy of the piece's answers,
 * if any.
 */
extern qb_status qs_finish_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *piece);

/*
 * Call this before a slot is filled again, and at the end.  Waits for the slot's answers and hands
 * them on.
 */
extern qb_status qs_drain_slot(qs_cuda *gpu, qs_slot *slot, qs_host_batch *piece);

/* "count" keys of a batch, from number "at" on. */
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
 * from number "at" on, which write "answers".  Keys and answers are no longer needed on return.
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

/* ---- the bits in which keys differ: a radix sort can skip all other bits ---- */

/*
 * Bits that any key has, and bits that all keys have.  Most columns have keys of 20 to 30 bits, so
 * a sort takes a third of the passes.
 */
struct qs_key_bits
{
	uint64_t any = 0;
	uint64_t all = ~UINT64_C(0);
};

/* Add the bits of more keys, and wait. */
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

/* qb_reduce() for n below 2^32, which holds for all n on the device.  Takes half the work. */
__device__ __forceinline__ uint32_t
qs_reduce_short(uint64_t hv, uint64_t n)
{
	uint64_t low = (hv & UINT32_MAX) * (uint32_t) n;

	return (uint32_t) (((hv >> 32) * (uint32_t) n + (low >> 32)) >> 32);
}

/*
 * The group of a key, where keys lie side by side by group.  It is the first group whose "end" is
 * greater than the key's index.
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

/* Call each(i) for all numbers below "count".  Each thread takes numbers in strides. */
template <typename Each>
__device__ __forceinline__ void
qs_for_each(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		each(i);
}

/*
 * Call each(i) for all numbers below "count".  Each warp takes numbers in strides, and all its
 * lanes make the call.
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
