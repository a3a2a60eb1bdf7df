/*
 * params.c
 *		Chooses and checks the parameters of a filter.
 *
 * src/filter/params.c
 */
#include "filter/params.h"

#include <math.h>

#define TWO_64 18446744073709551616.0

/* The numbers of significant bits to which p and m are rounded. */
#define P_DIGITS 24
#define M_DIGITS 11

/* From the paper: -ln(1 - e) and -ln e for e = 0.1, and the factor in the formula for p. */
#define PAPER_LOAD   0.10536051565782628
#define PAPER_LN_E   2.302585092994046
#define PAPER_FACTOR 0.7

/* t and "load" (L) are explained in params.h; "growth" is (exp(t + L) - 1) / t^2. */
static const struct
{
	const char *name;
	double t;
	double load;
	double growth;
} presets[QF_PRESETS] = {
	[QF_BALANCED] = { "balanced", 1.0, 0.3, 2.6692966676192444 },
	[QF_COMPACT] = { "compact", 0.797, 0.797, 6.176554813282493 },
	[QF_FAST] = { "fast", 1.59, 0.105, 1.7588884795746993 },
	[QF_PAPER] = { "paper", 0, PAPER_LOAD, 0 },
};

static const char *const layouts[QF_LAYOUTS] = {
	[QF_STANDARD] = "standard",
	[QF_BLOCKED] = "blocked",
};

const char *
qf_preset_name(int preset)
{
	return preset >= 0 && preset < QF_PRESETS ? presets[preset].name : NULL;
}

const char *
qf_layout_name(int layout)
{
	return layout >= 0 && layout < QF_LAYOUTS ? layouts[layout] : NULL;
}

/* Return the number of a name among the names that "name_of" returns, or -1. */
static int
by_name(const char *(*name_of)(int number), const char *name, size_t length)
{
	const char *known;
	int i;

	for (i = 0; (known = name_of(i)) != NULL; i++)
		if (strlen(known) == length && memcmp(known, name, length) == 0)
			return i;
	return -1;
}

int
qf_preset_by_name(const char *name, size_t length)
{
	return by_name(qf_preset_name, name, length);
}

int
qf_layout_by_name(const char *name, size_t length)
{
	return by_name(qf_layout_name, name, length);
}

/* Return 1 - p in 64-bit fixed point, with p rounded to P_DIGITS significant bits; 0 < p < 1. */
static uint64_t
fixed_q(double p)
{
	int exponent;
	double fraction = frexp(p, &exponent);

	return -(uint64_t) ldexp(rint(ldexp(fraction, P_DIGITS)), exponent - P_DIGITS + 64);
}

/*
 * Set m to at least "bits" bits: a multiple of 64 or of the block size, rounded up to M_DIGITS
 * significant bits, so that m can be halved until few bits are left.
 */
static qb_status
set_bits(qf_params *p, double bits)
{
	int least = p->layout == QF_BLOCKED ? QF_BLOCK_LOG : 6;
	uint64_t m;
	int shift;

	if (!(bits <= (double) QF_BITS_MAX))
		return QB_BAD_SIZE;
	m = (uint64_t) ceil(bits);
	m = m > p->k ? m : p->k;
	shift = 64 - __builtin_clzll(m) - M_DIGITS;
	shift = shift > least ? shift : least;
	p->m = (((m - 1) >> shift) + 1) << shift;
	return QB_OK;
}

/* Return the paper's p, truncated (not rounded) to three digits. */
static double
paper_p(double n, double f)
{
	double p = PAPER_FACTOR * (n * PAPER_LN_E - (n - f) * PAPER_LOAD) / (n * f);
	double unit = 1e-3;

	while (p < unit * 100)
		unit /= 10;
	return floor(p / unit) * unit;
}

static qb_status
make_paper(qf_params *p, const qf_request *r)
{
	double prob = paper_p((double) r->rows, (double) r->frequency);
	double bits = (double) p->k * (double) r->rows * prob / PAPER_LOAD;

	if (p->k == 0)
		return QB_BAD_HASHES;
	/* p reaches 1 only if f is 1. */
	if (prob >= 1)
		return QB_BAD_FREQUENCY;
	if (!(bits <= (double) QF_BITS_MAX))
		return QB_BAD_SIZE;
	p->q = fixed_q(prob);
	p->m = (uint64_t) rint(bits);
	return qf_params_check(p);
}

static qb_status
make_preset(qf_params *p, const qf_request *r)
{
	double prob = -expm1(-presets[r->preset].t / (double) r->frequency);

	if (p->k == 0)
		p->k = (uint32_t) ceil(presets[r->preset].growth / (r->error * r->error));
	p->q = fixed_q(prob);
	return set_bits(p, (double) p->k * (double) r->rows * prob / presets[r->preset].load);
}

qb_status
qf_params_make(qf_params *p, const qf_request *r)
{
	if (!qf_preset_name(r->preset))
		return QB_BAD_PRESET;
	if (r->rows < 1 || r->rows > QF_ROWS_MAX)
		return QB_BAD_ROWS;
	if (r->frequency < 1 || r->frequency > QF_FREQUENCY_MAX || r->frequency > r->rows)
		return QB_BAD_FREQUENCY;
	if (!(r->error >= QF_ERROR_MIN && r->error <= QF_ERROR_MAX))
		return QB_BAD_ERROR;
	if (r->k < 0 || r->k > QF_HASHES_MAX)
		return QB_BAD_HASHES;
	*p = (qf_params){ .seed = r->seed, .k = (uint32_t) r->k };
	return r->preset == QF_PAPER ? make_paper(p, r) : make_preset(p, r);
}

