/*
 * compact.c
 *		The compact encoding: reading it, adding it to a filter, and its validator.
 *
 * Every byte is read under a check of the data's end, and every position is checked
 * against the end of its group.  So damaged bytes can give wrong bits, but nothing is
 * read or written outside of the value and the bits.
 *
 * src/filter/compact.c
 */
#include "filter/compact.h"

/* So many set bits make a group pay. */
#define ONES_IN_GROUP 32

uint32_t
qf_group_shift(uint64_t m, uint64_t ones)
{
	return qb_group_shift(m, ones, ONES_IN_GROUP, QF_BLOCK_LOG);
}

uint64_t
qf_group_table(const qf_params *p, uint64_t ones)
{
	return 4 * (qb_group_count(p->m, qf_group_shift(p->m, ones)) - 1);
}

bool
qf_compact_plausible(const qf_filter *view, uint64_t bytes)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return bytes <= qf_compact_most(&view->params) && table + view->ones <= bytes &&
		   bytes <= table + view->ones * QF_GAP_BYTES;
}

qf_group
qf_group_of(const qf_filter *view, uint64_t number, const uint8_t *data, uint64_t bytes)
{
	uint64_t m = view->params.m;
	uint32_t shift = qf_group_shift(m, view->ones);
	qf_group group = { .next = data, .end = data + bytes, .first = number << shift };

	group.after = (number + 1) << shift;
	if (group.after > m)
		group.after = m;
	return group;
}

/* A compact view, to be read group by group. */
typedef struct groups
{
	const qf_filter *view;
	uint64_t count;
	uint64_t now; /* the group that comes next */
	const uint8_t *data;
	uint64_t bytes; /* of the data */
	uint64_t start; /* of the next group's data */
} groups;

static groups
groups_of(const qf_filter *view)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return (groups){ .view = view,
					 .count = table / 4 + 1,
					 .data = view->compact + table,
					 .bytes = view->compact_bytes - table };
}

/* Start the next group; false after the last one.  A group with damaged ends is empty. */
static bool
next_group(groups *g, qf_group *group)
{
	uint64_t end = g->bytes;
	bool damaged;

	if (g->now == g->count)
		return false;
	if (g->now + 1 < g->count)
		end = qb_load32(g->view->compact + 4 * g->now);
	damaged = end < g->start || end > g->bytes || end - g->start > QF_GROUP_BYTES;
	if (damaged)
		end = g->start;
	*group = qf_group_of(g->view, g->now, g->data + g->start, end - g->start);
	group->damaged = damaged;
	g->start = end;
	g->now++;
	return true;
}

/* ---- adding ---- */

/* Set a group's bits in a dense filter.  The group is a copy, which can stay in registers. */
static void
unite_group(qf_filter *into, qf_group group)
{
	uint8_t *bits = into->bits;
	uint64_t ones = 0;
	uint32_t position;

	while (qf_group_next(&group, &position))
		ones += qf_set_bit(bits, position);
	into->ones += ones;
}

static qb_status
unite_group_explicit(qf_filter *into, qf_group *group)
{
	qb_status status = QB_OK;
	uint32_t position;

	while (status == QB_OK && qf_group_next(group, &position))
		status = qf_set(into, &position, 1);
	return status;
}

qb_status
qf_unite_compact(qf_filter *into, const qf_filter *from)
{
	groups g = groups_of(from);
	qb_status status = QB_OK;
	uint64_t steps = 0;
	qf_group group;

	if (into->encoding == QF_EXPLICIT && from->ones > qf_explicit_limit(&into->params))
		status = qf_make_dense(into);
	while (status == QB_OK && next_group(&g, &group))
	{
		qb_pause_after(into->memory, &steps, 1 + (uint64_t) (group.end - group.next));
		if (into->encoding == QF_DENSE)
			unite_group(into, group);
		else
			status = unite_group_explicit(into, &group);
	}
	return status;
}

/* ---- validating ---- */

bool
qf_compact_check(const qf_filter *view)
{
	groups g = groups_of(view);
	uint64_t ones = 0;
	uint64_t steps = 0;
	uint32_t position;
	qf_group group;

	while (next_group(&g, &group))
	{
		qb_pause_after(view->memory, &steps, 1 + (uint64_t) (group.end - group.next));
		while (qf_group_next(&group, &position))
			ones++;
		if (group.damaged)
			return false;
	}
	return ones == view->ones;
}
