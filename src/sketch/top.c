/*
 * top.c
 *		Adds, drops, merges and subtracts candidates for the most frequent keys of a sketch.
 *
 * src/sketch/top.c
 */
#include <stdlib.h>

#include "base/slot.h"
#include "sketch/explicit.h"
#include "sketch/merge.h"
#include "sketch/top.h"

/*
 * A list that is merged without its sketch has at most LISTED_MOST times qs_top_capacity()
 * candidates.
 */
#define LISTED_MOST 4

#define FIRST_ROOM  16
#define MOST_SPARSE 512

/* The steps that are counted for each estimate.  An estimate may read 32 counters. */
#define ESTIMATE_STEPS 64

void
qs_top_init(qs_top *top, uint32_t n, const qb_memory *memory)
{
	memset(top, 0, sizeof(*top));
	top->n = n;
	top->memory = memory;
}

static void
release(const qs_top *top, void *block)
{
	if (block)
		top->memory->release(top->memory->context, block);
}

/* Releases the text of a candidate that is dropped. */
static void
release_text(qs_top *top, const qs_top_key *key)
{
	release(top, key->text);
	top->length -= key->length;
}

void
qs_top_free(qs_top *top)
{
	uint64_t i;

	for (i = 0; i < top->count; i++)
		release(top, top->key[i].text);
	release(top, top->key);
	release(top, top->slot);
	qs_top_init(top, top->n, top->memory);
}

/* ---- finding ---- */

/*
 * A slot of the hash table is 0, or has 1 + a candidate's index in its low bits.  Its high bits are
 * bits of the key's hash, which rule out most keys that are no candidates, without access to the
 * candidates.
 */
#define INDEX_BITS 22
#define INDEX_MASK ((UINT32_C(1) << INDEX_BITS) - 1)

static uint32_t
tag_of(uint64_t hash)
{
	return (uint32_t) hash & ~INDEX_MASK;
}

/* Returns the key's slot in the hash table, or the empty slot into which the key belongs. */
static uint32_t *
find_slot(const qs_top *top, uint64_t fingerprint)
{
	uint64_t hash = qb_slot_hash(fingerprint);
	uint64_t i = hash & (top->slots - 1);

	for (; top->slot[i] != 0; i = (i + 1) & (top->slots - 1))
		if ((top->slot[i] & ~INDEX_MASK) == tag_of(hash) &&
			top->key[(top->slot[i] & INDEX_MASK) - 1].fingerprint == fingerprint)
			break;
	return &top->slot[i];
}

static void
fill_slot(const qs_top *top, uint64_t i)
{
	uint64_t fingerprint = top->key[i].fingerprint;

	*find_slot(top, fingerprint) = tag_of(qb_slot_hash(fingerprint)) | (uint32_t) (i + 1);
}

qs_top_key *
qs_top_lookup(const qs_top *top, uint64_t fingerprint)
{
	uint32_t number = top->count > 0 ? *find_slot(top, fingerprint) & INDEX_MASK : 0;

	return number == 0 ? NULL : &top->key[number - 1];
}

/* Rebuilds the hash table after candidates were moved. */
static void
index_all(qs_top *top)
{
	uint64_t i;

	memset(top->slot, 0, top->slots * sizeof(*top->slot));
	for (i = 0; i < top->count; i++)
		fill_slot(top, i);
}

/* Returns entry i of a view, without its text. */
static qs_top_key
entry_at(const qs_top *top, uint64_t i)
{
	const uint8_t *entry = top->entries + i * top->entry_bytes;
	qs_top_key key = { .row = QS_TOP_NO_ROW };

	key.fingerprint = qb_load64(entry);
	if (top->entry_bytes == qs_entry_bytes(true))
		key.lower = qb_load32(entry + QS_TOP_ENTRY_LOWER);
	else
		key.lower = (int64_t) qb_load64(entry + QS_TOP_ENTRY_LOWER);
	if (top->entry_bytes > QS_TOP_ENTRY_BEFORE)
		key.before = (int64_t) qb_load64(entry + QS_TOP_ENTRY_BEFORE);
	return key;
}

