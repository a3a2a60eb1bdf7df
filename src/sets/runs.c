/*
 * runs.c
 *		Makes one collection of the runs of several processes, shard by shard.
 *
 * A block of a run begins with a block_head; ids, offsets, lower and upper halves of elements,
 * numbers of elements and ranks follow.
 *
 * src/sets/runs.c
 */
#include "sets/builder.h"

#include <stdlib.h>

/* The number of keys that are sampled for each shard, from all runs together. */
#define SAMPLES 16

typedef struct block_head
{
	uint64_t sets;
	uint64_t elements;
	uint64_t universe;
	qb_keys keys;
	bool wide;
} block_head;

_Static_assert(sizeof(block_head) % 8 == 0, "arrays behind the head are not aligned");

/* ---- blocks ---- */

uint64_t
qset_run_bytes(const qset_collection *grouped)
{
	uint64_t bytes =
		sizeof(block_head) + (grouped->sets * 2 + 1) * sizeof(uint64_t) +
		grouped->universe * ((grouped->wide ? 2 : 1) * sizeof(uint64_t) + sizeof(uint32_t)) +
		grouped->elements * sizeof(uint32_t);

	return (bytes + 7) / 8 * 8;
}

void
qset_run_open(qset_run *run, void *block)
{
	const block_head *head = block;
	qset_collection *rows = &run->rows;

	*rows = (qset_collection){ .keys = head->keys, .wide = head->wide };
	rows->sets = head->sets;
	rows->elements = head->elements;
	rows->universe = head->universe;
	rows->id = (int64_t *) ((block_head *) block + 1);
	rows->offset = (uint64_t *) (rows->id + head->sets);
	rows->low = rows->offset + head->sets + 1;
	rows->high = head->wide ? rows->low + head->universe : NULL;
	run->number = (uint32_t *) (rows->low + head->universe * (head->wide ? 2 : 1));
	rows->rank = run->number + head->universe;
}

void
qset_run_write(const qset_collection *grouped, void *block)
{
	qset_run run;

	*(block_head *) block = (block_head){ grouped->sets, grouped->elements, grouped->universe,
										  grouped->keys, grouped->wide };
	qset_run_open(&run, block);
	qset_put(run.rows.id, grouped->id, grouped->sets, sizeof(int64_t));
	qset_put(run.rows.offset, grouped->offset, grouped->sets + 1, sizeof(uint64_t));
	qset_put(run.rows.low, grouped->low, grouped->universe, sizeof(uint64_t));
	if (grouped->wide)
		qset_put(run.rows.high, grouped->high, grouped->universe, sizeof(uint64_t));
	qset_put(run.rows.rank, grouped->rank, grouped->elements, sizeof(uint32_t));
}

/* ---- cuts ---- */

/* A key as an unsigned number of 128 bits. */
typedef struct sample
{
	uint64_t high;
	uint64_t low;
} sample;

#define SIGN (UINT64_C(1) << 63)

static int
compare_samples(const void *a, const void *b)
{
	const sample *x = a;
	const sample *y = b;

	if (x->high != y->high)
		return x->high < y->high ? -1 : 1;
	return (x->low > y->low) - (x->low < y->low);
}

static sample
id_sample(int64_t id)
{
	return (sample){ 0, (uint64_t) id ^ SIGN };
}

static sample
element_sample(const qset_collection *c, uint64_t rank)
{
	return c->wide ? (sample){ c->high[rank], c->low[rank] } : id_sample((int64_t) c->low[rank]);
}

/* Return the number of the set that a row belongs to. */
static uint64_t
set_of_row(const qset_collection *c, uint64_t row)
{
	return qset_lower((const int64_t *) c->offset, 0, c->sets, (int64_t) row + 1) - 1;
}

/*
 * Sample elements, or the ids of rows, at equal distances in all runs, and sort the samples.
 * Returns the number of samples.
 */
