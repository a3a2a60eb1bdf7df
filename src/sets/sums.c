/*
 * sums.c
 *		All pairs: averages and shares of what was measured, for the costs of methods.
 *
 * src/sets/sums.c
 */
#include "sets/measure.h"

/* Sets of each side that are compared to judge sizes. */
#define SOME_SETS 100

/* Which share of pairs has sizes that allow them to pass, and which share of the prefixes' events. */
typedef struct alike
{
	double pairs;
	double events; /* pairs, weighted by the sizes of both: larger sets have longer prefixes */
} alike;

/* Judge the shares from some sets of each side. */
static alike
share_alike(const qset_preparation *p)
{
	const qset_side *r = &p->row;
	const qset_side *c = &p->column;
	alike some = { 0, 0 };
	alike all = { 0, 0 };
	uint64_t i;
	uint64_t j;

	if (p->request.filter.numerator == 0)
		return (alike){ 1, 1 };
	for (i = 0; i < r->sets; i += r->sets / SOME_SETS + 1)
	{
		uint64_t row = qset_set_size(r->collection, r->kept[i]);
		uint64_t least;
		uint64_t most;

		qset_filter_sizes(&p->request.filter, row, &least, &most);
		for (j = 0; j < c->sets; j += c->sets / SOME_SETS + 1)
		{
			uint64_t size = qset_set_size(c->collection, c->kept[j]);
			bool passes = size >= least && size <= most;

			some.pairs += passes;
			some.events += passes ? (double) row * (double) size : 0;
			all.pairs++;
			all.events += (double) row * (double) size;
		}
	}
	return (alike){ some.pairs / all.pairs, all.events > 0 ? some.events / all.events : 1 };
}

void
qset_sum(const qset_preparation *p, qset_sums *s)
{
	const qset_plan *plan = &p->plan;
	double half = plan->tail ? 0.5 : 1;
	alike shard;

	*s = (qset_sums){ 0 };
	if (plan->rows == 0 || plan->columns == 0)
		return;
	s->pairs = half * plan->rows * plan->columns;
	shard = share_alike(p);
	s->alike = s->pairs * shard.pairs;
	s->meeting = shard.events;
	s->others = s->alike / plan->columns * plan->column_elements;
	s->row = (double) plan->row_elements / plan->rows;
	s->column = (double) plan->column_elements / plan->columns;
	s->element = plan->row_elements + plan->column_elements;
	s->blocks = half * (plan->columns / (double) QSET_BLOCK) + 1;
}
