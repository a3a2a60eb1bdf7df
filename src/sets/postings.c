/*
 * postings.c
 *		Finds the sets that are most similar to one set.
 *
 * src/sets/postings.c
 */
#include "sets/pairs.h"

/* The cost of putting an element into a list, in steps: a cache miss. */
#define FAR_STEPS 16

uint64_t
qset_postings_memory(const qset_collection *sizes)
{
	return qset_collection_memory(sizes) + sizes->elements * sizeof(uint32_t) +
		   (sizes->universe + 1) * sizeof(uint64_t);
}

void
qset_postings_free(qset_postings *p)
{
	const qb_memory *memory = p->collection.memory;

	qset_release(memory, p->begin);
	qset_release(memory, p->list);
	qset_collection_free(&p->collection);
}

/*
 * Write each set into the lists of its elements.  begin[r] is the index of the next set in the list
 * of element r.
 */
static void
fill_lists(const qset_collection *c, uint64_t *begin, uint32_t *list)
{
	const uint32_t *rank = c->rank;
	uint64_t steps = 0;
	uint64_t set;
	uint64_t i;

	for (set = 0; set < c->sets; set++)
	{
		uint64_t end = c->offset[set + 1];
		uint64_t next;

		for (i = c->offset[set]; i < end; i = next)
		{
			next = end - i < QSET_PATIENCE / FAR_STEPS ? end : i + QSET_PATIENCE / FAR_STEPS;
			qb_pause_after(c->memory, &steps, (next - i) * FAR_STEPS);
			for (; i < next; i++)
				list[begin[rank[i]]++] = (uint32_t) set;
		}
	}
}

/*
 * Make the lists.  First begin[r] is the number of sets that have element r.  Then begin[r] is the
 * begin of this element's list.  Filling the list moves begin[r] to the begin of the next list, so
 * make_lists() then shifts begin[] by one element.
 */
static void
make_lists(qset_postings *p)
{
	const qset_collection *c = &p->collection;
	uint64_t *begin = p->begin;
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < c->elements; i++)
	{
		qset_pause_at(c->memory, i * FAR_STEPS);
		begin[c->rank[i]]++;
	}
	for (i = 0; i < c->universe; i++)
	{
		uint64_t length = begin[i];

		qset_pause_at(c->memory, i);
		begin[i] = sum;
		sum += length;
	}
	fill_lists(c, begin, p->list);
	memmove(begin + 1, begin, c->universe * sizeof(*begin));
	begin[0] = 0;
}

qb_status
qset_postings_make(qset_postings *p, qset_collection *collection)
{
	const qb_memory *memory = collection->memory;

	*p = (qset_postings){ .collection = *collection };
	*collection = (qset_collection){ .memory = memory };
	p->begin = qset_alloc(memory, p->collection.universe + 1, sizeof(*p->begin));
	p->list = qset_alloc(memory, p->collection.elements, sizeof(*p->list));
	if (!p->begin || !p->list)
	{
		qset_postings_free(p);
		return QB_NO_MEMORY;
	}
	make_lists(p);
	return QB_OK;
}

void
qset_question_of_set(qset_question *q, const qset_collection *c, uint64_t set)
{
	q->rank = qset_set_ranks(c, set);
	q->ranks = q->size = qset_set_size(c, set);
	q->itself = (int64_t) set;
}

/* ---- answers ---- */

/* The state of answering a question. */
typedef struct answer
{
	const qset_collection *collection;
	const qset_question *question;
	const qset_kernels *kernels;
	const qb_memory *memory;
	uint64_t steps; /* steps since the last pause */
	qset_best *best;
	bool measuring;   /* true: only count the pairs that pass */
	uint64_t passing; /* number of pairs that pass */

	/* for answers by postings */
	const qset_postings *postings;
	uint64_t *next;  /* for each element of the question: index of the next entry of its list */
	uint64_t block;  /* number of sets of a block */
	void *count;     /* counters of a block's sets, 2 or 4 bytes each */
	bool wide;       /* counters have 4 bytes */
	uint32_t *found; /* sets of a block whose counters are large enough */

	const uint8_t *has; /* for answers by the collection: true for the question's elements */
} answer;

