/*
 * parts_share.c
 *		Making a share of a collection, and the collection of all shares.
 *
 * Labels (labels.h) tell which elements and ids of a share are the same.  The
 * parts keep the elements' labels where their numbers will be.
 *
 * src/sets/parts_share.c
 */
#include "sets/parts.h"

/* ---- elements ---- */

/* Give the elements of a share labels; the parts keep them where the numbers will be. */
static qb_status
label_elements(const qset_parts *parts, uint32_t share, qset_labels *labels)
{
	qb_status status = QB_OK;
	uint32_t i;

	for (i = 0; i < parts->count && status == QB_OK; i++)
	{
		const qset_part *part = &parts->part[i];
		uint64_t first = qset_first_element(parts, &part->rows, share);
		uint64_t count = qset_first_element(parts, &part->rows, share + 1) - first;

		status = qset_labels_of_all(labels, part->rows.low + first,
									part->rows.wide ? part->rows.high + first : NULL, count,
									part->number + first, parts->memory, parts->interrupt);
	}
	return status;
}

/* Renumber a share's elements: number = rank[number], or number + first if there are no ranks. */
static qb_status
renumber(const qset_parts *parts, uint32_t share, const uint32_t *rank, uint64_t first)
{
	uint32_t i;

	for (i = 0; i < parts->count; i++)
	{
		const qset_part *part = &parts->part[i];
		uint64_t at = qset_first_element(parts, &part->rows, share);
		uint64_t end = qset_first_element(parts, &part->rows, share + 1);

		for (; at < end; at++)
		{
			uint32_t *number = &part->number[at];

			if (at % QSET_PATIENCE == 0 && qset_stopped(parts->interrupt))
				return QB_CANCELLED;
			*number = rank ? rank[*number] : (uint32_t) (*number + first);
		}
	}
	return QB_OK;
}

qb_status
qset_share_elements(const qset_parts *parts, uint32_t share, qset_collection *out)
{
	qset_labels labels = { .wide = out->wide };
	qb_status status = label_elements(parts, share, &labels);
	uint32_t *rank = qset_alloc(parts->memory, labels.used, sizeof(*rank));

	if (status == QB_OK && !rank)
		status = QB_NO_MEMORY;
	if (status == QB_OK)
		status =
			qset_labels_rank(&labels, rank, out->low, out->high, parts->memory, parts->interrupt);
	if (status == QB_OK)
		status = renumber(parts, share, rank, 0);
	out->universe = labels.used;
	qset_release(parts->memory, rank);
	qset_labels_free(&labels, parts->memory);
	return status;
}

qb_status
qset_share_number(const qset_parts *parts, uint32_t share, uint64_t first)
{
	return first > 0 ? renumber(parts, share, NULL, first) : QB_OK;
}

/* ---- sets ---- */

/* Arrays that are needed only while sets are placed; the caller releases them. */
typedef struct placing
{
	qset_labels ids;
	uint32_t *label; /* of each set of each part */
	uint32_t *rank;  /* of each label */
	uint64_t *place; /* where the next element of each set goes */
} placing;

/* Number the sets of a share in the order of their ids. */
static qb_status
number_sets(const qset_parts *parts, uint32_t share, qset_collection *out, placing *p)
{
	qb_status status = QB_OK;
	uint64_t sets = 0;
	uint32_t i;

	for (i = 0; i < parts->count && status == QB_OK; i++)
	{
		const qset_collection *c = &parts->part[i].rows;
		uint64_t first = qset_first_set(parts, c, share);
		uint64_t count = qset_first_set(parts, c, share + 1) - first;

		status = qset_labels_of_all(&p->ids, (const uint64_t *) c->id + first, NULL, count,
									p->label + sets, parts->memory, parts->interrupt);
		sets += count;
	}
	out->sets = p->ids.used;
	p->rank = qset_alloc(parts->memory, out->sets, sizeof(*p->rank));
	p->place = qset_alloc(parts->memory, out->sets, sizeof(*p->place));
	if (status == QB_OK && (!p->rank || !p->place))
		status = QB_NO_MEMORY;
	return status == QB_OK ? qset_labels_rank(&p->ids, p->rank, (uint64_t *) out->id, NULL,
											  parts->memory, parts->interrupt)
						   : status;
}

