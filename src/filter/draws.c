/*
 * draws.c
 *		The table of gaps.
 *
 * src/filter/draws.c
 */
#include "filter/draws.h"

void
qf_gaps_make(qf_gaps *gaps, const qf_params *p)
{
	uint64_t beyond = p->q;
	uint32_t b = QF_GUIDE;
	uint32_t i;

	gaps->count = p->k < QF_GAPS ? p->k : QF_GAPS;
	gaps->guide[b] = 0;
	for (i = 0; i < gaps->count; i++)
	{
		/* s falls: guide entries above this s count only the values before it. */
		while (b > 0 && beyond <= (uint64_t) (b - 1) << (64 - QF_GUIDE_BITS))
			gaps->guide[--b] = (uint16_t) i;
		gaps->beyond[i] = beyond;
		beyond = qb_mul_high(beyond, p->q);
	}
	while (b > 0)
		gaps->guide[--b] = (uint16_t) i;
}
