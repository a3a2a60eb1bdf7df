/*
 * sketch_recount.c
 *		A backend's side of exact counts of frequent keys (sketch/frequent.h).
 *
 * If GpuSketchIsWith() is true for all sketches, their device counts the frequent keys.  Otherwise
 * the caller has fetched the sketches to this process.  Each device with chunks then receives a
 * copy of the sketches.  These devices count the frequent keys of their chunks at the same time,
 * unless the copies exceed MOST_COPIES.  The copies are dropped after the counts were read.
 *
 * The devices sample different rows, so their thresholds may differ, and the largest threshold is
 * used.  With copies, a device returns all keys that it has counted, because it has only some rows
 * of a key.
 *
 * src/gpu/sketch_recount.c
 */
#include "gpu/sketch_gpu.h"

#include "miscadmin.h"

/*
 * Chunks, with copies of their sets of pages, and the devices that the chunks had at the beginning.
 * A chunk may be freed at any time.  Requests for a freed chunk fail.
 */
typedef struct Chunks
{
	GpuColumnChunk *chunk;
	GpuPages *pages;
	int *device;
	int count;
} Chunks;

typedef struct Recount
{
	const qs_sketch *const *sk;
	uint32 count;
	const qb_groups *groups;
	uint64 wanted;
	bool copied; /* the devices receive copies of the sketches */
	Chunks all;
	int on_device[GPU_DEVICES_MAX]; /* number of chunks on each device */
	GpuRef *ref;  /* for each device, for each sketch: the sketch or its copy; serial 0: no copy */
	uint64 *keys; /* for each sketch: number of its keys that devices have read */
} Recount;

/* The handles of the sketches, or of their copies, on a device. */
static GpuRef *
refs_on(const Recount *r, int device)
{
	return r->ref + (Size) device * r->count;
}

/* ---- the copies ---- */

static bool
begin_frequent(const Recount *r, const GpuRef *ref)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_FREQUENT, false);

	slot->offset = r->wanted;
	slot->bytes = qs_frequent_slots(r->wanted, r->count);
	return GpuAskOne(slot, NULL, 0) == QB_OK;
}

static const GpuRef *
remote_ref(const qs_sketch *sk)
{
	return &((const GpuRemote *) sk->remote)->handle.ref;
}

/*
 * Begin to count on a device, if it has chunks.  The sketches are copied to the device if "copied"
 * is set.  False: no memory or no handle is free, or a sketch is gone.
 */
static bool
prepare(Recount *r, int device)
{
	GpuRef *ref = refs_on(r, device);
	uint32 i;

	for (i = 0; i < r->count && r->on_device[device] > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (r->copied && !GpuSketchUpload(r->sk[i], device, &ref[i]))
			return false;
		if (!r->copied)
			ref[i] = *remote_ref(r->sk[i]);
		if (!begin_frequent(r, &ref[i]))
			return false;
	}
	return true;
}

static void
drop(Recount *r)
{
	uint32 all = gpu_shared->device_count * r->count;
	uint32 i;

	for (i = 0; i < all && r->copied; i++)
		if (r->ref[i].serial != 0)
		{
			GpuDropHandle(&r->ref[i]);
			r->ref[i].serial = 0;
		}
}

/* ---- counting ---- */

/*
 * Send chunks to the groups' sketches on the chunks' devices.  Each sketch's number of keys is
 * added to "keys".
 */
static bool
send_groups(const Recount *r, int op, const GpuRef *ref, const Chunks *chunks, uint64 *keys)
{
	GpuGroupValues *on = palloc0(gpu_shared->device_count * sizeof(GpuGroupValues));
	GpuGroupValues **groups = palloc(Max(chunks->count, 1) * sizeof(GpuGroupValues *));
	int64 added;
	bool complete;
	int device;
	int i;

	for (device = 0; device < gpu_shared->device_count; device++)
	{
		on[device].groups = *r->groups;
		memcpy(on[device].value, refs_on(r, device), r->count * sizeof(GpuRef));
	}
	for (i = 0; i < chunks->count; i++)
		groups[i] = &on[chunks->device[i]];
	complete = GpuColumnSendEach(op, ref, groups, chunks->chunk, chunks->count, &added);
	for (device = 0; device < gpu_shared->device_count; device++)
		for (i = 0; i < (int) r->count; i++)
			keys[i] += on[device].added[i];
	pfree(groups);
	pfree(on);
	return complete;
}

/*
 * Send chunks to the sketches or copies on the chunks' devices, by request "one" for a single
 * sketch, or "of_groups" for groups.  Each sketch's number of keys is added to "keys".  The chunks'
 * sets of pages change.
 */
