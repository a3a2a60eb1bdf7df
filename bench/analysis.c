/*
 * analysis.c
 *		"make analysis": costs and benefits of the sizes m, d and H.
 *
 * The authors of the paper left three questions open in their notes: how many memory transactions
 * an insertion needs, how accurate a sketch is, and which size of a sub-warp is best.  The answers
 * depend on the width of the bucket, the depth, the number of masks and the width of the counters.
 * Formulas are in theory.c and derived in theory.h.  docs/engineering/analysis.md has the tables.
 * Simulations check the formulas.  The check of transactions uses the sketches' masks.  The check
 * of errors uses all masks.
 *
 * bench/analysis.c
 */
#include <math.h>

#include "sketch/params.h"
#include "theory.h"
#include "workload.h"

#define DOCUMENT         "docs/engineering/analysis.md"
#define SECTOR           32 /* bytes of the smallest transaction of global memory */
#define LINE             128
#define INSERTS          1000000
#define INSERTS_PER_SEED 1000
#define BUCKETS          1000000
#define DEPTH_MAX        8

static const uint32_t widths[] = { 4, 8, 16, 32 };
static const double loads[] = { 0.5, 1, 2 };

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* ---- memory transactions ---- */

/* Return the mean number of transactions of an insertion, by simulation. */
static double
simulate_touched(uint32_t m, uint32_t depth, uint32_t counters)
{
	uint64_t seed_key = 0;
	uint64_t state = 1;
	double touched = 0;
	uint32_t i;

	for (i = 0; i < INSERTS; i++)
	{
		uint64_t hv = bench_random(&state);
		uint64_t seen = 0;
		uint32_t mask;

		if (i % INSERTS_PER_SEED == 0)
			seed_key = qb_seed_key(i);
		mask = qs_mask_rotation(qs_mask(seed_key, m, depth, (uint32_t) hv & 1023), m, hv);
		for (; mask != 0; mask &= mask - 1)
			seen |= UINT64_C(1) << (uint32_t) __builtin_ctz(mask) / counters;
		touched += (double) __builtin_popcountll(seen) / INSERTS;
	}
	return touched;
}

/* Check the formula for transactions of "bytes" bytes and counters of 4 bytes. */
static void
check_transactions(uint32_t bytes)
{
	double worst = 0;
	uint32_t m, d;

	for (m = 8; m <= 32; m *= 2)
		for (d = 1; d <= DEPTH_MAX; d++)
		{
			double expected = theory_transactions(m, d, bytes / 4);
			double off = simulate_touched(m, d, bytes / 4) / expected - 1;

			if (fabs(off) > fabs(worst))
				worst = off;
		}
	report_check(fabs(worst) <= 0.005,
				 "transactions of %u bytes: formula and simulation at most %.2f %% apart", bytes,
				 fabs(worst) * 100);
}

/* Write a table whose rows are m and whose columns are depths.  Counters have 4 bytes. */
static void
sectors_table(void)
{
	FILE *out = report_open("sectors");
	uint32_t m, d;

	fprintf(out, "| m |");
	for (d = 1; d <= DEPTH_MAX; d++)
		fprintf(out, " d = %u |", d);
	fprintf(out, "\n|---|---|---|---|---|---|---|---|---|\n");
	for (m = 8; m <= 32; m *= 2)
	{
		fprintf(out, "| %u |", m);
		for (d = 1; d <= DEPTH_MAX; d++)
			fprintf(out, " %.3f |", theory_transactions(m, d, SECTOR / 4));
		fprintf(out, "\n");
	}
	fprintf(out, "| thread |");
	for (d = 1; d <= DEPTH_MAX; d++)
		fprintf(out, " %u |", d);
	fprintf(out, "\n");
	fclose(out);
}

/* ---- accuracy ---- */

/*
 * Write a table whose rows are keys per counter and m, and whose columns are depths.  The best
 * value is bold.
 */
static void
depth_table(void)
{
	FILE *out = report_open("depth");
	size_t i, k;

	fprintf(out, "| keys per counter | m |");
	for (k = 1; k <= 6; k++)
		fprintf(out, " d = %zu |", k);
	fprintf(out, "\n|---|---|---|---|---|---|---|---|\n");
	for (i = 0; i < COUNT_OF(loads); i++)
		for (k = 1; k <= COUNT_OF(widths); k++)
		{
			uint32_t m = k < COUNT_OF(widths) ? widths[k] : 0;
			double keys = loads[i] / 3;
			double error[7];
			uint32_t best = 1;
			uint32_t d;

			for (d = 1; d <= 6; d++)
			{
				error[d] = m ? theory_simulate(m, d, keys * m, 0, false, BUCKETS)
							 : theory_thread(d, keys * d);
				if (error[d] < error[best])
					best = d;
			}
			fprintf(out, m ? "| %.2f | %u |" : "| %.2f | thread |", keys, m);
			for (d = 1; d <= 6; d++)
				fprintf(out, d == best ? " **%.4f** |" : " %.4f |", error[d]);
			fprintf(out, "\n");
		}
	fclose(out);
}

