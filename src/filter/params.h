/*
 * params.h
 *		Parameters of a filter, their choice, and the rule by which an insertion sets positions.
 *
 *	m		bits
 *	k		positions of a key; they may coincide
 *	p		probability with which an insertion sets each position
 *	seed	decides where a key's positions are
 *	layout	of a Bloom filter (p = 1): a key's positions are anywhere, or all in one block
 *
 * p is stored as q = 1 - p in 64-bit fixed point.  A Bloom filter has q = 0.  Only filters of equal
 * parameters can be merged.  If two filters differ only in m, and the larger m is a power of two
 * times the smaller m, folding the larger filter makes the parameters equal.
 *
 * A frequency filter is chosen for n rows and a frequency f at which estimates are most accurate.
 * A preset has two numbers, t and L.  A position of a key with frequency f stays zero with
 * probability exp(-t - L).  t = f |ln q| accounts for the rows of the key, and the load
 * L = k n p / m for the rows of all other keys.
 *
 *	p = 1 - exp(-t / f)		k = (exp(t + L) - 1) / (t error)^2		m = k n p / L
 *
 *	preset		t		L		bits per n / f at 10 %		k at 10 %
 *	balanced	1.000	0.300	890							267
 *	compact		0.797	0.797	618 (the fewest)			618
 *	fast		1.590	0.105	2664						176 (nearly the fewest)
 *	paper		as the paper: fraction of wrong bits e = 0.1, k as given, p cut to three
 *				digits as in its Table 1
 *
 * A Bloom filter has k = -log2(rate), rounded.  In the standard layout, m = -k n / ln(1 -
 * rate^(1/k)).  In the blocked layout, the number of keys in a block is binomial, and full blocks
 * cause more false positives than empty blocks save.  m is the least number for which the mean over
 * blocks (qf_blocked_rate()) is at most the requested rate.  Compared with the standard layout,
 * this m is 4 % larger at a rate of 1 %, 8 % at 0.1 %, 15 % at 0.01 %, 38 % at 1e-6, and 96 % at
 * 1e-9.
 *
 * A request must give the same parameters on every machine, because only filters of equal
 * parameters can be merged.  So presets are constants, and p is rounded to 24 significant bits.
 * Except in the preset "paper", m is rounded up to 11 significant bits.  If two C libraries differ
 * in the last bit of exp() or log(), the parameters differ for one request in a hundred million.
 * Each filter stores its parameters as integers.
 *
 * src/filter/params.h
 */
#ifndef QF_PARAMS_H
#define QF_PARAMS_H

#include "base/hash.h"
#include "base/port.h"
#include "base/status.h"

#define QF_BITS_MIN      UINT64_C(64)
#define QF_BITS_MAX      ((UINT64_C(1) << 32) - (UINT64_C(1) << 21)) /* a position has 4 bytes */
#define QF_HASHES_MAX    65536
#define QF_ROWS_MAX      (INT64_C(1) << 50)
#define QF_FREQUENCY_MAX (INT64_C(1) << 40)
#define QF_ERROR_MIN     0.01
#define QF_ERROR_MAX     1.0
#define QF_RATE_MIN      1e-9
#define QF_RATE_MAX      0.5
#define QF_EXPLICIT_MAX  8192
#define QF_BLOCK_LOG     9
#define QF_BLOCK_BITS    (1 << QF_BLOCK_LOG) /* a cache line of 64 bytes */

/* These numbers are part of the byte format. */
typedef enum qf_layout
{
	QF_STANDARD,
	QF_BLOCKED,
	QF_LAYOUTS
} qf_layout;

typedef struct qf_params
{
	uint64_t seed;
	uint64_t m;
	uint64_t q; /* (1 - p) * 2^64 */
	uint32_t k;
	uint32_t layout; /* qf_layout */
} qf_params;

typedef enum qf_preset
{
	QF_BALANCED,
	QF_COMPACT,
	QF_FAST,
	QF_PAPER,
	QF_PRESETS
} qf_preset;

/* A user's request for a frequency filter. */
typedef struct qf_request
{
	int64_t rows;      /* number of insertions, not of distinct keys */
	int64_t frequency; /* the frequency with the best estimates, at most "rows" */
	double error;      /* relative standard deviation at this frequency */
	int64_t k;         /* 0: chosen for the error; the paper's preset does not allow 0 */
	uint64_t seed;
	int preset; /* qf_preset */
} qf_request;

/* Return the preset's name in SQL, or NULL if the preset does not exist. */
extern const char *qf_preset_name(int preset);

/* Return the qf_preset of a name, or -1. */
extern int qf_preset_by_name(const char *name, size_t length);