static bool
send_chunks(const Recount *r, int one, int of_groups, const Chunks *chunks, uint64 *keys)
{
	GpuRef *ref = palloc(Max(chunks->count, 1) * sizeof(GpuRef));
	int64 added = 0;
	bool complete;
	int i;

	for (i = 0; i < chunks->count; i++)
		ref[i] = refs_on(r, chunks->device[i])[0];
	if (r->groups)
		complete = send_groups(r, of_groups, ref, chunks, keys);
	else
		complete = GpuColumnSendEach(one, ref, NULL, chunks->chunk, chunks->count, &added);
	keys[0] += (uint64) added;
	pfree(ref);
	return complete;
}

/* ---- chunks ---- */

static Chunks
make_chunks(int most)
{
	return (Chunks){ .chunk =
						 palloc_extended(Max(most, 1) * sizeof(GpuColumnChunk), MCXT_ALLOC_HUGE),
					 .pages = palloc_extended(Max(most, 1) * sizeof(GpuPages), MCXT_ALLOC_HUGE),
					 .device = palloc(Max(most, 1) * sizeof(int)) };
}

static void
free_chunks(Chunks *chunks)
{
	pfree(chunks->device);
	pfree(chunks->pages);
	pfree(chunks->chunk);
}

/* Add a chunk to a list.  Returns the added chunk. */
static const GpuColumnChunk *
add_chunk(Chunks *chunks, const GpuColumnChunk *chunk, int device)
{
	int i = chunks->count++;

	chunks->pages[i] = *chunk->pages;
	chunks->chunk[i] = *chunk;
	chunks->chunk[i].pages = &chunks->pages[i];
	chunks->device[i] = device;
	return &chunks->chunk[i];
}

/* List all chunks, and count the chunks of each device; false: the device of a chunk is unknown. */
static bool
take_chunks(Recount *r, const GpuColumnChunk *chunk, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		int device = GpuColumnDevice(&chunk[i]);

		if (device < 0 || device >= gpu_shared->device_count)
			return false;
		r->on_device[device]++;
		(void) add_chunk(&r->all, &chunk[i], device);
	}
	return true;
}

/*
 * Maximum number of chunks that a device samples.  The samples are spread over all chunks of the
 * device, because neighbouring chunks often have rows that were inserted at about the same time.
 */
#define SAMPLED_CHUNKS 6

/*
 * Testing rows, and splitting rows by group, takes time for each row of a sampled chunk.  So if
 * rows are tested or split, and a chunk has more than ALL_SAMPLED wanted pages, only every
 * SAMPLED_WORDS-th word of the set of pages is sampled.
 */
#define ALL_SAMPLED   4096
#define SAMPLED_WORDS 8

static void
keep_sampled(const Recount *r, const GpuColumnChunk *chunk)
{
	GpuPages *pages = chunk->pages;
	int i;

	if ((r->groups == NULL && chunk->tests == NULL) || GpuPagesCount(pages) <= ALL_SAMPLED)
		return;
	for (i = 0; i < (int) lengthof(pages->word); i++)
		if (i % SAMPLED_WORDS != 0)
			pages->word[i] = 0;
}

/* True if chunk "number" of the "chunks" chunks of a device is sampled. */
static bool
is_sampled(int number, int chunks)
{
	int64 sampled = Min(chunks, SAMPLED_CHUNKS);

	return (number + 1) * sampled / chunks > number * sampled / chunks;
}

static bool
sample(const Recount *r, const Chunks *chunks)
{
	uint64 *keys = palloc0(r->count * sizeof(uint64));
	Chunks sampled = make_chunks(SAMPLED_CHUNKS * gpu_shared->device_count);
	int before[GPU_DEVICES_MAX] = { 0 };
	bool done;
	int i;

	for (i = 0; i < chunks->count; i++)
	{
		int device = chunks->device[i];

		if (is_sampled(before[device]++, r->on_device[device]))
			keep_sampled(r, add_chunk(&sampled, &chunks->chunk[i], device));
	}
	done = send_chunks(r, SKETCH_SAMPLE, SKETCH_SAMPLE_GROUPS, &sampled, keys);
	free_chunks(&sampled);
	pfree(keys);
	return done;
}

/* ---- reading ---- */

/* Make the array large enough for "more" keys.  Returns the first new key. */
static qs_frequent_key *
more_keys(GpuRecounted *counted, uint64 more)
{
	Size bytes = (counted->count + Max(more, 1)) * sizeof(qs_frequent_key);

	counted->key =
		counted->key ? repalloc_huge(counted->key, bytes) : palloc_extended(bytes, MCXT_ALLOC_HUGE);
	return counted->key + counted->count;
}

