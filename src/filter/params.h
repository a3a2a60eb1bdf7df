/*
 * params.h
 *		Parameters of a probabilistic Bloom filter, their choice, and the rule by which an insertion
 *		sets some of a key's positions.
 *
 *	m		bits
 *	k		positions of a key; they may coincide
 *	p		probability with which an insertion sets each of them
 *	seed	decides where a key's positions are
 *	layout	of a Bloom filter (p = 1): a key's positions are anywhere, or all in one block
 *
 * p is kept as q = 1 - p in 64-bit fixed point.  q = 0 means p = 1 exactly, so a Bloom filter.  Only
 * filters of the same parameters can be merged.  If the m of two filters differ by a power of two,
 * folding the larger filter gives both the same m.
 *
 * A frequency filter is chosen for n rows and for a frequency f at which estimates should be most
 * accurate.  Two numbers decide.  t = f |ln q| is the contribution of a key of that frequency to a
 * position, and the load L = k n p / m is the contribution of all other keys.
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
 * A Bloom filter has k = -log2(rate), rounded.  In the standard layout m = -k n /
 * ln(1 - rate^(1/k)).  In the blocked layout keys do not spread evenly: the number
 * of keys in a block is binomial, and full blocks cause more false positives than
 * empty ones save.  So m is the least for which the mean over blocks, computed by
 * qf_blocked_rate(), is the requested rate.  This takes 4 % more bits than the standard layout at 1
 * %, 8 % at 0.1 %, 15 % at 0.01 %, 38 % at 1e-6, 96 % at 1e-9.
 *
 * The same request must give the same parameters on every machine, or filters made
 * on two machines could not be merged.  So presets are constants, p is rounded to 24
 * significant bits, and m is rounded up to 11.  If two C libraries differ in a last
 * bit (of exp, log and their like, the only functions used), parameters change only
 * once in a hundred million requests.  After that only the integers count, and every
 * filter carries them.
 *
 * src/filter/params.h
 */
#ifndef QF_PARAMS_H
#define QF_PARAMS_H

#include "base/hash.h"
#include "base/port.h"
#include "base/status.h"

#define QF_BITS_MIN      UINT64_C(64)
#define QF_BITS_MAX      ((UINT64_C(1) << 32) - (UINT64_C(1) << 21)) /* positions are 4 bytes */
#define QF_HASHES_MAX    65536
#define QF_ROWS_MAX      (INT64_C(1) << 50)
#define QF_FREQUENCY_MAX (INT64_C(1) << 40)
#define QF_ERROR_MIN     0.01
#define QF_ERROR_MAX     1.0
#define QF_RATE_MIN      1e-9
#define QF_RATE_MAX      0.5
#define QF_EXPLICIT_MAX  8192
#define QF_BLOCK_LOG     9
#define QF_BLOCK_BITS    (1 << QF_BLOCK_LOG) /* a cache line */

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

/* The request of a user. */
typedef struct qf_request
{
	int64_t rows;      /* number of insertions, not of distinct keys */
	int64_t frequency; /* the frequency with the best estimates, at most "rows" */
	double error;      /* relative standard deviation at this frequency */
	int64_t k;         /* 0: as many as the error needs; the paper's preset does not allow 0 */
	uint64_t seed;
	int preset; /* qf_preset */
} qf_request;

/* Name in SQL, or NULL if there is no such preset. */
extern const char *qf_preset_name(int preset);

/* qf_preset of a name, or -1. */
extern int qf_preset_by_name(const char *name, size_t length);

/*
 * Parameters for a request.  QB_BAD_ROWS, QB_BAD_FREQUENCY, QB_BAD_ERROR, QB_BAD_HASHES or
 * QB_BAD_PRESET: the named member is out of range.  QB_BAD_SIZE: more than QF_BITS_MAX bits would
 * be needed.
 */
extern qb_status qf_params_make(qf_params *p, const qf_request *request);

/* A layout's name in SQL, or NULL if there is no such layout; the qf_layout of a name, or -1. */
extern const char *qf_layout_name(int layout);
extern int qf_layout_by_name(const char *name, size_t length);

/*
 * Parameters of a Bloom filter (p = 1) for this many distinct keys.  Also returns
 * QB_BAD_RATE and QB_BAD_LAYOUT, in addition to the codes of qf_params_make().
 */
extern qb_status qf_params_make_bloom(qf_params *p, int64_t keys, double false_positive_rate,
									  uint64_t seed, int layout);

/* The fraction of absent keys that a blocked filter with this many keys reports as present. */
extern double qf_blocked_rate(const qf_params *p, double keys);

/* Range check of parameters that come from outside. */
extern qb_status qf_params_check(const qf_params *p);

/* True if the parameters are equal. */
extern bool qf_params_mergeable(const qf_params *a, const qf_params *b);

/* The number of halvings that turn "from" into "to"; -1: no number does. */
extern int qf_params_halvings(uint64_t from, uint64_t to);

/* The number of times that a filter can be halved. */
extern int qf_params_foldable(const qf_params *p);

