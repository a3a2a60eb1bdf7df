/*
 * runs_shard.c
 *		Making a shard of a collection, and the collection of all shards.
 *
 * Codes (dictionary.h) tell which elements and ids of a shard are the same.  The
 * runs keep the elements' codes where their numbers will be.
 *
 * src/sets/runs_shard.c
 */
#include "sets/runs.h"

/* ---- elements ---- */

/* Give the elements of a shard codes; the runs keep them where the numbers will be. */
static qb_status
code_elements(const qset_runs *runs, uint32_t shard, qset_dictionary *dictionary)
{
	qb_status status = QB_OK;
	uint32_t i;

	for (i = 0; i < runs->count && status == QB_OK; i++)
	{
		const qset_run *run = &runs->run[i];
		uint64_t first = qset_first_element(runs, &run->rows, shard);
		uint64_t count = qset_first_element(runs, &run->rows, shard + 1) - first;

		status = qset_dictionary_of_all(dictionary, run->rows.low + first,
									run->rows.wide ? run->rows.high + first : NULL, count,
									run->number + first, runs->memory, runs->interrupt);
	}
	return status;
}

/* Renumber a shard's elements: number = rank[number], or number + first if there are no ranks. */
static qb_status
renumber(const qset_runs *runs, uint32_t shard, const uint32_t *rank, uint64_t first)
{
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_run *run = &runs->run[i];
		uint64_t at = qset_first_element(runs, &run->rows, shard);
		uint64_t end = qset_first_element(runs, &run->rows, shard + 1);

		for (; at < end; at++)
		{
			uint32_t *number = &run->number[at];

			if (at % QSET_PATIENCE == 0 && qset_stopped(runs->interrupt))
				return QB_CANCELLED;
			*number = rank ? rank[*number] : (uint32_t) (*number + first);
		}
	}
	return QB_OK;
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
		status =
			qset_dictionary_rank(&dictionary, rank, out->low, out->high, runs->memory, runs->interrupt);
	if (status == QB_OK)
		status = renumber(runs, shard, rank, 0);
	out->universe = dictionary.used;
	qset_release(runs->memory, rank);
	qset_dictionary_free(&dictionary, runs->memory);
	return status;
}

qb_status
qset_shard_number(const qset_runs *runs, uint32_t shard, uint64_t first)
{
	return first > 0 ? renumber(runs, shard, NULL, first) : QB_OK;
}

/* ---- sets ---- */

/* Arrays that are needed only while sets are placed; the caller releases them. */
typedef struct placing
{
	qset_dictionary ids;
	uint32_t *code; /* of each set of each run */
	uint32_t *rank;  /* of each code */
	uint64_t *place; /* where the next element of each set goes */
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
		uint64_t first = qset_first_set(runs, c, shard);
		uint64_t count = qset_first_set(runs, c, shard + 1) - first;

		status = qset_dictionary_of_all(&p->ids, (const uint64_t *) c->id + first, NULL, count,
									p->code + sets, runs->memory, runs->interrupt);
		sets += count;
	}
	out->sets = p->ids.used;
	p->rank = qset_alloc(runs->memory, out->sets, sizeof(*p->rank));
	p->place = qset_alloc(runs->memory, out->sets, sizeof(*p->place));
	if (status == QB_OK && (!p->rank || !p->place))
		status = QB_NO_MEMORY;
	return status == QB_OK ? qset_dictionary_rank(&p->ids, p->rank, (uint64_t *) out->id, NULL,
											  runs->memory, runs->interrupt)
						   : status;
}

/* Set where each set of a shard begins, with room for its duplicates. */
static void
place_sets(const qset_runs *runs, uint32_t shard, qset_collection *out, placing *p)
{
	const uint32_t *code = p->code;
	uint64_t set;
	uint32_t i;

	memset(out->offset, 0, (out->sets + 1) * sizeof(*out->offset));
	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		uint64_t end = qset_first_set(runs, c, shard + 1);

		for (set = qset_first_set(runs, c, shard); set < end; set++)
			out->offset[p->rank[*code++] + 1] += c->offset[set + 1] - c->offset[set];
	}
	for (set = 0; set < out->sets; set++)
	{
		out->offset[set + 1] += out->offset[set];
		p->place[set] = out->offset[set];
	}
	out->elements = out->offset[out->sets];
}

/* Put the elements of all runs into their sets, with their numbers among all elements. */
static qb_status
fill_sets(const qset_runs *runs, uint32_t shard, qset_collection *out, placing *p)
{
	const uint32_t *code = p->code;
	uint64_t asked = 0;
	uint64_t set;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < runs->count; i++)
	{
		const qset_collection *c = &runs->run[i].rows;
		const uint32_t *number = runs->run[i].number;
		uint64_t end = qset_first_set(runs, c, shard + 1);

		for (set = qset_first_set(runs, c, shard); set < end; set++)
		{
			uint64_t *place = &p->place[p->rank[*code++]];

			for (at = c->offset[set]; at < c->offset[set + 1]; at++)
			{
				if (++asked % QSET_PATIENCE == 0 && qset_stopped(runs->interrupt))
					return QB_CANCELLED;
				out->rank[(*place)++] = number[c->rank[at]];
			}
		}
	}
	return QB_OK;
}

qb_status
qset_shard_sets(const qset_runs *runs, uint32_t shard, qset_collection *out)
{
	placing p = { .code = qset_alloc(runs->memory, qset_shard_room(runs, shard).sets,
									  sizeof(*p.code)) };
	qb_status status = p.code ? number_sets(runs, shard, out, &p) : QB_NO_MEMORY;

	if (status == QB_OK)
	{
		place_sets(runs, shard, out, &p);
		status = fill_sets(runs, shard, out, &p);
	}
	if (status == QB_OK)
		status = qset_collection_sort(out, runs->memory, runs->interrupt);
	qset_dictionary_free(&p.ids, runs->memory);
	qset_release(runs->memory, p.code);
	qset_release(runs->memory, p.rank);
	qset_release(runs->memory, p.place);
	return status;
}

/* ---- the whole ---- */

/* Append a shard to the collection so far; the shard's own sizes say how much to copy. */
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
				qset_collection *out, const qb_memory *memory, const qset_interrupt *interrupt)
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
		if (qset_stopped(interrupt))
			status = QB_CANCELLED;
		else
			append(out, &shard[i]);
	}
	if (status == QB_CANCELLED)
		qset_collection_free(out);
	return status;
}
