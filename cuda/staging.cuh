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
 * For each piece: qs_fill_slot(), a kernel on gpu->stream, and then either an
 * event "done" or, if there are answers, qs_send_answers().  qs_drain_slot()
 * comes before the slot is filled again, and at the end.
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

/* Where a kernel writes the answers of a slot. */
extern void *qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b);

/* After the kernel: queue the copy of the answers to the host. */
extern qb_status
qs_send_answers(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, const qs_pending *p);

/* Wait for the answers in a slot and hand them on. */
extern qb_status qs_drain_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, qs_pending *p);

/* The memory and events of all slots, for device.cu. */
extern qb_status qs_staging_open(qs_cuda *gpu);
extern void qs_staging_close(qs_cuda *gpu);

#endif
