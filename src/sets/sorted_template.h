/*
 * sorted_template.h
 *		The functions of sorted arrays (kernels.h) for one width of integer.
 *
 * kernels.c includes this file for each width, as PostgreSQL includes lib/sort_template.h.  The
 * includer defines
 *
 *	QSET_WORD		the signed integer type
 *	QSET_KEY		the unsigned type of the same width
 *	QSET_BITS		the width in bits
 *	QSET_NAME(x)	the name of function x for this width
 *
 * src/sets/sorted_template.h
 */

bool
QSET_NAME(qset_sorted)(const QSET_WORD *a, uint64_t n)
{
	uint64_t i;

	for (i = 1; i < n; i++)
		if (a[i - 1] >= a[i])
			return false;
	return true;
}

/*
 * Merge by two indexes.  No processor can predict the comparisons, so the indexes advance by
 * arithmetic instead of branches.
 */
uint64_t
QSET_NAME(qset_merge_count)(const QSET_WORD *a, uint64_t n, const QSET_WORD *b, uint64_t m)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i < n && j < m)
	{
		QSET_WORD x = a[i];
		QSET_WORD y = b[j];

		common += x == y;
		i += qset_step(x <= y, 1);
		j += qset_step(y <= x, 1);
	}
	return common;
}

uint64_t
QSET_NAME(qset_merge)(const QSET_WORD *a, uint64_t n, const QSET_WORD *b, uint64_t m,
					  QSET_WORD *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i < n && j < m)
	{
		QSET_WORD x = a[i];
		QSET_WORD y = b[j];

		out[common] = x;
		common += x == y;
		i += qset_step(x <= y, 1);
		j += qset_step(y <= x, 1);
	}
	return common;
}

/*
 * Return the first position, from "from" on, whose element is at least x.  Takes doubling steps,
 * and then a binary search between the last two positions.  O(log distance).
 */
static inline uint64_t
QSET_NAME(gallop)(const QSET_WORD *b, uint64_t from, uint64_t m, QSET_WORD x)
{
	uint64_t step = 1;
	uint64_t low = from;
	uint64_t high;

	while (low + step <= m && b[low + step - 1] < x)
	{
		low += step;
		step *= 2;
	}
	high = low + step <= m ? low + step - 1 : m;
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (b[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t
QSET_NAME(qset_gallop)(const QSET_WORD *a, uint64_t n, const QSET_WORD *b, uint64_t m,
					   QSET_WORD *out)
{
	uint64_t i;
	uint64_t j = 0;
	uint64_t common = 0;

	for (i = 0; i < n; i++)
	{
		j = QSET_NAME(gallop)(b, j, m, a[i]);
		if (j == m)
			break;
		if (b[j] != a[i])
			continue;
		if (out)
			out[common] = a[i];
		common++;
	}
	return common;
}

uint64_t
QSET_NAME(qset_count)(const qset_kernels *k, const QSET_WORD *a, uint64_t n, const QSET_WORD *b,
					  uint64_t m)
{
	if (much_smaller(n, m))
		return QSET_NAME(qset_gallop)(a, n, b, m, NULL);
	if (much_smaller(m, n))
		return QSET_NAME(qset_gallop)(b, m, a, n, NULL);
	return k->QSET_NAME(count)(a, n, b, m);
}

uint64_t
QSET_NAME(qset_intersect)(const qset_kernels *k, const QSET_WORD *a, uint64_t n, const QSET_WORD *b,
						  uint64_t m, QSET_WORD *out)
{
	if (much_smaller(n, m))
		return QSET_NAME(qset_gallop)(a, n, b, m, out);
	if (much_smaller(m, n))
		return QSET_NAME(qset_gallop)(b, m, a, n, out);
	return k->QSET_NAME(intersect)(a, n, b, m, out);
}

/* Return an unsigned key with the order of the signed integer. */
static inline QSET_KEY
QSET_NAME(ordered)(QSET_WORD x)
{
	return (QSET_KEY) x ^ (QSET_KEY) 1 << (QSET_BITS - 1);
}

static void
QSET_NAME(insertion_sort)(QSET_WORD *a, uint64_t n)
{
	uint64_t i;

	for (i = 1; i < n; i++)
	{
		QSET_WORD x = a[i];
		uint64_t j = i;

		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* Do one stable pass of the radix sort, by the 8 bits from "shift" on. */
static void
QSET_NAME(scatter)(const QSET_WORD *from, uint64_t n, int shift, uint64_t *offset, QSET_WORD *to)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		to[offset[(QSET_NAME(ordered)(from[i]) >> shift) & 255]++] = from[i];
}

/*
 * Turn count[d], the number of keys with digit d, into the index of the first key with digit d.
 * False: all keys have the same digit.
 */
static bool
QSET_NAME(offsets)(uint64_t *count, uint64_t n)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 256; i++)
	{
		uint64_t c = count[i];

		if (c == n)
			return false;
		count[i] = sum;
		sum += c;
	}
	return true;
}

/*
 * Sort by a radix sort from the lowest byte up.  A byte that is equal in all keys takes no pass.
 * The result is in "a".
 */
static void
QSET_NAME(radix_sort)(QSET_WORD *a, uint64_t n, QSET_WORD *scratch, const qb_memory *memory)
{
	uint64_t count[QSET_BITS / 8][256];
	QSET_WORD *from = a;
	QSET_WORD *to = scratch;
	uint64_t i;
	int digit;

	memset(count, 0, sizeof(count));
	for (i = 0; i < n; i++)
	{
		qset_pause_at(memory, i);
		for (digit = 0; digit < QSET_BITS / 8; digit++)
			count[digit][(QSET_NAME(ordered)(a[i]) >> digit * 8) & 255]++;
	}
	for (digit = 0; digit < QSET_BITS / 8; digit++)
	{
		if (!QSET_NAME(offsets)(count[digit], n))
			continue;
		for (i = 0; i < n; i += QSET_PATIENCE)
		{
			qb_pause(memory);
			QSET_NAME(scatter)
			(from + i, n - i < QSET_PATIENCE ? n - i : QSET_PATIENCE, digit * 8, count[digit], to);
		}
		to = from;
		from = from == a ? scratch : a;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(QSET_WORD));
}

void
QSET_NAME(qset_sort_unique)(QSET_WORD *a, uint64_t *n, QSET_WORD *scratch, const qb_memory *memory)
{
	uint64_t count = *n;
	uint64_t kept = 0;
	uint64_t i;

	if (count <= QSET_SMALL_SORT)
		QSET_NAME(insertion_sort)(a, count);
	else
		QSET_NAME(radix_sort)(a, count, scratch, memory);
	for (i = 0; i < count; i++)
		if (i == 0 || a[i] != a[kept - 1])
			a[kept++] = a[i];
	*n = kept;
}

#undef QSET_WORD
#undef QSET_KEY
#undef QSET_BITS
#undef QSET_NAME
