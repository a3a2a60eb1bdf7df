/*
 * noise.c
 *		How wrong a sketch is: questions to its distribution of noise.
 *
 * src/sketch/noise.c
 */
#include "sketch/noise.h"

/* Chances count as equal if they differ by less than this share. */
#define ROUNDING 1e-9

void
qs_noise_free(qs_noise *noise)
{
	if (noise->above)
		noise->memory->release(noise->memory->context, noise->above);
	if (noise->told)
		noise->memory->release(noise->memory->context, noise->told);
	noise->above = noise->told = NULL;
	noise->bins = noise->counts = 0;
}

/* Chance of a noise beyond the last value of the bin before. */
static double
tail_before(const qs_noise *noise, uint32_t bin)
{
	return bin > 0 ? noise->above[bin - 1] : 1;
}

/*
 * The mean is the sum, over all distances v, of the chance of more than v.  Within a
 * bin the tail is taken to fall evenly.
 */
double
qs_noise_mean(const qs_noise *noise)
{
	double sum = (double) noise->base;
	uint32_t i;

	for (i = 0; i < noise->bins; i++)
	{
		double width = (double) qs_bin_width(i);
		double before = tail_before(noise, i);

		sum += width * before - (before - noise->above[i]) * (width + 1) / 2;
	}
	return sum;
}

/* The first bin beyond which the chance is at most "tail". */
static uint32_t
find_bin(const qs_noise *noise, double tail)
{
	uint32_t low = 0;
	uint32_t high = noise->bins - 1;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (noise->above[middle] <= tail)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* How many values of the bin are needed, 1 .. width, if the tail falls evenly. */
static uint64_t
part_of_bin(const qs_noise *noise, uint32_t bin, double tail)
{
	double before = tail_before(noise, bin);
	uint64_t width = qs_bin_width(bin);
	double part;

	if (width == 1 || before <= noise->above[bin])
		return 1;
	part = (before - tail) / (before - noise->above[bin]) * (double) width;
	if (part >= (double) width)
		return width;
	return part < 0 ? 1 : (uint64_t) part + 1;
}

/*
 * For several probes the whole bin is needed: its rarest noise may be that of a
 * single heavy key, anywhere in the bin.
 */
int64_t
qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes)
{
	double tail = (1 - confidence) * (1 + ROUNDING);
	uint64_t distance;
	uint32_t bin;

	if (noise->bins == 0)
		return 0;
	if (probes > 1)
		tail /= (double) probes * noise->repeats;
	bin = find_bin(noise, tail);
	distance = qs_bin_start(bin);
	distance += (probes > 1 ? qs_bin_width(bin) : part_of_bin(noise, bin, tail)) - 1;
	if (distance > noise->most - noise->base)
		distance = noise->most - noise->base;
	distance += noise->base;
	return distance < INT64_MAX ? (int64_t) distance : INT64_MAX;
}

/* Damaged bytes may give estimates below zero; the error is never below 0. */
qs_bounds
qs_bounds_of(int64_t told, int64_t error)
{
	return (qs_bounds){ .lower = told > error ? told - error : 0, .estimate = told, .upper = told };
}
