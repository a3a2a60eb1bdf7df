/*
 * peers.c
 *		Structures of other papers and ours at equal bytes: errors of estimates, by bytes of memory
 *		and by bytes stored.
 *
 * Each structure gets the same rows and the same number of bytes (peers.h says which bytes
 * count), and estimates all keys of the stream.  The keys are Zipf's, or those of real data.
 * Missing data are left out.  kB are 1024 bytes.
 *
 * bench/peers.c
 */
#include "accuracy.h"
#include "peers.h"

#define KEYS 1000000
#define ROWS 1e7
#define TOP  500

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static const peer_kind *const kinds[] = {
	&peer_multilevel_3,
	&peer_multilevel_4,
	&peer_multilevel_5,
	&peer_multilevel_unbiased,
	&peer_thread,
	&peer_thread_unbiased,
	&peer_qtop,
	&peer_conservative,
	&peer_count_sketch,
	&peer_salsa,
	&peer_salsa_conservative,
	&peer_sublime,
	&peer_space_saving,
};

/* The structures of the tables by frequency. */
static const peer_kind *const by_frequency[] = {
	&peer_multilevel_3, &peer_thread, &peer_qtop, &peer_salsa, &peer_space_saving,
};

/* Classes of keys by weight, the most frequent keys first. */
static const struct
{
	const char *name;
	int64_t least;
} classes[] = { { "1000 and more", 1000 },
				{ "100 to 999", 100 },
				{ "10 to 99", 10 },
				{ "2 to 9", 2 },
				{ "1", 1 } };

/* The mean errors, for the figure. */
static double mean[COUNT_OF(kinds)][PEER_SIZES];

/* ---- errors by memory and by frequency ---- */

static void
write_classes(FILE *out, const peer_kind *kind, const void *peer, const stream *s)
{
	uint32_t from = 0;
	size_t i;

	for (i = 0; i < COUNT_OF(classes); i++)
	{
		uint32_t to = peer_keys_from(s, classes[i].least);
		peer_errors e = peer_measure(kind, peer, s, from, to);

		fprintf(out, " %lld / %lld / %lld |", (long long) e.median, (long long) e.most_of,
				(long long) e.worst);
		from = to;
	}
	fputc('\n', out);
}

/* A line with the number of keys of each class. */
static void
write_class_sizes(FILE *out, const stream *s)
{
	uint32_t from = 0;
	size_t i;

	for (i = 0; i < COUNT_OF(classes); i++)
	{
		uint32_t to = peer_keys_from(s, classes[i].least);

		fprintf(out, " %u |", to - from);
		from = to;
	}
	fputc('\n', out);
}

static void
write_by_frequency(FILE *out, const stream *s)
{
	size_t k;

	fprintf(out, "| number of keys |");
	write_class_sizes(out, s);
	for (k = 0; k < COUNT_OF(by_frequency); k++)
	{
		peer_order order = { .bytes = 1 << 20, .keys = TOP, .seed = 1, .input = s };
		void *peer = peer_fill(by_frequency[k], &order);

		fprintf(out, "| %s |", by_frequency[k]->name);
		write_classes(out, by_frequency[k], peer, s);
		by_frequency[k]->free(peer);
	}
}

static void
add_columns(FILE *errors, const stream *s, size_t k)
{
	const peer_kind *kind = kinds[k];
	size_t i;

	fprintf(errors, "| %s | %s | %s | %s |", kind->name, kind->merges, kind->weights,
			kind->removes);
	for (i = 0; i < PEER_SIZES; i++)
	{
		peer_order order = { .bytes = peer_sizes[i].bytes, .keys = TOP, .input = s };
		peer_errors e = peer_over_seeds(kind, &order);

		mean[k][i] = e.mean;
		peer_write_errors(errors, &e);
		fprintf(errors, " |");
	}
	fputc('\n', errors);
}

static void
write_figure(const char *name)
{
	FILE *data = report_open(name);
	size_t i, k;

	for (i = 0; i < PEER_SIZES; i++)
	{
		fprintf(data, "%llu", (unsigned long long) peer_sizes[i].bytes >> 10);
		for (k = 0; k < COUNT_OF(kinds); k++)
			fprintf(data, " %.4f", mean[k][i]);
		fputc('\n', data);
	}
	fclose(data);
}

static void
generated(const stream *s)
{
	FILE *errors = report_open("peers");
	size_t i, k;

	fprintf(errors, "| structure | merges | weights | removals |");
	for (i = 0; i < PEER_SIZES; i++)
		fprintf(errors, " %s |", peer_sizes[i].name);
	fprintf(errors, "\n|---|---|---|---|---:|---:|---:|---:|---:|---:|\n");
	for (k = 0; k < COUNT_OF(kinds); k++)
		add_columns(errors, s, k);
	fclose(errors);
	write_figure("peers.dat");
	peers_stored(s, kinds, COUNT_OF(kinds), mean);
	write_figure("peers-stored.dat");
}

/* ---- real data ---- */

#define WORDS "apt-cache dumpavail 2>/dev/null | tr -s '[:space:],|()' '\\n' | grep ."

/* Words of package descriptions, if there are any.  The page's text mentions some of their errors. */
static void
frequencies(void)
{
	FILE *out = report_open("peers-real");
	stream s;
	size_t i;

	fprintf(out, "| structure |");
	for (i = 0; i < COUNT_OF(classes); i++)
		fprintf(out, " %s |", classes[i].name);
	fprintf(out, "\n|---|---|---|---|---|---|\n");
	if (stream_command(&s, WORDS))
	{
		write_by_frequency(out, &s);
		stream_free(&s);
	}
	else
		printf("no data: apt-cache has no packages\n");
	fclose(out);
}

void
accuracy_peers(void)
{
	stream s;

	stream_zipf(&s, KEYS, ROWS, 1.0, false, 1);
	generated(&s);
	peers_top(&s);
	peers_merged(&s);
	frequencies();
	stream_free(&s);
	peers_papers();
}