/*
 * Write a table whose rows are m and load, and whose columns are numbers of masks, without and with
 * rotation.
 */
static void
masks_table(void)
{
	static const uint32_t masks[] = { 1, 8, 64, 256, 1024, 4096, 65536 };
	static const uint32_t wide[] = { 8, 16, 28, 32 };
	FILE *out = report_open("masks");
	size_t i, k, h;

	fprintf(out, "| m | load | all masks |");
	for (h = 0; h < COUNT_OF(masks); h++)
		fprintf(out, " H = %u |", masks[h]);
	fprintf(out, "\n|---|---|---|---|---|---|---|---|---|---|\n");
	for (i = 0; i < COUNT_OF(wide); i++)
		for (k = 0; k < 2; k++)
		{
			double keys = loads[k] / 3 * (wide[i] == 28 ? 8 : wide[i]);
			double ideal = theory_bucket(wide[i], keys);
			double off = 0;

			fprintf(out, "| %u | %.1f | %.4f |", wide[i], loads[k], ideal);
			for (h = 0; h < COUNT_OF(masks); h++)
			{
				double plain = theory_simulate(wide[i], 3, keys, masks[h], false, 2 * BUCKETS);
				double turned = theory_simulate(wide[i], 3, keys, masks[h], true, 2 * BUCKETS);

				fprintf(out, " %+.1f / %+.1f %% |", (plain / ideal - 1) * 100,
						(turned / ideal - 1) * 100);
				if (masks[h] == 1024)
					off = turned / ideal - 1;
			}
			fprintf(out, "\n");
			report_check(fabs(off) <= 0.03,
						 "m = %u, load %.1f: 1024 turned masks %+.2f %% from all masks", wide[i],
						 loads[k], off * 100);
		}
	fclose(out);
}

static void
check_simulation(void)
{
	double worst = 0;
	size_t i, k;

	for (i = 0; i < COUNT_OF(loads); i++)
		for (k = 0; k < COUNT_OF(widths); k++)
		{
			double keys = loads[i] / 3 * widths[k];
			double off = theory_simulate(widths[k], 3, keys, 0, false, 4 * BUCKETS) /
							 theory_bucket(widths[k], keys) -
						 1;

			worst = fmax(worst, fabs(off));
		}
	report_check(worst <= 0.01, "errors at depth 3: formula and simulation at most %.2f %% apart",
				 worst * 100);
}

/* ---- the best sub-warp for each width of counters ---- */

/*
 * Return the error of buckets of m counters of "bytes" bytes.  In the same memory, counters of 4
 * bytes would have the load "load".
 */
static double
error_of_width(uint32_t m, double bytes, double load)
{
	return theory_bucket(m, load / 3 * m * bytes / 4);
}

/*
 * Return the memory that a thread sketch needs for the error of buckets of m counters, divided by
 * the memory of the buckets.
 */
static double
thread_memory(uint32_t m, double bytes, double load)
{
	double wanted = error_of_width(m, bytes, load);
	double low = 1e-4;
	double high = 1e3;
	int i;

	for (i = 0; i < 100; i++)
	{
		double middle = sqrt(low * high);

		if (theory_thread(3, load * bytes / 4 / middle) > wanted)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Write a table of buckets of half a sector, of one sector, and of two sectors. */
static void
sub_warp_table(void)
{
	FILE *out = report_open("sub-warps");
	double bytes;
	size_t i;

	fprintf(out,
			"| counter bytes | m | bucket bytes | sectors | lines | error at load 0.5 | at 1 | "
			"memory of a thread sketch as good, at load 1 |\n|---|---|---|---|---|---|---|---|\n");
	for (bytes = 1; bytes <= 8; bytes *= 2)
		for (i = 0; i < COUNT_OF(widths); i++)
		{
			uint32_t m = widths[i];
			bool one_sector = m * bytes == SECTOR;

			if (m * bytes < SECTOR / 2 || m * bytes > SECTOR * 2)
				continue;
			fprintf(out, one_sector ? "| **%.0f** | **%u** |" : "| %.0f | %u |", bytes, m);
			fprintf(out, " %.0f | %.3f | %.3f | %.4f | %.4f | %.2f |\n", m * bytes,
					theory_transactions(m, 3, (uint32_t) (SECTOR / bytes)),
					theory_transactions(m, 3, (uint32_t) (LINE / bytes)),
					error_of_width(m, bytes, 0.5), error_of_width(m, bytes, 1),
					thread_memory(m, bytes, 1));
		}
	fclose(out);
}

int
main(void)
{
	static const char *const tables[] = { "sectors", "depth", "masks", "sub-warps" };
	size_t i;

	check_transactions(SECTOR);
	check_transactions(LINE);
	sectors_table();
	check_simulation();
	depth_table();
	masks_table();
	sub_warp_table();
	for (i = 0; i < COUNT_OF(tables); i++)
		report_publish(tables[i], DOCUMENT);
	printf("%d failed\n", report_failures());
	return report_failures() > 0;
}