/*
 * Up to this many set bits, a filter is kept as a list of them, which takes at most half of the
 * bits' memory.
 */
QB_INLINE uint64_t
qf_explicit_limit(const qf_params *p)
{
	uint64_t limit = p->m / 64;

	return limit < QF_EXPLICIT_MAX ? limit : QF_EXPLICIT_MAX;
}

/* The number of 8-byte words of the bits.  Bits of the last word beyond m are zero. */
QB_INLINE uint64_t
qf_words(const qf_params *p)
{
	return (p->m + 63) / 64;
}

/* p as a number to be shown.  It is exactly 1 only for a Bloom filter. */
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
 * The high part of the product makes halving m join neighbouring bits.  In a blocked
 * Bloom filter all k positions are in one block of 512 bits, so that a key costs one
 * cache line and not k,
 *
 *	block = mulhi64(h, m / 512)
 *	bit j of the block = 9 bits of mix64(h + (j / 7 + 1) * C), from bit 9 (j % 7) on
 *
 * and halving m joins neighbouring blocks.  A row has a stream of random numbers that
 * depends only on the nonce and the row,
 *
 *	base = f(nonce) ^ mix64(row)
 *	draw t = mix64(base + t * golden ratio)					t = 0, 1, ..
 *
 * so neither order nor batches nor threads can change what a row sets, and the
 * filter is a pure union over rows.  Setting each position with probability p needs
 * no draw for each position, because the gaps between the positions that are set are
 * geometric:
 *
 *	j = 0
 *	loop	g = gap of the next draw, j += g; stop at j >= k
 *			unless g is QF_GAPS: set position j, j += 1
 *
 * A draw r skips positions one by one while r < 2^64 P(gap > i) = s(i), where s(0) =
 * q and s(i + 1) = mulhi64(s(i), q), but at most QF_GAPS of them.  After QF_GAPS the
 * next draw goes on from there, as the geometric distribution has no memory.  A row
 * takes k p + 1 draws, and k / QF_GAPS more where k is larger than QF_GAPS.
 *
 * c copies of a row set each position with probability 1 - q^c.  Their draws are
 * those of a row with q^c, which squaring gives, in place of q.
 *
 * A table of s gives a gap at once.  It is made for a batch and not kept.
 */

/* An odd constant for the mixes that give positions. */
#define QF_POSITION_STEP UINT64_C(0xD1342543DE82EF95)

/* The most positions that one draw skips. */
#define QF_GAPS 1024

/* Bits of a block that one mixed word gives. */
#define QF_BLOCK_DRAWS (64 / QF_BLOCK_LOG)

/* The highest bits of a draw give an entry of the table's guide; then mostly one step or none is left. */
#define QF_GUIDE_BITS 10
#define QF_GUIDE      (1 << QF_GUIDE_BITS)

typedef struct qf_gaps
{
	uint32_t count;               /* elements of "beyond": k, but at most QF_GAPS */
	uint16_t guide[QF_GUIDE + 1]; /* element b: the number of s above b << (64 - QF_GUIDE_BITS) */
	uint64_t beyond[QF_GAPS];     /* the values s */
} qf_gaps;

/* Make the table for parameters with q > 0. */
extern void qf_gaps_make(qf_gaps *gaps, const qf_params *p);

/* q to the power of "copies", copies > 0: the chance that none of the copies sets a position. */
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

/* h of a fingerprint; seed_key is qb_seed_key(seed). */
QB_INLINE uint64_t
qf_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_hash(fingerprint, seed_key);
}

/* The number that is mixed and reduced to position j. */
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

/* The first position of the block of h. */
QB_INLINE uint32_t
qf_block(uint64_t h, uint64_t m)
{
	return (uint32_t) qb_reduce(h, m / QF_BLOCK_BITS) * QF_BLOCK_BITS;
}

/*
 * The indexes in a block of positions j = QF_BLOCK_DRAWS * group and following.  Each has
 * QF_BLOCK_LOG bits, and the first index is in the lowest bits.
 */
QB_INLINE uint64_t
qf_block_draw(uint64_t h, uint32_t group)
{
	return qb_mix64(qf_position_input(h, group));
}

/* Position j in any layout.  Loops over j are faster with one draw for several positions. */
QB_INLINE uint32_t
qf_any_position(const qf_params *p, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (p->layout != QF_BLOCKED)
		return qf_position(h, j, p->m);
	draw = qf_block_draw(h, j / QF_BLOCK_DRAWS) >> j % QF_BLOCK_DRAWS * QF_BLOCK_LOG;
	return qf_block(h, p->m) + (uint32_t) (draw % QF_BLOCK_BITS);
}

/* The contribution of a nonce to the draws; computed once per batch. */
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
 * A row whose first draw is below this skips all of its positions, which is the
 * usual case where k p is small.  0 if no draw skips all.
 */
QB_INLINE uint64_t
qf_idle_below(const qf_gaps *gaps, uint32_t k)
{
	return gaps->count == k ? gaps->beyond[k - 1] : 0;
}

/* The gap of a draw, 0 .. count. */
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

/* The gap of a draw, computed without a table, one position after another. */
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
