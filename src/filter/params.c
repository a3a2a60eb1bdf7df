/*
 * params.c
 *		Choosing and checking the parameters of a filter.
 *
 * src/filter/params.c
 */
#include <math.h>

#include "filter/params.h"

#define TWO_64 18446744073709551616.0

/* Significant bits that are kept of p and of m. */
#define P_DIGITS 24
#define M_DIGITS 11

/* Of the paper: -ln(1 - e) and -ln e for its e = 0.1. */
#define PAPER_LOAD  0.10536051565782628
#define PAPER_LN_E  2.302585092994046
#define PAPER_SHARE 0.7

/* t and L as in the header; "growth" is (exp(t + L) - 1) / t^2. */
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

const char *
qf_preset_name(int preset)
{
	return preset >= 0 && preset < QF_PRESETS ? presets[preset].name : NULL;
}

int
qf_preset_by_name(const char *name, size_t length)
{
	int i;

	for (i = 0; i < QF_PRESETS; i++)
		if (strlen(presets[i].name) == length && memcmp(presets[i].name, name, length) == 0)
			return i;
	return -1;
}

/* 1 - p in fixed point, for 0 < p < 1 rounded to P_DIGITS significant bits. */
static uint64_t
fixed_q(double p)
{
	int exponent;
	double fraction = frexp(p, &exponent);

	return -(uint64_t) ldexp(rint(ldexp(fraction, P_DIGITS)), exponent - P_DIGITS + 64);
}

/*
 * At least "bits" bits: a whole number of words with at most M_DIGITS
 * significant bits, which can be halved until few are left.
 */
static qs_status
set_bits(qf_params *p, double bits)
{
	uint64_t m;
	int shift;

	if (!(bits <= (double) QF_BITS_MAX))
		return QS_BAD_SIZE;
	m = (uint64_t) ceil(bits);
	m = m > p->k ? m : p->k;
	shift = 64 - __builtin_clzll(m) - M_DIGITS;
	shift = shift > 6 ? shift : 6;
	p->m = (((m - 1) >> shift) + 1) << shift;
	return QS_OK;
}

/* p of the paper, cut (not rounded) to three digits. */
static double
paper_p(double n, double f)
{
	double p = PAPER_SHARE * (n * PAPER_LN_E - (n - f) * PAPER_LOAD) / (n * f);
	double unit = 1e-3;

	while (p < unit * 100)
		unit /= 10;
	return floor(p / unit) * unit;
}

static qs_status
make_paper(qf_params *p, const qf_request *r)
{
	double prob = paper_p((double) r->rows, (double) r->frequency);
	double bits = (double) p->k * (double) r->rows * prob / PAPER_LOAD;

	if (p->k == 0)
		return QS_BAD_HASHES;
	/* Only where f is 1. */
	if (prob >= 1)
		return QS_BAD_FREQUENCY;
	if (!(bits <= (double) QF_BITS_MAX))
		return QS_BAD_SIZE;
	p->q = fixed_q(prob);
	p->m = (uint64_t) rint(bits);
	return qf_params_check(p);
}

static qs_status
make_preset(qf_params *p, const qf_request *r)
{
	double prob = -expm1(-presets[r->preset].t / (double) r->frequency);

	if (p->k == 0)
		p->k = (uint32_t) ceil(presets[r->preset].growth / (r->error * r->error));
	p->q = fixed_q(prob);
	return set_bits(p, (double) p->k * (double) r->rows * prob / presets[r->preset].load);
}

qs_status
qf_params_make(qf_params *p, const qf_request *r)
{
	if (!qf_preset_name(r->preset))
		return QS_BAD_PRESET;
	if (r->rows < 1 || r->rows > QF_ROWS_MAX)
		return QS_BAD_ROWS;
	if (r->frequency < 1 || r->frequency > QF_FREQUENCY_MAX || r->frequency > r->rows)
		return QS_BAD_FREQUENCY;
	if (!(r->error >= QF_ERROR_MIN && r->error <= QF_ERROR_MAX))
		return QS_BAD_ERROR;
	if (r->k < 0 || r->k > QF_HASHES_MAX)
		return QS_BAD_HASHES;
	*p = (qf_params){ .seed = r->seed, .k = (uint32_t) r->k };
	return r->preset == QF_PAPER ? make_paper(p, r) : make_preset(p, r);
}

qs_status
qf_params_make_bloom(qf_params *p, int64_t keys, double rate, uint64_t seed)
{
	if (keys < 1 || keys > QF_ROWS_MAX)
		return QS_BAD_ROWS;
	if (!(rate >= QF_RATE_MIN && rate <= QF_RATE_MAX))
		return QS_BAD_RATE;
	*p = (qf_params){ .seed = seed, .k = (uint32_t) rint(-log2(rate)) };
	return set_bits(p, -(double) p->k * (double) keys / log1p(-pow(rate, 1.0 / p->k)));
}

qs_status
qf_params_check(const qf_params *p)
{
	if (p->m < QF_BITS_MIN || p->m > QF_BITS_MAX)
		return QS_BAD_SIZE;
	if (p->k < 1 || p->k > QF_HASHES_MAX || p->k > p->m)
		return QS_BAD_HASHES;
	return QS_OK;
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
		if (qf_params_check(&half) != QS_OK)
			break;
	}
	return halvings;
}

bool
qf_params_mergeable(const qf_params *a, const qf_params *b)
{
	return a->k == b->k && a->q == b->q && a->seed == b->seed &&
		   (qf_params_halvings(a->m, b->m) >= 0 || qf_params_halvings(b->m, a->m) >= 0);
}
