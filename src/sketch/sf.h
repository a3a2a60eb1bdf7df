/*
 * sf.h
 *		The sf sketch: slim table on the device, fat table on the host.
 *
 * src/sketch/sf.h
 */
#ifndef QS_SF_H
#define QS_SF_H

#include "sketch/cells.h"

#define QS_SF_WIDTH 8

extern const qs_ops qs_sf_ops;

/* Computes the slim table of a full sketch: each counter is the maximum of its z fat cells. */
extern void qs_sf_refresh(qs_sketch *sk);

/* An odd constant for the mixes that choose cells: 2^64 / plastic number. */
#define QS_CELL_STEP UINT64_C(0xC13FA9A902A6328F)

/* Returns the key's cell, 0 .. z-1, in the i-th sub-bucket that its mask selects. */
QB_INLINE uint32_t
qs_sf_cell(uint64_t hv, uint32_t i, uint32_t z)
{
	return (uint32_t) qb_reduce(qb_mix64(hv + QS_CELL_STEP * (i + 1)), z);
}

/* Writes the indexes of the slim counters that hv owns. */
QB_INLINE void
qs_sf_slim_cells(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	qs_bucket_cells(qb_reduce(hv, sk->params.n) * QS_SF_WIDTH, qs_mask_in(sk, QS_SF_WIDTH, hv),
					cell);
}

/* Writes the indexes of the fat cells that hv owns. */
QB_INLINE void
qs_sf_fat_cells(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	uint32_t z = sk->params.z;
	uint32_t i;

	qs_sf_slim_cells(sk, hv, cell);
	for (i = 0; i < sk->params.depth; i++)
		cell[i] = cell[i] * z + qs_sf_cell(hv, i, z);
}

#endif
