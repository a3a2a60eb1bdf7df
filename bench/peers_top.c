/*
 * peers_top.c
 *		The most frequent keys by structures of equal bytes, and the bounds of their weights.
 *
 * A structure returns the k keys with its largest estimates.  So its precision and its recall are
 * equal, unless it names fewer than k keys.  Bounds are checked for all keys: the weight of a named
 * key must be between its bounds, and the weight of an unnamed key must be at most the bound for
 * unnamed keys.
 *
 * bench/peers_top.c
 */
#include <stdlib.h>

#include "peers.h"

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define MOST 500

/*
 * Indexes in peer_sizes of the first and the last size.  A list of MOST keys takes most of 16 kB,
 * and in 4 MB nearly all keys are right.
 */
#define FIRST 1
#define LAST  4

static const uint32_t tops[] = { 20, 100, MOST };

static const peer_kind *const kinds[] = {
	&peer_qtop,
	&peer_qtop_thread,
	&peer_listed_thread,
	&peer_listed_conservative,
	&peer_listed_count_sketch,
	&peer_listed_salsa,
	&peer_space_saving,
	&peer_topn,
};

static void
write_right(FILE *out, const stream *s, const peer_entry *entry, uint32_t entries)
{
	size_t i;

	for (i = 0; i < COUNT_OF(tops); i++)
		fprintf(out, "%s%u", i > 0 ? " / " : " ", peer_right(s, entry, entries, tops[i]));
	fprintf(out, " |");
}

static void
by_memory(const stream *s)
{
	FILE *out = report_open("peers-top");
	size_t i, k;

	fprintf(out, "| structure |");
	for (i = FIRST; i <= LAST; i++)
		fprintf(out, " %s |", peer_sizes[i].name);
	fprintf(out, "\n|---|---|---|---|---|\n");
	for (k = 0; k < COUNT_OF(kinds); k++)
	{
		fprintf(out, "| %s |", kinds[k]->name);
		for (i = FIRST; i <= LAST; i++)
		{
			peer_order order = {
				.bytes = peer_sizes[i].bytes, .keys = MOST, .seed = 1, .input = s
			};
			void *peer = peer_fill(kinds[k], &order);
			uint32_t entries;
			peer_entry *entry = peer_named(kinds[k], peer, &entries);

			write_right(out, s, entry, entries);
			report_check(kinds[k]->bytes(peer) <= peer_sizes[i].bytes, "%s of %s: %llu bytes",
						 kinds[k]->name, peer_sizes[i].name,
						 (unsigned long long) kinds[k]->bytes(peer));
			free(entry);
			kinds[k]->free(peer);
		}
		fputc('\n', out);
	}
	fclose(out);
}

/* ---- promises ---- */

/* The number of wrong bounds, and the width of the bounds. */
typedef struct promises
{
	uint32_t broken; /* number of keys whose weights are not within their bounds */
	double width;    /* mean width of the bounds of the top 100, relative to their weights */
} promises;

static int
by_key(const void *a, const void *b)
{
	uint64_t x = ((const peer_entry *) a)->key;
	uint64_t y = ((const peer_entry *) b)->key;

	return (x > y) - (x < y);
}

/* Check the bounds of all keys of the stream.  Sorts the entries by key. */
static promises
check_promises(const stream *s, peer_entry *entry, uint32_t entries, int64_t bound)
{
	promises p = { 0 };
	uint32_t i;

	qsort(entry, entries, sizeof(*entry), by_key);
	for (i = 0; i < s->keys; i++)
	{
		peer_entry wanted = { .key = s->key[i] };
		const peer_entry *e = bsearch(&wanted, entry, entries, sizeof(*entry), by_key);
		int64_t lower = e ? e->lower : 0;
		int64_t upper = e ? e->estimate : bound;

		p.broken += s->count[i] < lower || s->count[i] > upper;
		if (i < 100)
			p.width += (double) (upper - lower) / (double) s->count[i] / 100;
	}
	return p;
}

/* Check the bounds of a structure, and report the result. */
static void
report_promises(const char *input, const stream *s, const peer_kind *kind, uint64_t bytes,
				const char *size)
{
	peer_order order = { .bytes = bytes, .keys = MOST, .seed = 1, .input = s };
	void *peer = peer_fill(kind, &order);
	uint32_t entries;
	peer_entry *entry = peer_named(kind, peer, &entries);
	int64_t bound = kind->bound(peer);
	promises p;

	p = check_promises(s, entry, entries, bound);
	report_check(
		p.broken == 0,
		"%s of %s, %s: %u of %u promises broken; bounds %.3f %% wide, those of other keys %lld",
		kind->name, size, input, p.broken, s->keys, 100 * p.width, (long long) bound);
	free(entry);
	kind->free(peer);
}

void
peers_top(const stream *zipf)
{
	static const peer_kind *const bounded[] = { &peer_qtop, &peer_qtop_thread, &peer_space_saving };
	stream weighted;
	size_t i, k;

	by_memory(zipf);
	stream_zipf(&weighted, zipf->keys, 5e6, 1.0, true, 2);
	for (i = FIRST; i <= LAST; i += 2)
		for (k = 0; k < COUNT_OF(bounded); k++)
			report_promises("counted", zipf, bounded[k], peer_sizes[i].bytes, peer_sizes[i].name);
	for (i = FIRST; i <= LAST; i += 2)
		for (k = 0; k < COUNT_OF(bounded); k++)
			report_promises("weighted", &weighted, bounded[k], peer_sizes[i].bytes,
							peer_sizes[i].name);
	stream_free(&weighted);
}