/* Set where each set of a share begins, with room for its duplicates. */
static void
place_sets(const qset_parts *parts, uint32_t share, qset_collection *out, placing *p)
{
	const uint32_t *label = p->label;
	uint64_t set;
	uint32_t i;

	memset(out->offset, 0, (out->sets + 1) * sizeof(*out->offset));
	for (i = 0; i < parts->count; i++)
	{
		const qset_collection *c = &parts->part[i].rows;
		uint64_t end = qset_first_set(parts, c, share + 1);

		for (set = qset_first_set(parts, c, share); set < end; set++)
			out->offset[p->rank[*label++] + 1] += c->offset[set + 1] - c->offset[set];
	}
	for (set = 0; set < out->sets; set++)
	{
		out->offset[set + 1] += out->offset[set];
		p->place[set] = out->offset[set];
	}
	out->elements = out->offset[out->sets];
}

/* Put the elements of all parts into their sets, with their numbers among all elements. */
static qb_status
fill_sets(const qset_parts *parts, uint32_t share, qset_collection *out, placing *p)
{
	const uint32_t *label = p->label;
	uint64_t asked = 0;
	uint64_t set;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < parts->count; i++)
	{
		const qset_collection *c = &parts->part[i].rows;
		const uint32_t *number = parts->part[i].number;
		uint64_t end = qset_first_set(parts, c, share + 1);

		for (set = qset_first_set(parts, c, share); set < end; set++)
		{
			uint64_t *place = &p->place[p->rank[*label++]];

			for (at = c->offset[set]; at < c->offset[set + 1]; at++)
			{
				if (++asked % QSET_PATIENCE == 0 && qset_stopped(parts->interrupt))
					return QB_CANCELLED;
				out->rank[(*place)++] = number[c->rank[at]];
			}
		}
	}
	return QB_OK;
}

qb_status
qset_share_sets(const qset_parts *parts, uint32_t share, qset_collection *out)
{
	placing p = { .label = qset_alloc(parts->memory, qset_share_room(parts, share).sets,
									  sizeof(*p.label)) };
	qb_status status = p.label ? number_sets(parts, share, out, &p) : QB_NO_MEMORY;

	if (status == QB_OK)
	{
		place_sets(parts, share, out, &p);
		status = fill_sets(parts, share, out, &p);
	}
	if (status == QB_OK)
		status = qset_collection_sort(out, parts->memory, parts->interrupt);
	qset_labels_free(&p.ids, parts->memory);
	qset_release(parts->memory, p.label);
	qset_release(parts->memory, p.rank);
	qset_release(parts->memory, p.place);
	return status;
}

/* ---- the whole ---- */

/* Append a share to the collection so far; the share's own sizes say how much to copy. */
static void
append(qset_collection *to, const qset_collection *share)
{
	uint64_t set;

	qset_put(to->id + to->sets, share->id, share->sets, sizeof(*to->id));
	for (set = 1; set <= share->sets; set++)
		to->offset[to->sets + set] = to->elements + share->offset[set];
	qset_put(to->rank + to->elements, share->rank, share->elements, sizeof(*to->rank));
	qset_put(to->low + to->universe, share->low, share->universe, sizeof(*to->low));
	if (to->wide)
		qset_put(to->high + to->universe, share->high, share->universe, sizeof(*to->high));
	to->sets += share->sets;
	to->elements += share->elements;
	to->universe += share->universe;
}

qb_status
qset_parts_join(const qset_collection *share, uint32_t shares, const qb_keys *keys,
				qset_collection *out, const qb_memory *memory, const qset_interrupt *interrupt)
{
	qb_status status;
	uint32_t i;

	*out = (qset_collection){ .keys = *keys, .wide = shares > 0 && share[0].wide };
	for (i = 0; i < shares; i++)
	{
		out->sets += share[i].sets;
		out->elements += share[i].elements;
		out->universe += share[i].universe;
	}
	if (out->sets > QSET_MAX_SETS || out->universe > QSET_MAX_UNIVERSE ||
		out->elements > QSET_MAX_ELEMENTS)
		return QB_TOO_MANY;
	status = qset_collection_alloc(out, memory);
	out->sets = out->elements = out->universe = 0;
	for (i = 0; i < shares && status == QB_OK; i++)
	{
		if (qset_stopped(interrupt))
			status = QB_CANCELLED;
		else
			append(out, &share[i]);
	}
	if (status == QB_CANCELLED)
		qset_collection_free(out);
	return status;
}
