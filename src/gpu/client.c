/*
 * client.c
 *		A backend's side of the GPU worker: sketches there, and calls.
 *
 * Keys and merges are posted: the backend goes on at once, and an error shows
 * when the sketch is fetched.  All else waits for its reply.  Long transfers
 * keep several slots on their way, but take a further one only if it is free:
 * who holds replies never waits for a slot, so that backends cannot block one
 * another.
 *
 * src/gpu/client.c
 */
#include "gpu/client.h"
#include "gpu/sketch_tables.h"
#include "gpu/wait.h"

/* Ask for something that has one reply; its status. */
static qs_status
ask(GpuSlot *slot)
{
	qs_status status;

	GpuAsk(slot);
	GpuAwait(slot);
	status = slot->gone ? QS_NO_MEMORY : slot->status;
	GpuDone(slot);
	return status;
}

bool
GpuCreate(const qs_params *params, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewEntry(ref))
		return false;
	slot = GpuTakeSlot(GPU_CREATE, ref, false);
	slot->shape.params = *params;
	if (ask(slot) == QS_OK)
		return true;
	GpuDropEntry(ref);
	return false;
}

static void
send_tables(const qs_sketch *sk, const GpuShape *shape, const GpuRef *ref)
{
	uint64 all = GpuShapeBytes(shape);
	uint64 offset;

	for (offset = 0; offset < all; offset += GPU_SLOT_BYTES)
	{
		GpuSlot *slot = GpuTakeSlot(GPU_WRITE, ref, false);

		slot->offset = offset;
		slot->bytes = Min(all - offset, GPU_SLOT_BYTES);
		GpuReadPiece(sk, shape, offset, slot->bytes, GpuSlotData(slot));
		GpuPost(slot);
	}
}

bool
GpuUpload(const qs_sketch *sk, GpuRef *ref)
{
	GpuShape shape;
	GpuSlot *slot;
	bool done;

	GpuShapeOf(&shape, sk);
	if (sk->params.structure == QS_SF)
	{
		shape.params.part = QS_PART_DEVICE;
		shape.extra_bytes = 0;
	}
	if (!GpuNewEntry(ref))
		return false;
	slot = GpuTakeSlot(GPU_LOAD, ref, false);
	slot->shape = shape;
	done = ask(slot) == QS_OK;
	if (done)
	{
		send_tables(sk, &shape, ref);
		done = ask(GpuTakeSlot(GPU_LOADED, ref, false)) == QS_OK;
	}
	if (!done)
		GpuDropEntry(ref);
	return done;
}

void
GpuSend(const GpuRef *ref, const uint64 *key, const int64 *weight, size_t count)
{
	size_t most = weight ? GPU_SLOT_WEIGHED : GPU_SLOT_KEYS;
	size_t i;

	for (i = 0; i < count; i += most)
	{
		GpuSlot *slot = GpuTakeSlot(GPU_INSERT, ref, false);
		uint64 *data = (uint64 *) GpuSlotData(slot);

		slot->count = (int) Min(count - i, most);
		slot->weighted = weight != NULL;
		memcpy(data, key + i, slot->count * sizeof(uint64));
		if (weight)
			memcpy(data + slot->count, weight + i, slot->count * sizeof(int64));
		GpuPost(slot);
	}
}

void
GpuMergeInto(const GpuRef *ref, const GpuRef *other)
{
	GpuSlot *slot = GpuTakeSlot(GPU_MERGE, ref, false);

	slot->other = *other;
	GpuPost(slot);
}

/*
 * A transfer in pieces, of which several are on their way at a time: "start"
 * fills a slot with the request for the next piece, or returns false when
 * there is none; "finish" takes the reply.
 */
typedef struct Transfer
{
	const GpuRef *ref;
	GpuOp op;
	uint64 next; /* piece to be asked for, in keys or bytes */
	uint64 done; /* of which the reply was read */
	uint64 all;
	uint64 most; /* in one slot */
	const uint64 *key;
	int64 *estimate;
	qs_sketch *sketch;
	const GpuShape *shape;
} Transfer;

static void
ask_piece(const Transfer *t, GpuSlot *slot, uint64 size)
{
	if (t->op == GPU_QUERY)
	{
		slot->count = (int) size;
		memcpy(GpuSlotData(slot), t->key + t->next, size * sizeof(uint64));
	}
	else
	{
		slot->offset = t->next;
		slot->bytes = size;
	}
	GpuAsk(slot);
}

static void
take_piece(const Transfer *t, GpuSlot *slot, uint64 size)
{
	if (t->op == GPU_QUERY)
		memcpy(t->estimate + t->done, GpuSlotData(slot), size * sizeof(int64));
	else
		GpuWritePiece(t->sketch, t->shape, t->done, size, GpuSlotData(slot));
}

/* Run a transfer; false if the sketch is gone. */
static bool
transfer(Transfer *t)
{
	GpuSlot *way[GPU_HELD_MAX];
	uint64 first = 0; /* numbers of the oldest slot on its way, and of the next */
	uint64 last = 0;
	bool there = true;

	while (there && t->done < t->all)
	{
		uint64 size = Min(t->all - t->next, t->most);
		GpuSlot *slot = NULL;

		if (size > 0 && last - first < GPU_HELD_MAX)
			slot = GpuTakeSlot(t->op, t->ref, last > first);
		if (slot)
		{
			ask_piece(t, slot, size);
			way[last++ % GPU_HELD_MAX] = slot;
			t->next += size;
			continue;
		}
		slot = way[first++ % GPU_HELD_MAX];
		size = Min(t->all - t->done, t->most);
		GpuAwait(slot);
		there = !slot->gone && slot->status == QS_OK;
		if (there)
			take_piece(t, slot, size);
		t->done += size;
		GpuDone(slot);
	}
	GpuLeaveSlots();
	return there;
}

bool
GpuLookup(const GpuRef *ref, const uint64 *key, size_t count, int64 *estimate)
{
	Transfer t = { .ref = ref,
				   .op = GPU_QUERY,
				   .all = count,
				   .most = GPU_SLOT_KEYS,
				   .key = key,
				   .estimate = estimate };

	return transfer(&t);
}

qs_status
GpuDownload(const GpuRef *ref, qs_sketch *sk)
{
	GpuShape shape;
	GpuSlot *slot = GpuTakeSlot(GPU_FETCH, ref, false);
	Transfer t = {
		.ref = ref, .op = GPU_READ, .most = GPU_SLOT_BYTES, .sketch = sk, .shape = &shape
	};
	qs_status status;
	bool gone;

	GpuAsk(slot);
	GpuAwait(slot);
	shape = slot->shape;
	gone = slot->gone;
	status = slot->status;
	GpuDone(slot);
	if (gone)
		GpuRaiseLost();
	if (status == QS_OK)
		status = GpuMakeTables(sk, &shape);
	t.all = GpuShapeBytes(&shape);
	if (status == QS_OK && !transfer(&t))
		GpuRaiseLost();
	return status;
}
