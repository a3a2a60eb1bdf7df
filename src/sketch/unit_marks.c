/*
 * unit_marks.c
 *		Marks: which units of a sketch are present, kept up to date as keys come and go.
 *
 * src/sketch/unit_marks.c
 */
#include "sketch/sf.h"
#include "sketch/thread.h"
#include "sketch/unit_marks.h"
#include "sketch/unit_present.h"

uint64_t
qs_mark_words(const qs_params *p)
{
	return (qs_units_of(p).units - 1) / QS_BLOCK + 1;
}

void
qs_mark_all(const qs_sketch *sk, uint64_t *marks)
{
	qs_unit_layout layout = qs_units_of(&sk->params);
	uint64_t steps = 0;
	uint64_t i;

	for (i = 0; i < layout.units; i += QS_BLOCK)
	{
		uint64_t left = layout.units - i;

		marks[i / QS_BLOCK] =
			qs_units_present(sk, layout.width, i, left < QS_BLOCK ? left : QS_BLOCK);
		qb_pause_after(sk->memory, &steps, QS_BLOCK);
	}
}

/* The units that have counters of a key.  Returns how many. */
static uint32_t
units_of_key(const qs_sketch *sk, uint64_t hv, uint64_t *unit)
{
	if (qs_has_rows(sk->params.structure))
		qs_thread_cells(sk, hv, unit);
	else if (qs_has_extra(&sk->params))
		qs_sf_fat_cells(sk, hv, unit);
	else
	{
		unit[0] = qb_reduce(hv, sk->params.n);
		return 1;
	}
	return sk->params.depth;
}

void
qs_mark_keys(const qs_sketch *sk, uint64_t *marks, const uint64_t *fingerprint, size_t count)
{
	uint32_t width = qs_units_of(&sk->params).width;
	uint64_t unit[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t units = units_of_key(sk, qb_hash(fingerprint[i], sk->seed_key), unit);
		uint32_t u;

		for (u = 0; u < units; u++)
		{
			uint64_t *word = &marks[unit[u] / QS_BLOCK];
			uint64_t bit = UINT64_C(1) << unit[u] % QS_BLOCK;

			*word = qs_units_present(sk, width, unit[u], 1) ? *word | bit : *word & ~bit;
		}
	}
}
