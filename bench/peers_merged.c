/*
 * peers_merged.c
 *		Errors of structures of equal bytes that are merged from shards, like days into a month.
 *
 * All shards have the same number of rows, in the order of the stream.  The errors of the merged
 * structure are printed together with the errors of a structure to which all rows were added.
 *
 * bench/peers_merged.c
 */
#include <stdlib.h>

#include "peers.h"

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define SHARDS 30
#define BYTES  (1 << 20)
#define TOP    500

static const peer_kind *const kinds[] = {
	&peer_qtop,
	&peer_listed_thread,
	&peer_listed_conservative,
	&peer_listed_count_sketch,
	&peer_listed_salsa,
	&peer_listed_salsa_conservative,
	&peer_space_saving,
	&peer_topn,
};

/* Print the errors of one structure, and free it. */
static void
print_errors(const char *what, const peer_kind *kind, void *peer, const stream *s)
{
	peer_errors e = peer_measure(kind, peer, s, 0, s->keys);
	uint32_t entries;
	peer_entry *entry = peer_named(kind, peer, &entries);

	printf("%s, %s: mean error %.2f, 99 %% %lld, worst %lld, %u of the top %d\n", kind->name, what,
		   e.mean, (long long) e.most_of, (long long) e.worst, peer_right(s, entry, entries, TOP),
		   TOP);
	free(entry);
	kind->free(peer);
}

void
peers_merged(const stream *s)
{
	peer_order order = { .bytes = BYTES, .keys = TOP, .seed = 1, .input = s };
	size_t k;

	for (k = 0; k < COUNT_OF(kinds); k++)
	{
		print_errors("all rows", kinds[k], peer_fill(kinds[k], &order), s);
		print_errors("merged", kinds[k], peer_fill_shards(kinds[k], &order, SHARDS), s);
	}
}
