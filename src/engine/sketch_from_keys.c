/*
 * sketch_from_keys.c
 *		The compact encoding of keys that no table has counted.
 *
 * Each key has a bucket and a mask of its counters in the bucket.  A radix sort, from the lowest
 * digit on, sorts the keys by bucket.  So the keys of a bucket become neighbours.  Their weights
 * are added up in an array of the bucket's counters, and this array is written.
 *
 * src/engine/sketch_from_keys.c
 */
#include "engine/sketch_engine.h"

#include "sketch/explicit.h"
#include "sketch/compact_write.h"

/* The number of bits of a bucket's index by which one pass sorts. */
#define DIGIT_BITS 11
#define DIGITS     (1 << DIGIT_BITS)

/* Maximum bytes of a block's gap and mask, and of a counter. */
#define BLOCK_HEAD    (5 + 4)
#define COUNTER_BYTES 10

/* From this value on, a counter of a multilevel sketch needs a high bucket. */
#define HIGH_FROM 256

typedef struct keys
{
	const qs_sketch *sk; /* the explicit sketch; gives parameters and masks */
	const qb_memory *memory;
	uint32_t width; /* counters of a bucket */
	size_t count;
	uint64_t *item;  /* bucket << 32 | number of the key */
	uint64_t *spare; /* a second array of items, for sorting */
	int64_t *weight; /* weight of each key, by its number; NULL: all weights are 1 */
	uint32_t *mask;  /* mask of each key, by its number */
	uint64_t steps;  /* steps since the last pause */
} keys;

/* ---- gathering ---- */

/* Allocate one chunk for all arrays.  Returns the chunk, or NULL. */
static uint8_t *
alloc_keys(keys *k, size_t count, bool weighted)
{
	size_t bytes = count * (2 * sizeof(uint64_t) + (weighted ? sizeof(int64_t) : 0));
	uint8_t *room = k->memory->alloc(k->memory->context, bytes + count * sizeof(uint32_t));

	if (!room)
		return NULL;
	k->item = (uint64_t *) room;
	k->spare = k->item + count;
	k->weight = weighted ? (int64_t *) (k->spare + count) : NULL;
	k->mask = (uint32_t *) (room + bytes);
	return room;
}

/* Append at most QS_BATCH keys.  Keys of weight 0 have no counters, and are skipped. */
static void
take_batch(keys *k, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	uint64_t hv[QS_BATCH];
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t *mask = k->mask + k->count;
	size_t i;

	if (count == 0)
		return;
	qs_kernels_now()->hash(k->sk->seed_key, fingerprint, count, hv);
	qs_locate_batch(k->sk, k->width, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		if (weight && weight[i] == 0)
			continue;
		if (k->weight)
			k->weight[k->count] = weight ? weight[i] : 1;
		k->mask[k->count] = mask[i];
		k->item[k->count] = (uint64_t) bucket[i] << 32 | k->count;
		k->count++;
	}
	qb_pause_after(k->memory, &k->steps, count);
}

static void
take_entries(keys *k, const qs_sketch *sk)
{
	uint64_t fingerprint[QS_EXPLICIT_MAX];
	int64_t weight[QS_EXPLICIT_MAX];
	uint64_t position = 0;
	size_t count = 0;
	qs_entry e;

	while (count < QS_EXPLICIT_MAX && qs_explicit_next(sk, &position, &e))
	{
		fingerprint[count] = e.fingerprint;
		weight[count++] = e.count;
	}
	take_batch(k, fingerprint, weight, count);
}

static void
take_keys(keys *k, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	size_t i;

	for (i = 0; i < count; i += QS_BATCH)
		take_batch(k, fingerprint + i, weight ? weight + i : NULL,
				   count - i < QS_BATCH ? count - i : QS_BATCH);
}

/* ---- sorting ---- */

/* Sort by one digit of the bucket: the DIGIT_BITS bits of an item from bit "shift" on. */
static void
sort_by_digit(keys *k, uint32_t shift)
{
	uint32_t start[DIGITS] = { 0 };
	uint32_t sum = 0;
	uint64_t *sorted = k->spare;
	size_t i;

	for (i = 0; i < k->count; i++)
		start[k->item[i] >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++)
	{
		uint32_t here = start[i];

		start[i] = sum;
		sum += here;
	}
	for (i = 0; i < k->count; i++)
		sorted[start[k->item[i] >> shift & (DIGITS - 1)]++] = k->item[i];
	k->spare = k->item;
	k->item = sorted;
	qb_pause_after(k->memory, &k->steps, k->count);
}

static void
sort_by_bucket(keys *k)
{
	uint32_t shift;

	for (shift = 32; (k->sk->params.n - 1) >> (shift - 32) != 0; shift += DIGIT_BITS)
		sort_by_digit(k, shift);
}

/* ---- writing ---- */

static uint64_t
bucket_of(const keys *k, size_t i)
{
	return k->item[i] >> 32;
}

/* Returns the number of buckets that have keys. */
static uint64_t
count_present(const keys *k)
{
	uint64_t present = k->count > 0;
	size_t i;

	for (i = 1; i < k->count; i++)
		present += bucket_of(k, i) != bucket_of(k, i - 1);
	return present;
}