static uint64_t
take_samples(const qset_runs *runs, bool ids, uint64_t step, sample *out)
{
	uint64_t count = 0;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;

		for (at = step / 2; at < (ids ? c->elements : c->universe); at += step)
			out[count++] = ids ? id_sample(c->id[set_of_row(c, at)]) : element_sample(c, at);
	}
	qsort(out, count, sizeof(*out), compare_samples);
	return count;
}

/* Return the sample at which a shard ends; zero: no samples exist. */
static sample
cut_at(const sample *s, uint64_t count, uint32_t shard, uint32_t shards)
{
	return count > 0 ? s[count * (shard + 1) / shards] : (sample){ 0, 0 };
}

/* True if all runs have one width and one type of elements.  A run without sets fits any type. */
static bool
runs_match(const qset_runs *runs)
{
	qb_keys keys = { 0 };
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *rows = &runs->run[i].rows;

		if (rows->wide != runs->run[0].rows.wide)
			return false;
		if (rows->sets == 0)
			continue;
		if (!qb_keys_match(&keys, &rows->keys))
			return false;
		qb_keys_take(&keys, &rows->keys);
	}
	return true;
}

qb_status
qset_runs_cut(qset_runs *runs, uint32_t shards)
{
	qset_cuts *cuts = &runs->cuts;
	bool wide = runs->count > 0 && runs->run[0].rows.wide;
	uint64_t rows = 0;
	uint64_t universe = 0;
	sample *s;
	uint64_t count;
	uint32_t i;

	if (!runs_match(runs))
		return QB_MISMATCH;
	s = qset_alloc(runs->memory, (uint64_t) shards * SAMPLES + runs->count, sizeof(*s));
	if (!s)
		return QB_NO_MEMORY;
	for (i = 0; i < runs->count; i++)
	{
		rows += runs->run[i].rows.elements;
		universe += runs->run[i].rows.universe;
	}
	cuts->shards = shards;
	count = take_samples(runs, true, rows / (shards * SAMPLES) + 1, s);
	for (i = 0; i + 1 < shards; i++)
		cuts->id[i] = (int64_t) (cut_at(s, count, i, shards).low ^ SIGN);
	count = take_samples(runs, false, universe / (shards * SAMPLES) + 1, s);
	for (i = 0; i + 1 < shards; i++)
	{
		sample at = cut_at(s, count, i, shards);

		cuts->high[i] = at.high;
		cuts->low[i] = wide ? at.low : at.low ^ SIGN;
	}
	qset_release(runs->memory, s);
	return QB_OK;
}

/*
 * Return the index of the first set of the shard, or the number of sets for the shard after the
 * last shard.
 */
static uint64_t
first_set(const qset_runs *runs, const qset_collection *c, uint32_t shard)
{
	if (shard == 0 || shard == runs->cuts.shards)
		return shard == 0 ? 0 : c->sets;
	return qset_lower(c->id, 0, c->sets, runs->cuts.id[shard - 1]);
}

/*
 * Return the index of the first element of the shard, or the size of the universe for the shard
 * after the last shard.
 */
static uint64_t
first_element(const qset_runs *runs, const qset_collection *c, uint32_t shard)
{
	if (shard == 0 || shard == runs->cuts.shards)
		return shard == 0 ? 0 : c->universe;
	return qset_collection_lower(c, runs->cuts.low[shard - 1], runs->cuts.high[shard - 1]);
}

qset_room
qset_shard_room(const qset_runs *runs, uint32_t shard)
{
	qset_room room = { 0, 0, 0 };
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		uint64_t set = first_set(runs, c, shard);
		uint64_t end = first_set(runs, c, shard + 1);

		room.sets += end - set;
		room.elements += c->offset[end] - c->offset[set];
		room.universe += first_element(runs, c, shard + 1) - first_element(runs, c, shard);
	}
	return room;
}