/*
 * Choose the parameters for a request.  QB_BAD_ROWS, QB_BAD_FREQUENCY, QB_BAD_ERROR or
 * QB_BAD_PRESET: the member of this name is out of range.  QB_BAD_HASHES: k is out of range.
 * QB_BAD_SIZE: the m for this request is out of range.
 */
extern qb_status qf_params_make(qf_params *p, const qf_request *request);

/*
 * Return a layout's name in SQL, or NULL if the layout does not exist; return the qf_layout of a
 * name, or -1.
 */
extern const char *qf_layout_name(int layout);
extern int qf_layout_by_name(const char *name, size_t length);

/*
 * Choose the parameters of a Bloom filter (p = 1) for this number of distinct keys.  Errors:
 * QB_BAD_ROWS, QB_BAD_SIZE, QB_BAD_RATE and QB_BAD_LAYOUT.
 */
extern qb_status qf_params_make_bloom(qf_params *p, int64_t keys, double false_positive_rate,
									  uint64_t seed, int layout);

/*
 * Return the fraction of absent keys that a blocked filter with this number of keys reports as
 * present.
 */
extern double qf_blocked_rate(const qf_params *p, double keys);

/* Check the ranges of untrusted parameters. */
extern qb_status qf_params_check(const qf_params *p);

/* True if the parameters are equal. */
extern bool qf_params_mergeable(const qf_params *a, const qf_params *b);

/*
 * Return the number of halvings that turn "from" into "to", or -1 if halving does not lead to "to".
 */
extern int qf_params_halvings(uint64_t from, uint64_t to);

/* Return how many times a filter can be halved. */
extern int qf_params_foldable(const qf_params *p);

/*
 * Return the number of set bits up to which a filter is a list of positions.  Without empty slots,
 * the positions then take at most half as many bytes as the dense bits.
 */
QB_INLINE uint64_t
qf_explicit_limit(const qf_params *p)
{
	uint64_t limit = p->m / 64;

	return limit < QF_EXPLICIT_MAX ? limit : QF_EXPLICIT_MAX;
}

/* Return the number of 8-byte words of the bits.  Bits of the last word beyond m are zero. */
QB_INLINE uint64_t
qf_words(const qf_params *p)
{
	return (p->m + 63) / 64;
}

/* Return p as a floating-point number. */
QB_INLINE double
qf_probability(const qf_params *p)
{
	return p->q == 0 ? 1 : (double) -p->q / 18446744073709551616.0;
}

QB_INLINE bool
qf_is_bloom(const qf_params *p)
{
	return p->q == 0;
}

/*
 * ---- the positions of a key that an insertion sets, computed with integers only ----
 *
 * A key has k positions,
 *
 *	h = mix64(fingerprint ^ f(seed))
 *	position j = mulhi64(mix64(h + (j + 1) * C), m)			j = 0 .. k - 1
 *
 * mulhi64() is the high part of the product, so halving m joins neighbouring bits.  In a blocked
 * Bloom filter, all k positions are in one block of 512 bits, so that a key reads one cache line:
 *
 *	block = mulhi64(h, m / 512)
 *	index of position j in the block = 9 bits of mix64(h + (j / 7 + 1) * C), from bit 9 (j % 7) on
 *
 * Halving m then joins neighbouring blocks.  A row has a stream of random numbers that depends only
 * on the nonce and the row:
 *
 *	base = f(nonce) ^ mix64(row)
 *	draw t = mix64(base + t * golden ratio)					t = 0, 1, ..
 *
 * So the positions that a row sets do not depend on the order of rows, on batches or on threads.
 * The gaps between set positions have a geometric distribution, so a row draws one number for each
 * gap, not for each position:
 *
 *	j = 0
 *	loop	g = gap of the next draw, j += g
 *			if j >= k: stop
 *			if g < QF_GAPS: set position j, j += 1
 *
 * Let s(i) = 2^64 P(gap > i).  So s(0) = q, and s(i + 1) = mulhi64(s(i), q).  The gap of a draw r
 * is the least i for which r >= s(i), but at most QF_GAPS.  After a gap of QF_GAPS, the next draw
 * continues the gap, because the geometric distribution has no memory.  A row takes k p + 1 draws
 * on average, and up to k / QF_GAPS more draws if k > QF_GAPS.
 *
 * c equal rows set each position with probability 1 - q^c.  They are drawn as one row with q^c in
 * place of q (qf_power()).
 *
 * qf_gap() finds a gap in a table of s, which qf_gaps_make() makes.
 */

/* An odd constant for the mixes that give positions. */
#define QF_POSITION_STEP UINT64_C(0xD1342543DE82EF95)

/* The maximum number of positions that one draw skips. */
#define QF_GAPS 1024

/* The number of positions in a block that one mixed word gives. */
#define QF_BLOCK_DRAWS (64 / QF_BLOCK_LOG)

