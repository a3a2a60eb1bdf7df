/*
 * sketch_recount.c
 *		A backend's side of exact counts of frequent keys (sketch/frequent.h).
 *
 * If all chunks are on the device of the sketches, that device counts.  Otherwise the caller has
 * brought the sketches to this process.  Each device with chunks then gets a copy of the sketches,
 * and counts the frequent keys of its chunks.  The copies are dropped after the counts were read.
 * The devices have sampled different rows, so their thresholds may differ, and the largest one is
 * used.  Each device returns all keys that it has counted, because it has only a part of a
 * key's rows.
 *
 * src/gpu/sketch_recount.c
 */
#include "gpu/sketch_gpu.h"

#include "miscadmin.h"

/* The part of the work that one device does. */
typedef struct Recount
{
	const qs_sketch *const *sk;
	uint32 count;
	const qb_groups *groups;
	uint64 wanted;
	bool copied;           /* each device gets copies of the sketches */
	GpuRef *ref;           /* for each sketch: its copy */
	uint64 *keys;          /* for each sketch: keys from all devices so far */
	GpuColumnChunk *chunk; /* chunks on this device */
	GpuPages *pages;       /* for each of these chunks */
	int chunks;
} Recount;

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
	return &((const GpuRemote *) sk->remote)->owned.ref;
}

/* Prepare the sketches on the device, or copies of them; false: there is no memory. */
static bool
prepare(Recount *r, int device)
{
	uint32 i;

	for (i = 0; i < r->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (r->copied && !GpuSketchUpload(r->sk[i], device, &r->ref[i]))
			return false;
		if (!r->copied)
			r->ref[i] = *remote_ref(r->sk[i]);
		if (!begin_frequent(r, &r->ref[i]))
			return false;
	}
	return true;
}

static void
drop(Recount *r)
{
	uint32 i;

	for (i = 0; i < r->count && r->copied; i++)
		if (r->ref[i].serial != 0)
			GpuDropHandle(&r->ref[i]);
}

/* ---- counting ---- */

/*
 * Send chunks to the sketches or copies, by the request for one sketch or for groups, and add
 * up the keys that each got.  The chunks' sets of pages change.
 */
static bool
send_chunks(const Recount *r, int one, int of_groups, const GpuColumnChunk *chunk, int chunks,
			uint64 *keys)
{
	GpuGroupValues *all;
	int64 added;
	bool complete;
	uint32 i;

	if (r->groups == NULL)
	{
		complete = GpuColumnSend(&r->ref[0], one, chunk, chunks, &added);
		keys[0] += (uint64) added;
		return complete;
	}
	all = palloc0(sizeof(GpuGroupValues));
	all->groups = *r->groups;
	memcpy(all->value, r->ref, r->count * sizeof(GpuRef));
	complete = GpuColumnSendGroups(of_groups, all, chunk, chunks);
	for (i = 0; i < r->count; i++)
		keys[i] += all->added[i];
	pfree(all);
	return complete;
}

/*
 * This many chunks are sampled.  They are spread over all chunks, because neighbouring chunks often
 * have rows of one time.
 */
#define SAMPLED_CHUNKS 6

/* Of a chunk with more pages than this, one word in SAMPLED_WORDS of the set of pages is sampled. */
#define ALL_SAMPLED   4096
#define SAMPLED_WORDS 8

static void
keep_sampled(GpuPages *pages)
{
	int i;

	if (GpuPagesCount(pages) <= ALL_SAMPLED)
		return;
	for (i = 0; i < (int) lengthof(pages->word); i++)
		if (i % SAMPLED_WORDS != 0)
			pages->word[i] = 0;
}

