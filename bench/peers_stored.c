/*
 * peers_stored.c
 *		Errors of other papers' structures and of qsketch's, at equal bytes stored in PostgreSQL.
 *
 * A stored value has another number of bytes than the structure in memory: qsketch writes its
 * structures compactly, lists are written without hash tables, and PostgreSQL compresses.  So each
 * structure has nearly the largest size whose stored bytes do not exceed the given bytes.
 * The size is nearly proportional to the stored bytes, so a few tries find it.  The size is at most
 * MEMORY times the given bytes, since a sparse sketch could have nearly any size.  multilevel's
 * size is the size of its low buckets, as in SQL.  One seed determines the size, because the stored
 * bytes hardly depend on the seed.  The errors are means over several seeds.
 *
 * bench/peers_stored.c
 */
#include <stdlib.h>

#include "peers.h"

#define TRIES  6
#define MEMORY 4
#define TOP    500

/*
 * Fractions of the bytes that may be stored: the aim of a try, and the fraction that ends the
 * search.
 */
#define AIM  0.99
#define NEAR 0.98

/* peers_pglz.c */
extern uint64_t peer_stored_bytes(const uint8_t *bytes, size_t size);

typedef struct stored
{
	uint64_t ordered; /* requested bytes of the structure */
	uint64_t memory;
	uint64_t bytes;
} stored;

/* Make a structure with "ordered" bytes, and compute its stored bytes. */
static stored
store(const peer_kind *kind, uint64_t ordered, const stream *s)
{
	peer_order order = { .bytes = ordered, .keys = TOP, .seed = 1, .input = s, .low = true };
	void *peer = peer_fill(kind, &order);
	stored result = { .ordered = ordered, .memory = kind->bytes(peer) };
	size_t size;
	uint8_t *bytes = kind->write(peer, &size);

	result.bytes = kind->compact ? size : peer_stored_bytes(bytes, size);
	free(bytes);
	kind->free(peer);
	return result;
}

/* Return the largest tried structure that stores at most "most" bytes. */
static stored
fit(const peer_kind *kind, uint64_t most, const stream *s)
{
	stored best = { 0 };
	uint64_t ordered = most;
	int i;

	for (i = 0; i < TRIES && (double) best.bytes < NEAR * (double) most; i++)
	{
		stored now = store(kind, ordered, s);

		if (now.bytes <= most && now.ordered > best.ordered)
			best = now;
		if (now.bytes <= most && ordered == MEMORY * most)
			break;
		ordered = (uint64_t) ((double) ordered * AIM * (double) most / (double) now.bytes);
		ordered = ordered < MEMORY * most ? ordered : MEMORY * most;
	}
	report_check(best.bytes > 0, "%s: %llu of %llu bytes stored, %llu in memory", kind->name,
				 (unsigned long long) best.bytes, (unsigned long long) most,
				 (unsigned long long) best.memory);
	return best;
}

/* Write one row of the table, and set "mean" to the mean errors. */
static void
write_row(FILE *out, const peer_kind *kind, const stream *s, double *mean)
{
	size_t i;

	fprintf(out, "| %s |", kind->name);
	for (i = 0; i < PEER_SIZES; i++)
	{
		stored best = fit(kind, peer_sizes[i].bytes, s);
		peer_order order = { .bytes = best.ordered, .keys = TOP, .input = s, .low = true };
		peer_errors e = peer_over_seeds(kind, &order);

		mean[i] = e.mean;
		peer_write_errors(out, &e);
		fprintf(out, "; %.1f |", (double) best.memory / (double) best.bytes);
	}
	fputc('\n', out);
}

void
peers_stored(const stream *s, const peer_kind *const *kinds, size_t count,
			 double (*mean)[PEER_SIZES])
{
	FILE *out = report_open("peers-stored");
	size_t i, k;

	fprintf(out, "| structure |");
	for (i = 0; i < PEER_SIZES; i++)
		fprintf(out, " %s |", peer_sizes[i].name);
	fprintf(out, "\n|---|---:|---:|---:|---:|---:|---:|\n");
	for (k = 0; k < count; k++)
		write_row(out, kinds[k], s, mean[k]);
	fclose(out);
}