/*
 * This many highest bits of a draw select an entry of the guide.  The search in the table then
 * usually takes at most one step.
 */
#define QF_GUIDE_BITS 10
#define QF_GUIDE      (1 << QF_GUIDE_BITS)

typedef struct qf_gaps
{
	uint32_t count;               /* number of elements of "beyond": min(k, QF_GAPS) */
	uint16_t guide[QF_GUIDE + 1]; /* element b: the number of s above b << (64 - QF_GUIDE_BITS) */
	uint64_t beyond[QF_GAPS];     /* the values s */
} qf_gaps;

/* Make the table for parameters with q > 0. */
extern void qf_gaps_make(qf_gaps *gaps, const qf_params *p);

/*
 * Return q to the power of "copies", which is greater than 0: the chance that none of "copies"
 * equal rows sets a position.
 */
QB_INLINE uint64_t
qf_power(uint64_t q, uint64_t copies)
{
	uint64_t power = 0;
	bool any = false;

	for (; copies > 0; copies >>= 1)
	{
		if (copies & 1)
			power = any ? qb_mul_high(power, q) : q;
		any = any || (copies & 1);
		q = qb_mul_high(q, q);
	}
	return power;
}

/* Return h of a fingerprint; seed_key is qb_seed_key(seed). */
QB_INLINE uint64_t
qf_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_hash(fingerprint, seed_key);
}

/* Return the number that is mixed and reduced to position j. */
QB_INLINE uint64_t
qf_position_input(uint64_t h, uint32_t j)
{
	return h + (j + UINT64_C(1)) * QF_POSITION_STEP;
}

QB_INLINE uint32_t
qf_position_of(uint64_t input, uint64_t m)
{
	return (uint32_t) qb_reduce(qb_mix64(input), m);
}

QB_INLINE uint32_t
qf_position(uint64_t h, uint32_t j, uint64_t m)
{
	return qf_position_of(qf_position_input(h, j), m);
}

/* Return the first position of the block of h. */
QB_INLINE uint32_t
qf_block(uint64_t h, uint64_t m)
{
	return (uint32_t) qb_reduce(h, m / QF_BLOCK_BITS) * QF_BLOCK_BITS;
}

/*
 * Return the indexes in a block of the positions from QF_BLOCK_DRAWS * group on.  Each index has
 * QF_BLOCK_LOG bits, and the first index is in the lowest bits.
 */
QB_INLINE uint64_t
qf_block_draw(uint64_t h, uint32_t group)
{
	return qb_mix64(qf_position_input(h, group));
}

/*
 * Return position j in any layout.  Loops over j are faster with one qf_block_draw() for several j.
 */
QB_INLINE uint32_t
qf_any_position(const qf_params *p, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (p->layout != QF_BLOCKED)
		return qf_position(h, j, p->m);
	draw = qf_block_draw(h, j / QF_BLOCK_DRAWS) >> j % QF_BLOCK_DRAWS * QF_BLOCK_LOG;
	return qf_block(h, p->m) + (uint32_t) (draw % QF_BLOCK_BITS);
}

/* Return the nonce's contribution to the draws of a batch. */
QB_INLINE uint64_t
qf_nonce_key(uint64_t nonce)
{
	return qb_seed_key(nonce);
}

QB_INLINE uint64_t
qf_draw_base(uint64_t nonce_key, uint64_t row)
{
	return nonce_key ^ qb_mix64(row);
}

QB_INLINE uint64_t
qf_draw(uint64_t base, uint64_t t)
{
	return qb_mix64(base + QB_ROW_STEP * t);
}

/*
 * Return the bound below which a row's first draw skips all positions.  If k p is small, most first
 * draws are below this bound.  0: no draw skips all positions.
 */
QB_INLINE uint64_t
qf_idle_below(const qf_gaps *gaps, uint32_t k)
{
	return gaps->count == k ? gaps->beyond[k - 1] : 0;
}

/* Return the gap of a draw, 0 .. count. */
QB_INLINE uint32_t
qf_gap(const qf_gaps *gaps, uint64_t draw)
{
	uint32_t b = (uint32_t) (draw >> (64 - QF_GUIDE_BITS));
	uint32_t low = gaps->guide[b + 1];
	uint32_t high = gaps->guide[b];

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (draw < gaps->beyond[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the gap of a draw without a table, position by position. */
QB_INLINE uint32_t
qf_gap_by_steps(uint64_t q, uint32_t most, uint64_t draw)
{
	uint64_t beyond = q;
	uint32_t gap = 0;

	while (gap < most && draw < beyond)
	{
		beyond = qb_mul_high(beyond, q);
		gap++;
	}
	return gap;
}

#endif
