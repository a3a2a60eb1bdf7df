/*
 * slim.c
 *		Unbiased estimates from the device part of an sf sketch.
 *
 * Let F be the distribution of slim counters.  Then a cell has F^(1/z), and the z -
 * 1 cells beside it have F^((z-1)/z).  A key of count f is told the minimum of d
 * times max(f + own cell, other cells), hence
 *
 *	g(f) = f + sum over w >= 0 of (1 - F(w)^(1/z) * F(f + w)^((z-1)/z))^d
 *
 * F comes from what absent keys are told; the tail of that is the tail of a slim
 * counter to the power of d.  F does not show cells below the least slim counter.
 * Their share is set such that cells have the mean that follows from N.
 *
 * src/sketch/slim.c
 */
#include "sketch/slim.h"

/* g(f) is kept for small counts f one by one, then in steps of a sixteenth. */
#define STEP(f) (1 + (f) / 16)

/* The distributions of cells by bin, and the cells below the base. */
typedef struct cells
{
	const qs_noise *noise;
	double *own;    /* chance of no more than the bin's last value */
	double *others; /* this chance for the z - 1 cells beside it */
	double low;     /* the least cell below the base */
	double share;   /* the share of cells below the base */
} cells;

bool
qs_slim_alone(const qs_sketch *sk)
{
	return qs_has_fat(sk->params.structure) && sk->params.part == QS_PART_DEVICE;
}

static double
power(double x, uint32_t n)
{
	double product = 1;

	while (n-- > 0)
		product *= x;
	return product;
}

/* The n-th root of 0 <= x <= 1: Newton's method, which comes from above all the way. */
static double
root(double x, uint32_t n)
{
	double y = 1;

	while (x > 0)
	{
		double next = y - (y - x / power(y, n - 1)) / n;

		if (next >= y)
			return y;
		y = next;
	}
	return 0;
}

/* The chance that a cell is at most w. */
static double
own_within(const cells *c, double w)
{
	double base = (double) c->noise->base;

	if (w >= base)
		return c->own[qs_noise_bin(c->noise, (uint64_t) w)];
	return w <= c->low ? 0 : c->share * (w - c->low) / (base - c->low);
}

/*
 * Fit the ramp of cells below the base to what the mean of all cells leaves for
 * them.  The share of cells below the base is the one with which a single slim
 * counter would be expected below it: with more of them one would have been seen.
 */
static void
fit_low_cells(cells *c, const qs_sketch *sk)
{
	const qs_noise *noise = c->noise;
	double slim = (double) sk->params.n * 8;
	double mean = (double) sk->total * sk->params.depth / (slim * sk->params.z);
	double seen = (double) noise->base;
	uint32_t i;

	c->low = (double) noise->base;
	c->share = root(1 / slim, sk->params.z);
	for (i = 0; i < noise->bins; i++)
		seen += (1 - c->own[i]) * (double) qs_bin_width(i);
	if (seen > mean)
		c->low -= 2 * (seen - mean) / c->share;
	if (c->low < 0)
		c->low = 0;
}

/* g(f).  Each bin above the base adds its part, as for a mean. */
static double
expect_told(const cells *c, uint32_t depth, double f)
{
	double v = (double) c->noise->base; /* f + w */
	double before = 1;
	double sum = f > v ? f : v;
	uint32_t i;

	for (i = 0; i < c->noise->bins; i++)
	{
		double width = (double) qs_bin_width(i);
		double after, part;

		v += width;
		if (v <= f)
			continue;
		after = power(1 - own_within(c, v - 1 - f) * c->others[i], depth);
		part = v - f < width ? v - f : width;
		sum += part * before - (before - after) * (part + 1) / 2;
		before = after;
	}
	return sum;
}

static void
fill_cells(cells *c, const qs_sketch *sk)
{
	uint32_t i;

	for (i = 0; i < c->noise->bins; i++)
	{
		double slim = 1 - root(c->noise->above[i], sk->params.depth);

		c->own[i] = root(slim, sk->params.z);
		c->others[i] = c->own[i] > 0 ? slim / c->own[i] : 0;
	}
	fit_low_cells(c, sk);
}

qb_status
qs_slim_measure(qs_noise *noise, const qs_sketch *sk)
{
	const qb_memory *memory = noise->memory;
	cells c = { .noise = noise };
	uint64_t most = noise->most < INT64_MAX ? noise->most : INT64_MAX; /* damaged bytes say more */
	uint64_t f;

	for (f = 0; f <= most; f += STEP(f))
		noise->counts++;
	c.own = memory->alloc(memory->context, sizeof(double) * noise->bins * 2);
	noise->told = memory->alloc(memory->context, sizeof(double) * noise->counts);
	if (c.own && noise->told)
	{
		c.others = c.own + noise->bins;
		fill_cells(&c, sk);
		for (f = 0, noise->counts = 0; f <= most; f += STEP(f))
			noise->told[noise->counts++] = expect_told(&c, sk->params.depth, (double) f);
	}
	if (c.own)
		memory->release(memory->context, c.own);
	return c.own && noise->told ? QB_OK : QB_NO_MEMORY;
}

double
qs_slim_estimate(const qs_noise *noise, double told)
{
	double f = 0;
	uint32_t i;

	if (told <= noise->told[0])
		return told - noise->told[0];
	for (i = 0; i + 1 < noise->counts; i++)
	{
		double step = (double) STEP((uint64_t) f);

		if (told < noise->told[i + 1])
			return f + step * (told - noise->told[i]) / (noise->told[i + 1] - noise->told[i]);
		f += step;
	}
	return f + told - noise->told[i];
}
