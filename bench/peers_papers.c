/*
 * peers_papers.c
 *		Compares the Count sketch with its paper: the variance of one row is (F2 - f * f) / width.
 *
 * test_peers.c has the checks that do not need many rows.
 *
 * bench/peers_papers.c
 */
#include <math.h>

#include "peers.h"

#define SEEDS     40
#define ROW_KEYS  20000
#define ROW_COUNT 20
#define ROW_BYTES 10000000

/*
 * Measure a Count sketch of one row, with keys of equal counts.  If two keys share a counter, an
 * estimate is 0 or twice the count.  Negative estimates, which are reported as 0, need three keys
 * in a counter, which is too rare to change the result.
 */
void
peers_papers(void)
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
