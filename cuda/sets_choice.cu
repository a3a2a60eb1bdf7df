/*
 * sets_choice.cu
 *		All pairs: lists or hybrid, and which elements become columns of bits.
 *
 * The cost model has few constants, measured on an H200 (docs/engineering/sets-gpu.md).
 * Only their ratios decide, so a device that is slower in all of them makes
 * the same choices.
 *
 * cuda/sets_choice.cu
 */
#include "sets.cuh"

/* Per second: events of lists, bits of products, bytes of a strip written and read. */
#define EVENTS_PER_S 9e11
#define BITS_PER_S   1.9e15
#define BYTES_PER_S  3e12

/*
 * Per second: elements of both sets of a pair, by the paper's methods.  It is
 * an estimate, used for expected times only.
 */
#define ELEMENTS_PER_S 1e11

/* The question: all rows against all columns, or against later columns only. */
struct question
{
	const qset_cuda_sets *rows, *columns;
	bool tail;
};

/* Events of the lists of all elements of one degree. */
static double
events_of(const question &q, uint64_t degree)
{
	double elements = (double) q.columns->bin[degree];
	double d = (double) degree;

	if (q.tail)
		return elements * d * (d - 1) / 2;
	/* degrees in the rows are not known: they are taken as proportional to the columns' */
	return elements * d * d * (double) q.rows->elements / (double) q.columns->elements;
}

/*
 * The least degree of columns of bits that is cheapest.  A column of bits
 * costs the same whatever its degree, so going down from the most frequent
 * elements the cost first falls, and then rises.  0: no column of bits pays.
 */
static uint64_t
choose_degree(const question &q, double *lists, double *hybrid)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double events = 0;
	double left, heavy = 0;
	uint64_t best = 0;

	for (uint64_t d = 1; d <= q.columns->sets; d++)
		events += events_of(q, d);
	*lists = *hybrid = events / EVENTS_PER_S;
	left = events;
	for (uint64_t d = q.columns->sets; d >= 2; d--)
	{
		double cost;

		if (q.columns->bin[d] == 0)
			continue;
		heavy += (double) q.columns->bin[d];
		left -= events_of(q, d);
		cost = left / EVENTS_PER_S + heavy * pairs / BITS_PER_S + pairs * 8 / BYTES_PER_S;
		if (best != 0 && cost > *hybrid)
			break;
		if (best == 0 || cost < *hybrid)
		{
			*hybrid = cost;
			best = d;
		}
	}
	return best;
}

/* Seconds of a method that goes through all pairs, or multiplies all bits. */
static double
cost_of_pairs(const question &q, int method, bool resident)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double each =
		(double) q.rows->elements / (double) (q.rows->sets > 0 ? q.rows->sets : 1) +
		(double) q.columns->elements / (double) (q.columns->sets > 0 ? q.columns->sets : 1);

	if (method == QSET_BITMAP && resident)
		return pairs * (double) q.columns->universe / BITS_PER_S;
	return pairs * each / ELEMENTS_PER_S;
}

int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms)
{
	question q = { r->rows, r->columns ? r->columns : r->rows, tail };
	double lists, hybrid;
	uint64_t best = choose_degree(q, &lists, &hybrid);
	int method = r->method;

	if (method == QSET_AUTO)
		method = best > 0 && hybrid < lists ? QSET_HYBRID : QSET_INDEX;
	if (method == QSET_INDEX)
		*expected_ms = lists * 1e3;
	else if (method == QSET_HYBRID)
		*expected_ms = hybrid * 1e3;
	else
		*expected_ms = cost_of_pairs(q, method, r->variant != QSET_VARIANT_OFF) * 1e3;
	if (r->heavy > 0)
		best = r->heavy;
	*degree = method != QSET_HYBRID ? 0 : best > 0 ? best : UINT64_MAX;
	return method;
}
