/*
 * peers_data.c
 *		Makes streams of rows with the true weights of their keys.
 *
 * bench/peers_data.c
 */
#define _POSIX_C_SOURCE 200809L /* popen */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers_data.h"
#include "workload.h"

#define LINE_MAX_BYTES 4096

typedef struct counted
{
	uint64_t key;
	int64_t count;
	uint32_t number; /* number of the key in the order of counts */
} counted;

static int
by_key(const void *a, const void *b)
{
	uint64_t x = ((const counted *) a)->key;
	uint64_t y = ((const counted *) b)->key;

	return (x > y) - (x < y);
}

static int
by_count(const void *a, const void *b)
{
	int64_t x = ((const counted *) a)->count;
	int64_t y = ((const counted *) b)->count;

	return x != y ? (x < y) - (x > y) : by_key(a, b);
}

/* Add up the counts of neighbours with equal keys; returns the number of keys. */
static size_t
join(counted *c, size_t n)
{
	size_t keys = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (keys > 0 && c[keys - 1].key == c[i].key)
			c[keys - 1].count += c[i].count;
		else
			c[keys++] = c[i];
	return keys;
}

/* Set the distinct keys of a stream from n keys with counts.  Frees "c". */
static void
count_keys(stream *s, counted *c, size_t n)
{
	uint32_t i;

	qsort(c, n, sizeof(*c), by_key);
	s->keys = (uint32_t) join(c, n);
	qsort(c, s->keys, sizeof(*c), by_count);
	s->key = bench_alloc(s->keys, sizeof(*s->key));
	s->count = bench_alloc(s->keys, sizeof(*s->count));
	s->by_key = bench_alloc(s->keys, sizeof(*s->by_key));
	s->total = 0;
	for (i = 0; i < s->keys; i++)
	{
		s->key[i] = c[i].key;
		s->count[i] = c[i].count;
		s->total += c[i].count;
		c[i].number = i;
	}
	qsort(c, s->keys, sizeof(*c), by_key);
	for (i = 0; i < s->keys; i++)
		s->by_key[i] = c[i].number;
	free(c);
}

static void
count_rows(stream *s)
{
	counted *c = bench_alloc(s->rows, sizeof(*c));
	size_t i;

	for (i = 0; i < s->rows; i++)
		c[i] = (counted){ .key = s->row[i], .count = s->weight ? s->weight[i] : 1 };
	count_keys(s, c, s->rows);
}

static void
shuffle(uint64_t *row, size_t rows, uint64_t *random)
{
	size_t i;

	for (i = rows; i > 1; i--)
	{
		size_t other = qb_reduce(bench_random(random), i);
		uint64_t key = row[i - 1];

		row[i - 1] = row[other];
		row[other] = key;
	}
}

/* Return a random weight of a row, 1 to 1023.  The key decides the mean, from 2 to 512. */
static int64_t
weight_of(uint64_t key, uint64_t *random)
{
	uint64_t mean = UINT64_C(2) << (qb_mix64(key ^ QB_ROW_STEP) % 9);

	return 1 + (int64_t) qb_reduce(bench_random(random), 2 * mean - 1);
}

/* Set the distinct keys of a stream to the keys of a workload that occur. */
static void
count_workload(stream *s, const workload *w)
{
	counted *c = bench_alloc(w->keys, sizeof(*c));
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < w->keys; i++)
		if (w->count[i] > 0)
			c[n++] = (counted){ .key = w->fingerprint[i], .count = w->count[i] };
	count_keys(s, c, n);
}

void
stream_zipf(stream *s, uint32_t keys, double rows, double theta, bool weighted, uint64_t seed)
{
	uint64_t random = seed;
	workload w;
	size_t n = 0;
	uint32_t i;
	int64_t k;

	workload_init(&w, keys, rows, theta, seed);
	s->rows = (size_t) w.rows;
	s->row = bench_alloc(s->rows, sizeof(*s->row));
	s->weight = weighted ? bench_alloc(s->rows, sizeof(*s->weight)) : NULL;
	for (i = 0; i < keys; i++)
		for (k = 0; k < w.count[i]; k++)
			s->row[n++] = w.fingerprint[i];
	shuffle(s->row, s->rows, &random);
	for (n = 0; weighted && n < s->rows; n++)
		s->weight[n] = weight_of(s->row[n], &random);
	if (weighted)
		count_rows(s);
	else
		count_workload(s, &w);
	workload_free(&w);
}

static uint64_t
fingerprint_of(const char *text)
{
	uint64_t f = 0;

	for (; *text && *text != '\n'; text++)
		f = qb_mix64(f + QB_ROW_STEP) ^ (uint8_t) *text;
	return qb_mix64(f);
}

bool
stream_command(stream *s, const char *command)
{
	char line[LINE_MAX_BYTES];
	FILE *f = popen(command, "r");
	size_t room = 1 << 16;

	memset(s, 0, sizeof(*s));
	if (!f)
		return false;
	s->row = bench_alloc(room, sizeof(*s->row));
	while (fgets(line, sizeof(line), f))
	{
		if (s->rows == room)
		{
			room *= 2;
			s->row = realloc(s->row, room * sizeof(*s->row));
			if (!s->row)
				bench_check(QB_NO_MEMORY);
		}
		s->row[s->rows++] = fingerprint_of(line);
	}
	pclose(f);
	if (s->rows > 0)
		count_rows(s);
	else
		stream_free(s);
	return s->rows > 0;
}

void
stream_free(stream *s)
{
	free(s->row);
	free(s->weight);
	free(s->key);
	free(s->count);
	free(s->by_key);
}
