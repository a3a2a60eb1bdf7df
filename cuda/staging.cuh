/*
 * staging.cuh
 *		Batches of keys on their way from the host to a device, and answers back.
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
 *
 * cuda/staging.cuh
 */
#ifndef QS_STAGING_CUH
#define QS_STAGING_CUH

#include "device.cuh"

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

/* A piece whose answers are on their way to the host. */
struct qs_pending
{
	uint64_t at, count;
};

/* Describe a host batch; answer NULL: there are no answers. */
extern qs_host_batch qs_describe(const uint64_t *key, const int64_t *weight, void *answer,
								 size_t answer_bytes, uint64_t count);

/* Keys of the batch that fit into a slot. */
extern uint64_t qs_piece_keys(const qs_cuda *gpu, const qs_host_batch *b);

/*
 * Copy a piece into a slot and make kernels wait for it; *ready says where the
 * piece is on the device.
 */
extern qb_status qs_fill_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, uint64_t at,
							  uint64_t count, qs_batch *ready);

/* Do these batches, all of them with weights or none, fit into a slot side by side? */
extern bool qs_fit(const qs_cuda *gpu, const qs_host_batch *b, int batches);

/* Copy batches that fit into a slot side by side, as qs_fill_slot() does with a piece. */
extern qb_status
qs_fill_slot_all(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, int batches, qs_batch *ready);

/* The slot whose turn it is: while kernels work on one, the others are filled. */
static inline int
qs_next_slot(qs_cuda *gpu)
{
	return (int) (gpu->turn++ % QS_SLOTS);
}

/* Where a kernel writes the answers of a slot. */
extern void *qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b);

/* After the kernel: note its end, and queue the copy of the answers to the host, if any. */
extern qb_status
qs_finish_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, const qs_pending *p);

/* Before a slot is filled again, and at the end: wait for its answers and hand them on. */
extern qb_status qs_drain_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, qs_pending *p);

/*
 * Call work(ready, at, answers) for the pieces of a host batch: it queues
 * kernels for the keys from number "at" on, which write "answers".  Keys and
 * answers are no longer needed on return.
 */
template <typename Work>
static qb_status
qs_for_pieces(qs_cuda *gpu, const qs_host_batch *b, Work work)
{
	qs_pending waiting[QS_SLOTS] = {};
	uint64_t piece = qs_piece_keys(gpu, b);

	for (uint64_t at = 0; at < b->count; at += piece)
	{
		int s = qs_next_slot(gpu);
		qs_slot *slot = &gpu->slot[s];
		qs_batch ready;

		QS_TRY(qs_drain_slot(gpu, slot, b, &waiting[s]));
		waiting[s] = { at, b->count - at < piece ? b->count - at : piece };
		QS_TRY(qs_fill_slot(gpu, slot, b, at, waiting[s].count, &ready));
		QS_TRY(work(&ready, at, qs_slot_answers(gpu, slot, b)));
		QS_TRY(qs_finish_slot(gpu, slot, b, &waiting[s]));
	}
	for (int s = 0; s < QS_SLOTS; s++)
		QS_TRY(qs_drain_slot(gpu, &gpu->slot[s], b, &waiting[s]));
	QS_TRY(qs_wait(gpu, gpu->in));
	return QB_OK;
}

/* The memory and events of all slots, for device.cu. */
extern qb_status qs_staging_open(qs_cuda *gpu);
extern void qs_staging_close(qs_cuda *gpu);

#endif