/*
 * ---- making a shard of a collection, and the collection of all shards ----
 *
 * Equal elements of a shard get one code (dictionary.h), and equal ids get one code.  number[] of a
 * run has first an element's code, then its number in the shard, then its number in the collection.
 */

/* ---- elements ---- */

/* Write the codes of a shard's elements to number[] of the runs. */
static qb_status
code_elements(const qset_runs *runs, uint32_t shard, qset_dictionary *dictionary)
{
	qb_status status = QB_OK;
	uint32_t i;

	for (i = 0; i < runs->count && status == QB_OK; i++)
	{
		const qset_run *run = &runs->run[i];
		uint64_t first = first_element(runs, &run->rows, shard);
		uint64_t count = first_element(runs, &run->rows, shard + 1) - first;

		status = qset_dictionary_of_all(dictionary, run->rows.low + first,
										run->rows.wide ? run->rows.high + first : NULL, count,
										run->number + first, runs->memory);
	}
	return status;
}

/* Renumber a shard's elements: number = rank[number], or number + first if "rank" is NULL. */
static void
renumber(const qset_runs *runs, uint32_t shard, const uint32_t *rank, uint64_t first)
{
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_run *run = &runs->run[i];
		uint64_t at = first_element(runs, &run->rows, shard);
		uint64_t end = first_element(runs, &run->rows, shard + 1);

		for (; at < end; at++)
		{
			uint32_t *number = &run->number[at];

			qset_pause_at(runs->memory, at);
			*number = rank ? rank[*number] : (uint32_t) (*number + first);
		}
	}
}

qb_status
qset_shard_elements(const qset_runs *runs, uint32_t shard, qset_collection *out)
{
	qset_dictionary dictionary = { .wide = out->wide };
	qb_status status = code_elements(runs, shard, &dictionary);
	uint32_t *rank = qset_alloc(runs->memory, dictionary.used, sizeof(*rank));

	if (status == QB_OK && !rank)
		status = QB_NO_MEMORY;
	if (status == QB_OK)
		status = qset_dictionary_rank(&dictionary, rank, out->low, out->high, runs->memory);
	if (status == QB_OK)
		renumber(runs, shard, rank, 0);
	out->universe = dictionary.used;
	qset_release(runs->memory, rank);
	qset_dictionary_free(&dictionary, runs->memory);
	return status;
}

void
qset_shard_number(const qset_runs *runs, uint32_t shard, uint64_t first)
{
	if (first > 0)
		renumber(runs, shard, NULL, first);
}

/* ---- sets ---- */

/* Temporary arrays for filling sets; the caller releases them. */
typedef struct placing
{
	qset_dictionary ids;
	uint32_t *code; /* code of each set of each run */
	uint32_t *rank; /* rank of each code */
	uint64_t *next; /* index of the next element of each set */
} placing;

/* Number the sets of a shard in the order of their ids. */
static qb_status
number_sets(const qset_runs *runs, uint32_t shard, qset_collection *out, placing *p)
{
	qb_status status = QB_OK;
	uint64_t sets = 0;
	uint32_t i;

	for (i = 0; i < runs->count && status == QB_OK; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		uint64_t first = first_set(runs, c, shard);
		uint64_t count = first_set(runs, c, shard + 1) - first;

		status = qset_dictionary_of_all(&p->ids, (const uint64_t *) c->id + first, NULL, count,
										p->code + sets, runs->memory);
		sets += count;
	}
	out->sets = p->ids.used;
	p->rank = qset_alloc(runs->memory, out->sets, sizeof(*p->rank));
	p->next = qset_alloc(runs->memory, out->sets, sizeof(*p->next));
	if (status == QB_OK && (!p->rank || !p->next))
		status = QB_NO_MEMORY;
	return status == QB_OK
			   ? qset_dictionary_rank(&p->ids, p->rank, (uint64_t *) out->id, NULL, runs->memory)
			   : status;
}