/* Write the mask and the counters of a key of weight 1 that is the only key of its bucket. */
QB_INLINE void
put_one(qs_block_writer *w, uint32_t mask_bytes, uint32_t mask, uint32_t depth)
{
	uint32_t i;

	qb_store32(w->next, mask);
	w->next += mask_bytes;
	for (i = 0; i < depth; i++)
		*w->next++ = 1;
}

/*
 * Write the mask and the counters of the keys "from" to "to" - 1, which are the keys of one bucket.
 * Returns the largest counter.
 */
static uint64_t
put_several(qs_block_writer *w, const keys *k, uint32_t mask_bytes, size_t from, size_t to)
{
	uint64_t value[QS_MASK_BITS_MAX] = { 0 };
	uint64_t most = 0;
	uint32_t all = 0;
	size_t i;

	for (i = from; i < to; i++)
	{
		uint32_t number = (uint32_t) k->item[i];
		uint32_t mask = k->mask[number];

		all |= mask;
		for (; mask != 0; mask &= mask - 1)
			value[__builtin_ctz(mask)] += k->weight ? (uint64_t) k->weight[number] : 1;
	}
	qb_store32(w->next, all);
	w->next += mask_bytes;
	for (; all != 0; all &= all - 1)
	{
		uint64_t v = value[__builtin_ctz(all)];

		w->next = qs_put_varint(w->next, v);
		most = v > most ? v : most;
	}
	return most;
}

/*
 * Write all buckets.  Returns the number of bytes written.  Adds to *high the number of buckets
 * that would have high buckets in tables.
 */
static uint64_t
write_buckets(keys *k, uint64_t present, uint8_t *out, uint64_t *high)
{
	qs_block_layout layout = qs_blocks_of(&k->sk->params);
	qs_block_writer w = qs_blocks_start(layout.blocks, present, out);
	uint32_t depth = k->sk->params.depth;
	size_t from;
	size_t to;

	for (from = 0; from < k->count; from = to)
	{
		uint32_t number = (uint32_t) k->item[from];

		for (to = from + 1; to < k->count && bucket_of(k, to) == bucket_of(k, from);)
			to++;
		qs_blocks_begin(&w, bucket_of(k, from));
		if (to == from + 1 && (!k->weight || k->weight[number] == 1))
			put_one(&w, layout.mask_bytes, k->mask[number], depth);
		else
			*high += put_several(&w, k, layout.mask_bytes, from, to) >= HIGH_FROM;
		qb_pause_after(k->memory, &k->steps, to - from);
	}
	return qs_blocks_end(&w);
}

/*
 * Returns an upper limit of the body's bytes.  A counter of k keys of weight 1 takes at most k
 * bytes.
 */
static size_t
most_bytes(const keys *k, uint64_t present)
{
	const qs_params *p = &k->sk->params;
	uint64_t groups = qb_group_count(p->n, qs_group_shift(p->n, present));

	return 4 * groups + BLOCK_HEAD * present +
		   k->count * p->depth * (k->weight ? COUNTER_BYTES : 1) + sizeof(uint32_t);
}

/*
 * Write the body of "made".  False: there is no memory, the body would be too large for a compact
 * sketch, or so few buckets have keys that the sketch may have to be explicit.
 */
static bool
write_body(keys *k, qs_sketch *made)
{
	const qs_params *p = &k->sk->params;
	uint64_t present = count_present(k);
	uint64_t high = 0;
	uint8_t *body;

	if (present <= qs_explicit_limit(p))
		return false;
	body = k->memory->alloc(k->memory->context, most_bytes(k, present));
	if (!body)
		return false;
	made->used = present;
	made->compact = body;
	made->compact_bytes = write_buckets(k, present, body, &high);
	if (made->compact_bytes <= qs_compact_most(qs_tables_bytes(p, made->wide, high)))
		return true;
	k->memory->release(k->memory->context, body);
	return false;
}

/* True if all counters of a key are in one block of the compact encoding. */
static bool
has_buckets(int structure)
{
	return qs_bucket_width(structure) > 0 && !qs_has_fat(structure);
}

/*
 * False if qs_compact_from_keys() refuses the keys without sorting them.  After the sort,
 * write_body() may refuse the keys.
 */
static bool
may_be_compact(const qs_sketch *sk, int64_t sum, size_t count)
{
	return sk->encoding == QS_EXPLICIT && !sk->remote && has_buckets(sk->params.structure) &&
		   sk->used + count > qs_explicit_limit(&sk->params) && count <= sk->params.n && sum >= 0 &&
		   sum <= INT64_MAX - sk->total;
}

bool
qs_compact_from_keys(qs_sketch *made, const qb_memory *memory, qs_sketch *sk,
					 const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	keys k = { .sk = sk, .memory = memory, .width = qs_bucket_width(sk->params.structure) };
	int64_t sum = qs_weight_sum(weight, count);
	uint8_t *room;
	bool done;

	if (!may_be_compact(sk, sum, count) || qs_make_masks(sk) != QB_OK)
		return false;
	room = alloc_keys(&k, sk->used + count, weight || sk->total != (int64_t) sk->used);
	if (!room)
		return false;
	take_entries(&k, sk);
	take_keys(&k, fingerprint, weight, count);
	sort_by_bucket(&k);
	qs_init(made, &sk->params, memory);
	made->encoding = QS_COMPACT;
	made->keys = sk->keys;
	made->total = sk->total + sum;
	made->wide = made->total >= QS_WIDE_TOTAL;
	done = write_body(&k, made);
	memory->release(memory->context, room);
	return done;
}