static bool
find_in_view(const qs_top *top, uint64_t fingerprint, qs_top_key *key)
{
	uint64_t low = 0;
	uint64_t high = top->count;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;
		uint64_t there = qb_load64(top->entries + middle * top->entry_bytes);

		if (there == fingerprint)
		{
			*key = entry_at(top, middle);
			return true;
		}
		if (there < fingerprint)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool
qs_top_find(const qs_top *top, uint64_t fingerprint, qs_top_key *key)
{
	const qs_top_key *there;

	if (top->view)
		return find_in_view(top, fingerprint, key);
	there = qs_top_lookup(top, fingerprint);
	if (there)
		*key = *there;
	return there != NULL;
}

/* Reads the next text of a view.  Bytes that were not validated may end without a zero byte. */
static void
next_text(const qs_top *top, uint64_t *at, qs_top_key *key)
{
	uint64_t rest = top->text_bytes - *at;
	const uint8_t *start = top->text + *at;
	const uint8_t *end = memchr(start, 0, rest);

	key->text = (uint8_t *) (uintptr_t) start;
	key->length = (uint32_t) (end ? (uint64_t) (end - start) : rest);
	*at += end ? key->length + 1 : rest;
}

bool
qs_top_next(const qs_top *top, qs_top_position *position, qs_top_key *key)
{
	if (position->entry == top->count)
		return false;
	if (top->view)
	{
		*key = entry_at(top, position->entry);
		if (top->texts)
			next_text(top, &position->text, key);
	}
	else
		*key = top->key[position->entry];
	position->entry++;
	return true;
}

/* ---- adding and dropping candidates ---- */

/*
 * Returns the number of slots of the hash table.  Most lookups are for keys that are not in the
 * table.  In a sparse table the lookup of an absent key usually ends at the first slot.  So the
 * table is sparse as long as it fits into the L1 cache.
 */
static uint64_t
slots_for(uint64_t room)
{
	return room * (room <= MOST_SPARSE ? 8 : 2);
}

/* Doubles the memory for candidates, and makes a new hash table. */
static qb_status
grow(qs_top *top)
{
	const qb_memory *memory = top->memory;
	uint64_t room = top->room ? top->room * 2 : FIRST_ROOM;
	uint64_t slots = slots_for(room);
	qs_top_key *key =
		room > INDEX_MASK ? NULL : memory->alloc(memory->context, room * sizeof(*key));
	uint32_t *slot = key ? memory->alloc(memory->context, slots * sizeof(*slot)) : NULL;

	if (!slot)
	{
		release(top, key);
		return QB_NO_MEMORY;
	}
	if (top->count > 0)
		memcpy(key, top->key, top->count * sizeof(*key));
	release(top, top->key);
	release(top, top->slot);
	top->key = key;
	top->slot = slot;
	top->room = room;
	top->slots = slots;
	index_all(top);
	return QB_OK;
}

/* Orders by descending estimate, and equal estimates by fingerprint. */
static int
compare_estimates(const void *a, const void *b)
{
	const qs_top_key *x = a;
	const qs_top_key *y = b;

	if (x->estimate != y->estimate)
		return x->estimate > y->estimate ? -1 : 1;
	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/*
 * Keeps the "count" candidates with the largest estimates, and raises the bound.  Returns the
 * largest estimate of a dropped candidate.
 */
static int64_t
keep_largest(qs_top *top, uint64_t count)
{
	int64_t dropped;
	uint64_t i;

	qsort(top->key, top->count, sizeof(*top->key), compare_estimates);
	dropped = top->key[count].estimate;
	for (i = count; i < top->count; i++)
		release_text(top, &top->key[i]);
	top->count = count;
	top->fresh = 0;
	if (dropped > top->bound)
		top->bound = dropped;
	index_all(top);
	return dropped;
}

/* Drops candidates beyond the capacity, unless the sketch is explicit. */
static void
prune(qs_top *top, const qs_sketch *sk)
{
	uint64_t capacity = qs_top_capacity(top->n);
	uint64_t steps = 0;
	int64_t dropped;
	uint64_t i;

	if (sk->encoding == QS_EXPLICIT || top->count <= capacity)
		return;
	for (i = 0; i < top->count; i++)
	{
		qb_pause_after(top->memory, &steps, ESTIMATE_STEPS);
		top->key[i].estimate = qs_estimate(sk, top->key[i].fingerprint);
	}
	dropped = keep_largest(top, capacity);
	if (dropped > top->threshold)
		top->threshold = dropped;
}

qb_status
qs_top_admit(qs_top *top, const qs_sketch *sk, const qs_top_key *key)
{
	if (top->count == top->room)
	{
		qb_status status = grow(top);

		if (status != QB_OK)
			return status;
	}
	top->key[top->count] = *key;
	fill_slot(top, top->count++);
	if (top->count >= 2 * qs_top_capacity(top->n))
		prune(top, sk);
	return QB_OK;
}

/* Orders by descending count, and equal counts by key. */
static int
compare_times(const void *a, const void *b)
{
	const qs_frequent_key *x = a;
	const qs_frequent_key *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

qb_status
qs_top_fill(qs_top *top, const qs_sketch *sk, qs_frequent_key *key, uint64_t count, int64_t bound)
{
	uint64_t capacity = qs_top_capacity(top->n);
	qb_status status = QB_OK;
	uint64_t i;

	if (sk->encoding != QS_EXPLICIT && count > capacity)
	{
		qsort(key, count, sizeof(*key), compare_times);
		if ((int64_t) key[capacity].times > bound)
			bound = (int64_t) key[capacity].times;
		count = capacity;
	}
	while (top->room < count && status == QB_OK)
		status = grow(top);
	if (status != QB_OK)
		return status;
	for (i = 0; i < count; i++)
		top->key[i] = (qs_top_key){ .fingerprint = key[i].key,
									.lower = (int64_t) key[i].times,
									.row = QS_TOP_NO_ROW };
	top->count = count;
	top->bound = bound;
	if (count > 0)
		index_all(top);
	return QB_OK;
}

qb_status
qs_top_set_text(qs_top *top, qs_top_key *key, const uint8_t *text, uint32_t length)
{
	key->row = QS_TOP_NO_ROW;
	key->length = length;
	key->text = NULL;
	if (length == 0)
		return QB_OK;
	key->text = top->memory->alloc(top->memory->context, length);
	if (!key->text)
		return QB_NO_MEMORY;
	memcpy(key->text, text, length);
	top->length += length;
	return QB_OK;
}

static int
compare_fingerprints(const void *a, const void *b)
{
	const qs_top_key *x = a;
	const qs_top_key *y = b;

	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

static void
sort_candidates(qs_top *top)
{
	if (top->count < 2)
		return;
	qsort(top->key, top->count, sizeof(*top->key), compare_fingerprints);
	index_all(top);
}

/* Sets key->estimate.  Lowers the upper bound to the estimate, which is an upper bound, too. */
static void
tighten(qs_top_key *key, const qs_sketch *sk)
{
	int64_t most;

	key->estimate = qs_estimate(sk, key->fingerprint);
	most = key->estimate - key->lower;
	if (key->before > most)
		key->before = most > 0 ? most : 0;
}

void
qs_top_finish(qs_top *top, const qs_sketch *sk)
{
	uint64_t steps = 0;
	uint64_t i;

	prune(top, sk);
	for (i = 0; i < top->count; i++)
	{
		qb_pause_after(top->memory, &steps, ESTIMATE_STEPS);
		tighten(&top->key[i], sk);
	}
	sort_candidates(top);
}

void
qs_top_drop_below(qs_top *top, int64_t least)
{
	uint64_t kept = 0;
	uint64_t i;

	if (top->count == 0)
		return;
	for (i = 0; i < top->count; i++)
	{
		int64_t upper = top->key[i].lower + top->key[i].before;

		if (upper >= least)
		{
			top->key[kept++] = top->key[i];
			continue;
		}
		if (upper > top->bound)
			top->bound = upper;
		release_text(top, &top->key[i]);
	}
	top->count = kept;
	index_all(top);
}

/* ---- bounds of the weight of any key ---- */

/* Returns the largest possible weight of a key that is no candidate.  "sk" may be NULL. */
static int64_t
most_of_others(const qs_top *top, const qs_sketch *sk, uint64_t fingerprint)
{
	int64_t estimate = sk && top->bound > 0 ? qs_estimate(sk, fingerprint) : top->bound;

	return estimate < top->bound ? estimate : top->bound;
}

qs_top_limits
qs_top_limits_of(const qs_top *top, const qs_sketch *sk, uint64_t fingerprint)
{
	qs_top_limits limits = { 0, most_of_others(top, sk, fingerprint) };
	qs_top_key key;

	if (qs_top_find(top, fingerprint, &key))
	{
		tighten(&key, sk);
		limits = (qs_top_limits){ key.lower, key.lower + key.before };
	}
	return limits;
}

/* Returns the bounds of a key's weight in a sketch.  "top" is the sketch's list, or NULL. */
static qs_top_limits
limits_in(const qs_top *top, const qs_sketch *sk, uint64_t fingerprint)
{
	int64_t estimate;

	if (top)
		return qs_top_limits_of(top, sk, fingerprint);
	estimate = qs_estimate(sk, fingerprint);
	return (qs_top_limits){ sk->encoding == QS_EXPLICIT ? estimate : 0, estimate };
}

/* ---- subtracting ---- */

/*
 * Lowers the bounds of a candidate after a weight within the bounds "gone" was removed from its
 * key.  The weight was already removed from the sketch.  False: the candidate did not have this
 * weight.
 */
static bool
take_away(qs_top_key *key, const qs_sketch *sk, qs_top_limits gone)
{
	int64_t lower = key->lower > gone.upper ? key->lower - gone.upper : 0;
	int64_t upper = key->lower + key->before - gone.lower;

	key->estimate = qs_estimate(sk, key->fingerprint);
	if (upper > key->estimate)
		upper = key->estimate;
	key->lower = lower;
	key->before = upper - lower;
	return lower <= upper;
}

/*
 * True if two lists can be merged.  A list without keys has no texts, so it matches lists with and
 * without texts.
 */
static bool
lists_match(const qs_top *a, const qs_sketch *a_sketch, const qs_top *b, const qs_sketch *b_sketch)
{
	return a->n == b->n && qs_mergeable(a_sketch, b_sketch) &&
		   (a->count == 0 || b->count == 0 || a->texts == b->texts);
}

qb_status
qs_top_subtract(qs_top *top, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch)
{
	qb_status status = QB_OK;
	uint64_t steps = 0;
	int64_t rest;
	uint64_t i;

	if (from ? !lists_match(top, sketch, from, from_sketch) : !qs_mergeable(sketch, from_sketch))
		return QB_MISMATCH;
	status = qs_subtract(sketch, from_sketch);
	rest = sketch->total;
	for (i = 0; i < top->count && status == QB_OK; i++)
	{
		qs_top_key *key = &top->key[i];

		if (from_sketch->encoding == QS_COMPACT)
			qb_pause(top->memory); /* an estimate may read many blocks */
		qb_pause_after(top->memory, &steps, 2 * ESTIMATE_STEPS);
		if (!take_away(key, sketch, limits_in(from, from_sketch, key->fingerprint)) ||
			key->lower > rest)
			status = QB_UNDERFLOW;
		rest -= key->lower;
	}
	if (status != QB_OK)
		return status;
	top->threshold = 0;
	qs_top_drop_below(top, 1);
	if (top->bound > sketch->total)
		top->bound = sketch->total;
	return QB_OK;
}

/* ---- copying and merging ---- */

qb_status
qs_top_copy(qs_top *to, const qs_top *from, const qb_memory *memory)
{
	qb_status status = QB_OK;
	qs_top_position position = { 0 };
	qs_top_key key;

	qs_top_init(to, from->n, memory);
	to->bound = from->bound;
	to->threshold = from->threshold;
	to->texts = from->texts;
	while (to->room < from->count && status == QB_OK)
		status = grow(to);
	while (status == QB_OK && qs_top_next(from, &position, &key))
	{
		status = qs_top_set_text(to, &key, key.text, key.length);
		if (status == QB_OK)
			to->key[to->count++] = key;
	}
	if (status != QB_OK)
		qs_top_free(to);
	else if (to->count > 0)
		index_all(to);
	return status;
}

/*
 * Adds the bounds in "from" to the bounds of the candidates of "into".  "from_sketch" may be NULL.
 */
static void
add_known(qs_top *into, const qs_top *from, const qs_sketch *from_sketch)
{
	uint64_t steps = 0;
	uint64_t i;

	for (i = 0; i < into->count; i++)
	{
		qs_top_key *key = &into->key[i];
		qs_top_key other;

		if (from_sketch && from_sketch->encoding == QS_COMPACT)
			qb_pause(into->memory); /* an estimate may read many blocks */
		qb_pause_after(into->memory, &steps, ESTIMATE_STEPS);
		if (!qs_top_find(from, key->fingerprint, &other))
		{
			key->before += most_of_others(from, from_sketch, key->fingerprint);
			continue;
		}
		key->lower += other.lower;
		key->before += other.before;
	}
}

/*
 * Adds the candidates of "from" that "into" does not have.  Does not use qs_top_admit(), because no
 * candidate may be dropped before the sketches are merged.  "sketch" may be NULL.
 */
static qb_status
add_unknown(qs_top *into, const qs_sketch *sketch, const qs_top *from)
{
	uint64_t known = into->count;
	qb_status status = QB_OK;
	qs_top_position position = { 0 };
	uint64_t steps = 0;
	qs_top_key key;

	while (into->room < known + from->count)
		if ((status = grow(into)) != QB_OK)
			return status;
	while (qs_top_next(from, &position, &key))
	{
		qb_pause_after(into->memory, &steps, ESTIMATE_STEPS);
		if (qs_top_lookup(into, key.fingerprint))
			continue;
		key.before += most_of_others(into, sketch, key.fingerprint);
		status = qs_top_set_text(into, &key, key.text, key.length);
		if (status != QB_OK)
			return status;
		into->key[into->count] = key;
		fill_slot(into, into->count++);
	}
	return QB_OK;
}

/* Merges the candidates and their bounds.  The sketches must not be merged yet, and may be NULL. */
static qb_status
merge_candidates(qs_top *into, const qs_sketch *sketch, const qs_top *from,
				 const qs_sketch *from_sketch)
{
	qb_status status;

	add_known(into, from, from_sketch);
	status = add_unknown(into, sketch, from);
	into->bound += from->bound;
	into->threshold = 0;
	into->texts |= from->texts;
	return status;
}

qb_status
qs_top_merge(qs_top *into, qs_sketch *sketch, const qs_top *from, const qs_sketch *from_sketch)
{
	qb_status status;

	if (!lists_match(into, sketch, from, from_sketch))
		return QB_MISMATCH;
	if (from_sketch->total > INT64_MAX - sketch->total)
		return QB_TOTAL_OVERFLOW;
	status = merge_candidates(into, sketch, from, from_sketch);
	if (status == QB_OK)
		status = qs_merge(sketch, from_sketch);
	if (status == QB_OK)
		prune(into, sketch);
	return status;
}

qb_status
qs_top_merge_list(qs_top *into, const qs_top *from)
{
	uint64_t most = LISTED_MOST * qs_top_capacity(into->n);
	qb_status status = merge_candidates(into, NULL, from, NULL);
	uint64_t i;

	if (status != QB_OK)
		return status;
	for (i = 0; i < into->count; i++)
		into->key[i].estimate = into->key[i].lower + into->key[i].before;
	if (into->count > most)
		(void) keep_largest(into, most);
	sort_candidates(into);
	return QB_OK;
}

qb_status
qs_top_fold(qs_top *top, qs_sketch *sketch, uint32_t n, uint64_t buckets)
{
	qb_status status = qs_fold(sketch, buckets);

	if (status != QB_OK)
		return status;
	top->n = n;
	top->threshold = 0;
	prune(top, sketch);
	return QB_OK;
}