/* Read the counts of a sketch or of a copy; false: a request failed. */
static bool
read_keys(const Recount *r, const GpuRef *ref, GpuRecounted *counted)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_COLLECT, false);
	qs_frequent head;
	qs_frequent_key *key;

	slot->weighted = r->copied;
	if (GpuAskOne(slot, &head, sizeof(head)) != QB_OK)
		return false;
	key = more_keys(counted, head.count);
	if (!GpuFetchArray(ref, SKETCH_COLLECTED, 0, 0, key, head.count * sizeof(*key)))
		return false;
	counted->count += head.count;
	counted->least = Max(counted->least, Max(head.least, head.dropped + 1));
	counted->left_out += head.left_out;
	counted->mixed |= r->copied || head.dropped > 0;
	return true;
}

/* Read the counts of all sketches on a device that has chunks. */
static bool
read_device(const Recount *r, int device, GpuRecounted *counted)
{
	uint32 i;

	for (i = 0; i < r->count && r->on_device[device] > 0; i++)
		if (!read_keys(r, &refs_on(r, device)[i], &counted[i]))
			return false;
	return true;
}

/*
 * Maximum number of copies that exist at the same time, unless one device needs more copies.  With
 * more copies, other processes might find no free handles.
 */
#define MOST_COPIES (GPU_HANDLES / 4)

/* Count on devices first .. end - 1, and read the counts; false: some keys could not be counted. */
static bool
recount_devices(Recount *r, int first, int end, GpuRecounted *counted)
{
	Chunks chunks = make_chunks(r->all.count);
	bool done = true;
	int device;
	int i;

	for (i = 0; i < r->all.count; i++)
		if (r->all.device[i] >= first && r->all.device[i] < end)
			(void) add_chunk(&chunks, &r->all.chunk[i], r->all.device[i]);
	for (device = first; device < end && done; device++)
		done = prepare(r, device);
	done = done && sample(r, &chunks) &&
		   send_chunks(r, SKETCH_RECOUNT, SKETCH_RECOUNT_GROUPS, &chunks, r->keys);
	for (device = first; device < end && done; device++)
		done = read_device(r, device, counted);
	drop(r);
	free_chunks(&chunks);
	return done;
}

/* Count on all devices; false: some keys could not be counted. */
static bool
recount(Recount *r, GpuRecounted *counted)
{
	int together = Max(1, MOST_COPIES / (int) r->count);
	bool done = true;
	int first;
	uint32 i;

	for (first = 0; first < gpu_shared->device_count && done; first += together)
		done = recount_devices(r, first, Min(first + together, gpu_shared->device_count), counted);
	for (i = 0; i < r->count && done; i++)
		done = r->keys[i] == (uint64) r->sk[i]->total;
	return done;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64 x = ((const qs_frequent_key *) a)->key;
	uint64 y = ((const qs_frequent_key *) b)->key;

	return (x > y) - (x < y);
}

void
GpuRecountedFinish(GpuRecounted *counted, const qs_sketch *sk)
{
	uint64 kept = 0;
	uint64 i;

	if (!counted->mixed)
		return;
	if (counted->count > 0)
		qsort(counted->key, counted->count, sizeof(*counted->key), compare_keys);
	for (i = 0; i < counted->count; i++)
	{
		qs_frequent_key key = counted->key[i];

		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		if (kept > 0 && counted->key[kept - 1].key == key.key)
			counted->key[kept - 1].times += key.times;
		else if (qs_estimate(sk, key.key) >= counted->least)
			counted->key[kept++] = key;
	}
	counted->count = kept;
}

bool
GpuSketchIsWith(const qs_sketch *sk, const GpuColumnChunk *chunk, int chunks)
{
	int i = 0;

	if (sk->remote == NULL || gpu_shared->handle[remote_ref(sk)->index].full)
		return false;
	while (i < chunks &&
		   GpuColumnDevice(&chunk[i]) == gpu_shared->handle[remote_ref(sk)->index].device)
		i++;
	return i == chunks;
}

bool
GpuSketchRecount(const qs_sketch *const *sk, uint32 count, const qb_groups *groups, uint64 wanted,
				 const GpuColumnChunk *chunk, int chunks, GpuRecounted *counted)
{
	Recount r = { .sk = sk,
				  .count = count,
				  .groups = groups,
				  .wanted = Min(wanted, QS_FREQUENT_WANTED),
				  .copied = sk[0]->remote == NULL,
				  .all = make_chunks(chunks),
				  .ref = palloc0(gpu_shared->device_count * count * sizeof(GpuRef)),
				  .keys = palloc0(count * sizeof(uint64)) };
	bool done;
	uint32 i;

	memset(counted, 0, count * sizeof(GpuRecounted));
	for (i = 0; i < count; i++)
		counted[i].least = 1;
	done = take_chunks(&r, chunk, chunks) && recount(&r, counted);
	for (i = 0; i < count && !done; i++)
		if (counted[i].key)
			pfree(counted[i].key);
	pfree(r.keys);
	pfree(r.ref);
	free_chunks(&r.all);
	return done;
}
