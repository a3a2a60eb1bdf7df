/*
 * filter_workload.c
 *		Filters and streams of rows for the programs that measure filters.
 *
 * bench/filter_workload.c
 */
#include <math.h>

#include "filter_workload.h"

void
filter_start(qf_filter *f, qf_preset preset, double rows, double frequency, double error, int k)
{
	qf_request r = { .rows = (int64_t) rows,
					 .frequency = (int64_t) frequency,
					 .error = error,
					 .k = k,
					 .preset = preset };
	qf_params p;

	bench_check(qf_params_make(&p, &r));
	qf_init(f, &p, &bench_memory);
	f->keys.family = 1;
}

void
feeder_start(feeder *feed, qf_filter *f, uint64_t nonce)
{
	feed->f = f;
	feed->nonce = nonce;
	feed->row = 0;
	feed->count = 0;
}

void
feeder_end(feeder *feed)
{
	qf_batch b = { .fingerprint = feed->key,
				   .count = feed->count,
				   .nonce = feed->nonce,
				   .first_row = feed->row - feed->count };

	bench_check(qf_engine_cpu.insert(feed->f, &b));
	feed->count = 0;
}

void
feed_rows(feeder *feed, uint64_t key, uint64_t times)
{
	for (; times > 0; times--)
	{
		feed->key[feed->count++] = key;
		feed->row++;
		if (feed->count == QF_BATCH)
			feeder_end(feed);
	}
}

void
feed_noise(feeder *feed, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		feed_rows(feed, filter_key(1000, feed->row), 1);
}

uint32_t
filter_set_of(const qf_filter *f, uint64_t key)
{
	uint32_t set;

	qf_engine_cpu.query(f, &key, 1, &set);
	return set;
}

uint64_t
filter_key(uint32_t group, uint64_t i)
{
	return (uint64_t) group << 48 | i;
}

void
moments_add(moments *m, double x)
{
	m->count++;
	m->sum += x;
	m->squares += x * x;
}

double
moments_mean(const moments *m)
{
	return m->sum / m->count;
}

double
moments_sd(const moments *m)
{
	double mean = moments_mean(m);

	return sqrt(fmax(m->squares / m->count - mean * mean, 0) * m->count / (m->count - 1));
}
