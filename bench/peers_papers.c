/*
 * peers_papers.c
 *		The references of other papers' structures against what the papers say.
 *
 * HeavyKeeper: its Fig. 8, the share of the top 1000 that are right with 100 kB, by Zipf's
 * exponent: 32 million rows, up to 10 million keys.  The numbers of buckets and counters
 * are those that the paper's layout has in 100 kB: 4 bytes for a bucket, 54 for an entry of
 * the list of 1000 keys and for a counter of Space-Saving, rows of Count-Min in the rest.
 *
 * The paper does not say how many keys there are with which exponent, and its numbers are
 * not ours.  On these very rows, with the exponent 0.6, the authors' published program has 680
 * right.
 *
 * Count sketch: the variance of one row, (F2 - f * f) / width.
 *
 * test_peers.c has what does not need many rows.
 *
 * bench/peers_papers.c
 */
#include <math.h>
#include <stdlib.h>

#include "peers.h"
#include "peers_list.h"

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* ---- HeavyKeeper ---- */

#define PAPER_BYTES 102400
#define PAPER_ENTRY 54
#define PAPER_TOP   1000
#define PAPER_ROWS  32e6
#define PAPER_KEYS  10000000

#define THEIR_RIGHT 680 /* of their program */

#define PAPER_REST (PAPER_BYTES - PAPER_TOP * PAPER_ENTRY)
#define LIST_BYTES (PAPER_TOP * PEER_LIST_BYTES)

static const struct
{
	const peer_kind *kind;
	uint64_t bytes;   /* that give as many counters here */
	double figure[2]; /* the share that is right, read off the bars */
} in_figure[] = {
	{ &peer_space_saving,
	  PAPER_BYTES / PAPER_ENTRY *(PEER_LIST_BYTES + PEER_ERROR_BYTES),
	  { 0.30, 0.42 } },
	{ &peer_listed_thread, PAPER_REST + LIST_BYTES, { 0.74, 0.80 } },
	{ &peer_heavy_keeper, PAPER_REST / 4 * PEER_BUCKET_BYTES + LIST_BYTES, { 0.95, 0.97 } },
};

static const double exponents[] = { 0.6, 1.2 };

static void
heavy_keeper_figure(void)
{
	size_t e, k;

	for (e = 0; e < COUNT_OF(exponents); e++)
	{
		stream s;

		stream_zipf(&s, PAPER_KEYS, PAPER_ROWS, exponents[e], false, 3);
		for (k = 0; k < COUNT_OF(in_figure); k++)
		{
			peer_order order = {
				.bytes = in_figure[k].bytes, .keys = PAPER_TOP, .seed = 1, .input = &s
			};
			void *peer = peer_fill(in_figure[k].kind, &order);
			uint32_t entries;
			peer_entry *entry = peer_named(in_figure[k].kind, peer, &entries);
			uint32_t right = peer_right(&s, entry, entries, PAPER_TOP);

			printf("%s, Zipf %.1f: %u of the top %d, the paper's figure %.0f\n",
				   in_figure[k].kind->name, exponents[e], right, PAPER_TOP,
				   in_figure[k].figure[e] * PAPER_TOP);
			if (in_figure[k].kind == &peer_heavy_keeper && e == 0)
				report_check(abs((int) right - THEIR_RIGHT) <= 30,
							 "HeavyKeeper: %u of the top %d, the authors' program %d", right,
							 PAPER_TOP, THEIR_RIGHT);
			free(entry);
			in_figure[k].kind->free(peer);
		}
		stream_free(&s);
	}
}

/* ---- Count sketch ---- */

#define SEEDS     40
#define ROW_KEYS  20000
#define ROW_COUNT 20
#define ROW_BYTES 10000000

/*
 * One row, and keys that are all as frequent: where two meet, an estimate is 0 or twice the
 * truth.  Three meet so rarely that negative estimates, told as 0, do not show.
 */
static void
count_sketch_variance(void)
{
	peer_kind one_row = peer_count_sketch;
	peer_order order = { .bytes = ROW_BYTES };
	double told = ROW_COUNT * sqrt((ROW_KEYS - 1) / (ROW_BYTES / 4.0));
	double squares = 0;
	int64_t weight = ROW_COUNT;
	double found;
	uint64_t key;

	one_row.depth = 1;
	for (order.seed = 1; order.seed <= SEEDS; order.seed++)
	{
		void *peer = one_row.make(&one_row, &order);

		for (key = 1; key <= ROW_KEYS; key++)
			one_row.add(peer, &key, &weight, 1);
		for (key = 1; key <= ROW_KEYS; key++)
			squares += pow((double) (one_row.estimate(peer, key) - weight), 2);
		one_row.free(peer);
	}
	found = sqrt(squares / ROW_KEYS / SEEDS);
	report_check(fabs(found / told - 1) < 0.03,
				 "one row of a Count sketch: error %.3f, theory %.3f", found, told);
}

void
peers_papers(void)
{
	heavy_keeper_figure();
	count_sketch_variance();
}
