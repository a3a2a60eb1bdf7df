/*
 * techniques_path.c
 *		IP, intersect path: a pair cut into parts along its merge path.
 *
 * Paper, section 3 (Green, Yalamanchili and Munguia).  In the paper the parts
 * go to thread blocks.  Here they are pieces for IP-OBS and IP-HI, the paper's
 * own hybrids, that stay in the fastest cache.  A cut costs O(log(n + m)).
 *
 * src/sets/techniques_path.c
 */
#include "sets/techniques.h"

void
qset_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, uint64_t diagonal,
			  uint64_t *x, uint64_t *y)
{
	uint64_t low = diagonal > m ? diagonal - m : 0;
	uint64_t high = diagonal < n ? diagonal : n;

	/* how many of a precede the diagonal-th element of the merge */
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (a[middle] <= b[diagonal - middle - 1])
			low = middle + 1;
		else
			high = middle;
	}
	*x = low;
	*y = diagonal - low;
	if (*x > 0 && *y < m && a[*x - 1] == b[*y])
		(*y)++;
}

uint64_t
qset_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
				qset_piece_count piece)
{
	uint64_t common = 0;
	uint64_t x = 0;
	uint64_t y = 0;

	while (x < n && y < m)
	{
		uint64_t next_x;
		uint64_t next_y;
		uint64_t left = n - x + (m - y);

		qset_path_cut(a + x, n - x, b + y, m - y, left < QSET_PIECE ? left : QSET_PIECE, &next_x,
					  &next_y);
		common += piece(a + x, next_x, b + y, next_y);
		x += next_x;
		y += next_y;
	}
	return common;
}