static bool
sample(const Recount *r)
{
	uint64 *keys = palloc0(r->count * sizeof(uint64));
	GpuColumnChunk chunk[SAMPLED_CHUNKS];
	GpuPages *pages = palloc(SAMPLED_CHUNKS * sizeof(GpuPages));
	int chunks = Min(r->chunks, SAMPLED_CHUNKS);
	bool done;
	int i;

	for (i = 0; i < chunks; i++)
	{
		chunk[i] = r->chunk[(2 * i + 1) * (int64) r->chunks / (2 * chunks)];
		pages[i] = *chunk[i].pages;
		keep_sampled(&pages[i]);
		chunk[i].pages = &pages[i];
	}
	done = send_chunks(r, SKETCH_SAMPLE, SKETCH_SAMPLE_GROUPS, chunk, chunks, keys);
	pfree(pages);
	pfree(keys);
	return done;
}

/* ---- reading ---- */

/* Make room for "more" keys. */
static qs_frequent_key *
more_keys(GpuRecounted *counted, uint64 more)
{
	Size bytes = (counted->count + Max(more, 1)) * sizeof(qs_frequent_key);

	counted->key =
		counted->key ? repalloc_huge(counted->key, bytes) : palloc_extended(bytes, MCXT_ALLOC_HUGE);
	return counted->key + counted->count;
}

/* Read the counts of a sketch or of its copy; false: it is gone. */
static bool
read_keys(const Recount *r, uint32 i, GpuRecounted *counted)
{
	GpuSlot *slot = GpuTakeSlot(&r->ref[i], SKETCH_COLLECT, false);
	qs_frequent head;
	qs_frequent_key *key;

	slot->weighted = r->copied;
	if (GpuAskOne(slot, &head, sizeof(head)) != QB_OK)
		return false;
	key = more_keys(counted, head.count);
	if (!GpuFetchArray(&r->ref[i], SKETCH_COLLECTED, 0, 0, key, head.count * sizeof(*key)))
		return false;
	counted->count += head.count;
	counted->least = Max(counted->least, Max(head.least, head.dropped + 1));
	counted->left_out += head.left_out;
	counted->mixed |= r->copied || head.dropped > 0;
	return true;
}

/* Prepare, sample, count and read on one device; false: some keys could not be counted. */
static bool
recount_there(Recount *r, int device, GpuRecounted *counted)
{
	bool done;
	uint32 i;

	memset(r->ref, 0, r->count * sizeof(GpuRef));
	done = prepare(r, device) && sample(r) &&
		   send_chunks(r, SKETCH_RECOUNT, SKETCH_RECOUNT_GROUPS, r->chunk, r->chunks, r->keys);
	for (i = 0; i < r->count && done; i++)
		done = read_keys(r, i, &counted[i]);
	drop(r);
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

/* Find the chunks of a device, with copies of their sets of pages. */
static void
take_chunks(Recount *r, int device, const GpuColumnChunk *chunk, int chunks)
{
	int i;

	r->chunks = 0;
	for (i = 0; i < chunks; i++)
	{
		if (GpuColumnDevice(&chunk[i]) != device)
			continue;
		r->pages[r->chunks] = *chunk[i].pages;
		r->chunk[r->chunks] = chunk[i];
		r->chunk[r->chunks].pages = &r->pages[r->chunks];
		r->chunks++;
	}
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
				  .ref = palloc0(count * sizeof(GpuRef)),
				  .keys = palloc0(count * sizeof(uint64)),
				  .chunk =
					  palloc_extended(Max(chunks, 1) * sizeof(GpuColumnChunk), MCXT_ALLOC_HUGE),
				  .pages = palloc_extended(Max(chunks, 1) * sizeof(GpuPages), MCXT_ALLOC_HUGE) };
	bool done = true;
	int device;
	uint32 i;

	memset(counted, 0, count * sizeof(GpuRecounted));
	for (i = 0; i < count; i++)
		counted[i].least = 1;
	for (device = 0; device < gpu_shared->device_count && done; device++)
	{
		take_chunks(&r, device, chunk, chunks);
		if (r.chunks > 0)
			done = recount_there(&r, device, counted);
	}
	for (i = 0; i < count && done; i++)
		done = r.keys[i] == (uint64) sk[i]->total;
	for (i = 0; i < count && !done; i++)
		if (counted[i].key)
			pfree(counted[i].key);
	pfree(r.pages);
	pfree(r.chunk);
	pfree(r.keys);
	pfree(r.ref);
	return done;
}
