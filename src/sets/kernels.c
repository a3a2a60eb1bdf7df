/*
 * kernels.c
 *		Plain loops for bitmaps and sorted arrays; the choice between merging and galloping.
 *
 * src/sets/kernels.c
 */
#include "sets/kernels.h"

/* ---- sorted arrays ---- */

/* True if n is so much less than m that galloping is faster than merging. */
static bool
much_smaller(uint64_t n, uint64_t m)
{
	return n < m / QSET_GALLOP_RATIO;
}

#define QSET_WORD    int32_t
#define QSET_KEY     uint32_t
#define QSET_BITS    32
#define QSET_NAME(x) x##32
#include "sets/sorted_template.h"

#define QSET_WORD    int64_t
#define QSET_KEY     uint64_t
#define QSET_BITS    64
#define QSET_NAME(x) x##64
#include "sets/sorted_template.h"

/* ---- bitmaps ---- */

static uint64_t
and_count(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	return qset_and_count_each(a, b, words);
}

static uint64_t
probe(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	return qset_probe_each(bits, element, n);
}

static void
probe_sets(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
		   const uint32_t *set, uint32_t n, uint16_t *common)
{
	qset_probe_sets_each(bits, element, offset, set, n, common);
}

static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	uint32_t c;
	uint32_t w;

	memset(out, 0, QSET_BLOCK * sizeof(*out));
	for (c = 0; c < columns; c++)
		for (w = 0; w < QSET_BLOCK_WORDS; w++)
		{
			uint64_t word = column[c][at + w];

			for (; word != 0; word &= word - 1)
				out[w * 64 + (uint32_t) __builtin_ctzll(word)]++;
		}
}

static uint32_t
find16(const qset_slice *s, uint32_t *out)
{
	const uint16_t *row = s->row;
	uint32_t found = 0;
	uint32_t i;

	for (i = s->from; i < s->to; i++)
	{
		out[found] = i;
		found += row[i] >= s->least && (!s->size || s->size[i] <= s->most);
	}
	return found;
}

static uint32_t
find32(const qset_slice *s, uint32_t *out)
{
	const uint32_t *row = s->row;
	uint32_t found = 0;
	uint32_t i;

	for (i = s->from; i < s->to; i++)
	{
		out[found] = i;
		found += row[i] >= s->least;
	}
	return found;
}

static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

/*
 * ---- BI, bitmap-based intersection: one bit for each element of the universe ----
 *
 * BI-naive: all sets have bitmaps, and a pair costs |E|/64 words of AND and popcount
 * (qset_kernels.and_count).  BI-dynamic (Bisson and Fatica): one set at a time has a bitmap.  Each
 * set that is compared with this set costs one probe for each element (qset_kernels.probe).  The
 * bitmap is cleared only at the elements of its set.
 */

void
qset_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		bits[a[i] / 64] |= UINT64_C(1) << a[i] % 64;
}

void
qset_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		bits[a[i] / 64] = 0;
}

/* ---- the table ---- */

const qset_kernels qset_kernels_plain = {
	.name = "scalar",
	.sorted32 = qset_sorted32,
	.sorted64 = qset_sorted64,
	.count32 = qset_merge_count32,
	.count64 = qset_merge_count64,
	.intersect32 = qset_merge32,
	.intersect64 = qset_merge64,
	.and_count = and_count,
	.probe = probe,
	.probe_sets = probe_sets,
	.sum_columns = sum_columns,
	.find16 = find16,
	.find32 = find32,
	.sieve = sieve,
};