/*
 * Return the chance that k random bits of a block are all set after "throws" random bits were set.
 * The chance is the mean of the k-th power of the fraction of set bits.  The mean and the variance
 * of this fraction give the chance to second order.  With this chance, the result of
 * qf_blocked_rate() is at most 0.3 % off, at a rate of 1e-9.
 */
static double
block_rate(double k, double throws)
{
	const double bits = QF_BLOCK_BITS;
	double zero = exp(throws * log1p(-1 / bits));
	double two_zero = exp(throws * log1p(-2 / bits));
	double set = 1 - zero;
	double variance = zero / bits + (1 - 1 / bits) * two_zero - zero * zero;

	return throws > 0 ? exp(k * log(set) + k * (k - 1) / 2 * variance / (set * set)) : 0;
}

/*
 * Numbers of keys in a block are skipped if their chance, relative to the greatest chance, is less
 * than this.
 */
#define NOTHING 1e-24

/*
 * Average block_rate() over blocks with 0, 1, .. keys, with binomial weights.  Each weight is
 * computed from its neighbour, beginning near the likeliest number of keys.  The sum is divided by
 * the sum of weights, so no result is a difference of large numbers.
 */
double
qf_blocked_rate(const qf_params *p, double keys)
{
	double others = (double) (p->m / QF_BLOCK_BITS) - 1;
	double middle = floor(keys / (others + 1));
	double weight, i;
	double weights = 0, sum = 0;

	for (i = middle, weight = 1; weight > NOTHING; weight *= (keys - i) / (i + 1) / others, i++)
	{
		weights += weight;
		sum += weight * block_rate(p->k, p->k * i);
		if (others == 0)
			break;
	}
	for (i = middle, weight = 1; i > 0 && weight > NOTHING && others > 0; i--)
	{
		weight *= i * others / (keys - i + 1);
		weights += weight;
		sum += weight * block_rate(p->k, p->k * (i - 1));
	}
	return sum / weights;
}

/* Find by bisection the least number of bits, at least "low", that gives at most the rate. */
static qb_status
set_blocked_bits(qf_params *p, double low, double keys, double rate)
{
	const double most = (double) QF_BITS_MAX;
	double high = low;
	qb_status status = set_bits(p, high);

	while (status == QB_OK && qf_blocked_rate(p, keys) > rate)
	{
		low = high;
		high = high < most ? fmin(2 * high, most) : 2 * high;
		status = set_bits(p, high);
	}
	while (status == QB_OK && high - low > low / (1 << (M_DIGITS + 2)))
	{
		double middle = (low + high) / 2;

		status = set_bits(p, middle);
		*(qf_blocked_rate(p, keys) <= rate ? &high : &low) = middle;
	}
	return status == QB_OK ? set_bits(p, high) : status;
}

qb_status
qf_params_make_bloom(qf_params *p, int64_t keys, double rate, uint64_t seed, int layout)
{
	double bits;

	if (keys < 1 || keys > QF_ROWS_MAX)
		return QB_BAD_ROWS;
	if (!(rate >= QF_RATE_MIN && rate <= QF_RATE_MAX))
		return QB_BAD_RATE;
	if (!qf_layout_name(layout))
		return QB_BAD_LAYOUT;
	*p =
		(qf_params){ .seed = seed, .k = (uint32_t) rint(-log2(rate)), .layout = (uint32_t) layout };
	bits = -(double) p->k * (double) keys / log1p(-pow(rate, 1.0 / p->k));
	return layout == QF_BLOCKED ? set_blocked_bits(p, bits, (double) keys, rate)
								: set_bits(p, bits);
}

qb_status
qf_params_check(const qf_params *p)
{
	if (p->m < QF_BITS_MIN || p->m > QF_BITS_MAX)
		return QB_BAD_SIZE;
	if (p->k < 1 || p->k > QF_HASHES_MAX || p->k > p->m)
		return QB_BAD_HASHES;
	if (p->layout == QF_STANDARD)
		return QB_OK;
	if (p->layout != QF_BLOCKED || !qf_is_bloom(p))
		return QB_BAD_LAYOUT;
	return p->m % QF_BLOCK_BITS == 0 ? QB_OK : QB_BAD_SIZE;
}

int
qf_params_halvings(uint64_t from, uint64_t to)
{
	int halvings = 0;

	for (; from > to && from % 2 == 0; from /= 2)
		halvings++;
	return from == to ? halvings : -1;
}

int
qf_params_foldable(const qf_params *p)
{
	qf_params half = *p;
	int halvings = 0;

	for (; half.m % 2 == 0; halvings++)
	{
		half.m /= 2;
		if (qf_params_check(&half) != QB_OK)
			break;
	}
	return halvings;
}

bool
qf_params_mergeable(const qf_params *a, const qf_params *b)
{
	return a->m == b->m && a->k == b->k && a->q == b->q && a->seed == b->seed &&
		   a->layout == b->layout;
}

/* ---- the table of gaps ---- */

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
		/* s decreases, so guide entries above this s count only the i earlier values */
		while (b > 0 && beyond <= (uint64_t) (b - 1) << (64 - QF_GUIDE_BITS))
			gaps->guide[--b] = (uint16_t) i;
		gaps->beyond[i] = beyond;
		beyond = qb_mul_high(beyond, p->q);
	}
	while (b > 0)
		gaps->guide[--b] = (uint16_t) i;
}