/* Keep the pair of a set with "common" common elements, if it passes. */
QB_INLINE void
take(answer *a, uint32_t set, uint32_t common)
{
	const qset_question *q = a->question;
	uint32_t size = qset_set_size(a->collection, set);
	qset_pair pair = { 0, set, common, (uint32_t) (q->size + size - common) };

	if ((int64_t) set == q->itself || !qset_filter_pass(&q->filter, common, pair.either))
		return;
	a->passing++;
	if (!a->measuring)
		qset_best_offer(a->best, &pair);
}

static uint64_t
larger(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/*
 * Return a number of common elements that every set must reach to be in the answer.  Sets are
 * counted in ascending order, and of equal pairs the pair of the earlier set is better.
 */
static uint64_t
least_common(const answer *a)
{
	const qset_question *q = a->question;
	const qset_pair *worst = a->best->pair;
	uint64_t least = qset_filter_least(&q->filter, q->size);

	if (least == 0 && !qset_filter_passes_nothing(&q->filter))
		least = 1;
	if (a->measuring || a->best->count < a->best->room)
		return least;
	if (a->best->order == QSET_BY_JACCARD && worst->either > 0)
		least = larger(least, worst->common * q->size / worst->either + 1);
	if (a->best->order == QSET_BY_COMMON)
		least = larger(least, worst->common);
	return least;
}

/* ---- by postings ---- */

/* The number of sets whose counters fit into the second-level cache. */
#define BLOCK (UINT64_C(1) << 16)

/*
 * If lists are long enough, a list has about this many entries in a block on average, or more.
 * With fewer entries, moving to the next list would take longer than reading the entries.
 */
#define ENTRIES_EACH 4

/* The number of counters that one call of find16() or find32() reads. */
#define SCAN 4096

static void
count_steps(answer *a, uint64_t steps)
{
	qb_pause_after(a->memory, &a->steps, steps);
}

/* The cost of one access to an element's list, in steps: a cache miss. */
#define STEPS_OF_MISS 32

/* Choose the size of blocks, and allocate the arrays of an answer by postings. */
static qb_status
open_blocks(answer *a)
{
	const qset_question *q = a->question;
	const qb_memory *memory = a->memory;
	const uint64_t *begin = a->postings->begin;
	uint64_t entries = 0;
	uint64_t sets = a->collection->sets;
	uint64_t blocks;
	uint64_t i;

	a->next = qset_alloc(memory, q->ranks, sizeof(*a->next));
	a->found = qset_alloc(memory, SCAN + QSET_SLACK, sizeof(*a->found));
	for (i = 0; i < q->ranks; i++)
	{
		count_steps(a, STEPS_OF_MISS);
		entries += begin[q->rank[i] + 1] - begin[q->rank[i]];
	}
	blocks = q->ranks > 0 ? entries / ENTRIES_EACH / q->ranks + 1 : 1;
	a->block = sets / blocks + 1 > BLOCK ? sets / blocks + 1 : BLOCK;
	a->block = a->block < sets ? a->block : sets;
	a->wide = q->ranks > UINT16_MAX;
	a->count = qset_alloc(memory, a->block + QSET_SLACK, a->wide ? 4 : 2);
	return a->next && a->found && a->count ? QB_OK : QB_NO_MEMORY;
}

static void
close_blocks(answer *a)
{
	qset_release(a->memory, a->next);
	qset_release(a->memory, a->found);
	qset_release(a->memory, a->count);
}

/*
 * Add the entries of list i that are less than set "end" to the counters, which begin with set
 * "first".  Returns the number of entries.
 */
static uint64_t
add_list(answer *a, uint64_t i, uint64_t first, uint64_t end)
{
	const uint32_t *list = a->postings->list;
	uint64_t last = a->postings->begin[a->question->rank[i] + 1];
	uint64_t begin = a->next[i];
	uint64_t at = begin;

	if (a->wide)
		for (; at < last && list[at] < end; at++)
			((uint32_t *) a->count)[list[at] - first]++;
	else
		for (; at < last && list[at] < end; at++)
			((uint16_t *) a->count)[list[at] - first]++;
	a->next[i] = at;
	return at - begin;
}

/* Keep the pairs of the sets of a block whose counters are large enough. */
static void
take_block(answer *a, uint64_t first, uint32_t sets)
{
	qset_slice s = { .row = a->count };
	uint32_t i;

	for (s.from = 0; s.from < sets; s.from = s.to)
	{
		uint64_t least = least_common(a);
		uint32_t count = 0;

		s.to = sets - s.from < SCAN ? sets : s.from + SCAN;
		s.least = (uint32_t) least;
		count_steps(a, s.to - s.from);
		if (least <= (a->wide ? UINT32_MAX : UINT16_MAX))
			count = (a->wide ? a->kernels->find32 : a->kernels->find16)(&s, a->found);
		for (i = 0; i < count; i++)
			take(a, (uint32_t) first + a->found[i],
				 a->wide ? ((uint32_t *) a->count)[a->found[i]]
						 : ((uint16_t *) a->count)[a->found[i]]);
	}
}

/* Count the common elements of all sets, block by block, and keep the pairs. */
static void
go_through_blocks(answer *a)
{
	const qset_question *q = a->question;
	uint64_t sets = a->collection->sets;
	uint64_t first;
	uint64_t i;

	for (i = 0; i < q->ranks; i++)
	{
		count_steps(a, STEPS_OF_MISS);
		a->next[i] = a->postings->begin[q->rank[i]];
	}
	for (first = 0; first < sets; first += a->block)
	{
		uint64_t end = sets - first < a->block ? sets : first + a->block;
		uint64_t added = 0;

		memset(a->count, 0, (end - first) * (a->wide ? 4 : 2));
		for (i = 0; i < q->ranks; i++)
		{
			uint64_t steps = add_list(a, i, first, end);

			added += steps;
			count_steps(a, steps + 1);
		}
		if (added > 0 || qset_filter_passes_nothing(&q->filter))
			take_block(a, first, (uint32_t) (end - first));
	}
}

/* ---- by the collection ---- */

/* Count the common elements of all sets, by reading all elements, and keep the pairs. */
static void
go_through_sets(answer *a)
{
	const qset_collection *c = a->collection;
	uint64_t set;
	uint64_t i;

	for (set = 0; set < c->sets; set++)
	{
		uint32_t common = 0;

		for (i = c->offset[set]; i < c->offset[set + 1]; i++)
			common += a->has[c->rank[i]];
		count_steps(a, qset_set_size(c, set));
		if (common >= least_common(a))
			take(a, (uint32_t) set, common);
	}
}

/* ---- both ways ---- */

static void
go_through(answer *a)
{
	if (a->postings)
		go_through_blocks(a);
	else
		go_through_sets(a);
}

/*
 * Allocate the array of pairs.  If filter->top is 0, or more than question->most pairs may be
 * found, first count the pairs that pass.
 */
static qb_status
make_room(answer *a)
{
	const qset_filter *filter = &a->question->filter;
	uint64_t room = filter->top < a->collection->sets ? filter->top : a->collection->sets;

	*a->best = (qset_best){ .order = filter->order, .size = a->question->size };
	if (filter->top == 0 || room > a->question->most)
	{
		a->measuring = true;
		go_through(a);
		a->measuring = false;
		room = filter->top == 0 || a->passing < room ? a->passing : room;
	}
	if (room > a->question->most)
		return QB_NO_ROOM;
	a->best->room = room > 0 ? room : 1;
	a->best->pair = qset_alloc(a->memory, a->best->room, sizeof(*a->best->pair));
	return a->best->pair ? QB_OK : QB_NO_MEMORY;
}

static qb_status
find_best(answer *a)
{
	qb_status status = make_room(a);

	if (status != QB_OK)
		return status;
	go_through(a);
	qset_best_sort(a->best, a->memory);
	return QB_OK;
}

qb_status
qset_postings_answer(const qset_postings *p, const qset_question *q, const qset_kernels *kernels,
					 qset_best *best, const qb_memory *memory)
{
	answer a = { .collection = &p->collection,
				 .question = q,
				 .kernels = kernels,
				 .memory = memory,
				 .best = best,
				 .postings = p };
	qb_status status = open_blocks(&a);

	if (status == QB_OK)
		status = find_best(&a);
	close_blocks(&a);
	return status;
}

qb_status
qset_collection_answer(const qset_collection *c, const qset_question *q, qset_best *best,
					   const qb_memory *memory)
{
	uint8_t *has = qset_alloc(memory, c->universe, sizeof(*has));
	answer a = { .collection = c, .question = q, .memory = memory, .best = best, .has = has };
	qb_status status;
	uint64_t i;

	if (!has)
		return QB_NO_MEMORY;
	for (i = 0; i < q->ranks; i++)
	{
		count_steps(&a, STEPS_OF_MISS);
		has[q->rank[i]] = 1;
	}
	status = find_best(&a);
	qset_release(memory, has);
	return status;
}