/* Set the offset of each set of a shard, with space for duplicates. */
static void
set_offsets(const qset_runs *runs, uint32_t shard, qset_collection *out, placing *p)
{
	const uint32_t *code = p->code;
	uint64_t set;
	uint32_t i;

	memset(out->offset, 0, (out->sets + 1) * sizeof(*out->offset));
	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		uint64_t end = first_set(runs, c, shard + 1);

		for (set = first_set(runs, c, shard); set < end; set++)
			out->offset[p->rank[*code++] + 1] += c->offset[set + 1] - c->offset[set];
	}
	for (set = 0; set < out->sets; set++)
	{
		out->offset[set + 1] += out->offset[set];
		p->next[set] = out->offset[set];
	}
	out->elements = out->offset[out->sets];
}

/* Fill the sets of a shard with the final numbers of their elements from all runs. */
static void
fill_sets(const qset_runs *runs, uint32_t shard, qset_collection *out, placing *p)
{
	const uint32_t *code = p->code;
	uint64_t steps = 0;
	uint64_t set;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		const uint32_t *number = runs->run[i].number;
		uint64_t end = first_set(runs, c, shard + 1);

		for (set = first_set(runs, c, shard); set < end; set++)
		{
			uint64_t *next = &p->next[p->rank[*code++]];

			for (at = c->offset[set]; at < c->offset[set + 1]; at++)
			{
				qset_pause_at(runs->memory, ++steps);
				out->rank[(*next)++] = number[c->rank[at]];
			}
		}
	}
}

qb_status
qset_shard_sets(const qset_runs *runs, uint32_t shard, qset_collection *out)
{
	placing p = { .code = qset_alloc(runs->memory, qset_shard_room(runs, shard).sets,
									 sizeof(*p.code)) };
	qb_status status = p.code ? number_sets(runs, shard, out, &p) : QB_NO_MEMORY;

	if (status == QB_OK)
	{
		set_offsets(runs, shard, out, &p);
		fill_sets(runs, shard, out, &p);
		status = qset_collection_sort(out, runs->memory);
	}
	qset_dictionary_free(&p.ids, runs->memory);
	qset_release(runs->memory, p.code);
	qset_release(runs->memory, p.rank);
	qset_release(runs->memory, p.next);
	return status;
}

/* ---- the whole ---- */

/* Append a shard to the collection. */
static void
append(qset_collection *to, const qset_collection *shard)
{
	uint64_t set;

	qset_put(to->id + to->sets, shard->id, shard->sets, sizeof(*to->id));
	for (set = 1; set <= shard->sets; set++)
		to->offset[to->sets + set] = to->elements + shard->offset[set];
	qset_put(to->rank + to->elements, shard->rank, shard->elements, sizeof(*to->rank));
	qset_put(to->low + to->universe, shard->low, shard->universe, sizeof(*to->low));
	if (to->wide)
		qset_put(to->high + to->universe, shard->high, shard->universe, sizeof(*to->high));
	to->sets += shard->sets;
	to->elements += shard->elements;
	to->universe += shard->universe;
}

qb_status
qset_runs_join(const qset_collection *shard, uint32_t shards, const qb_keys *keys,
			   qset_collection *out, const qb_memory *memory)
{
	qb_status status;
	uint32_t i;

	*out = (qset_collection){ .keys = *keys, .wide = shards > 0 && shard[0].wide };
	for (i = 0; i < shards; i++)
	{
		out->sets += shard[i].sets;
		out->elements += shard[i].elements;
		out->universe += shard[i].universe;
	}
	if (out->sets > QSET_MAX_SETS || out->universe > QSET_MAX_UNIVERSE ||
		out->elements > QSET_MAX_ELEMENTS)
		return QB_TOO_MANY;
	status = qset_collection_alloc(out, memory);
	out->sets = out->elements = out->universe = 0;
	for (i = 0; i < shards && status == QB_OK; i++)
	{
		qb_pause(memory);
		append(out, &shard[i]);
	}
	return status;
}
