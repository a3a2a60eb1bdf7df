/*
 * top_sample.c
 *		Is a list of candidates worth a pass over the table?
 *
 * If keys are many, a sketch counts them faster than GROUP BY, whose hash table then no
 * longer fits into the cache, or into work_mem.  If keys are few, GROUP BY is faster.
 * Some pages of the table show which of the two holds:
 *
 *	unseen		the share of the sample's rows whose key it has once.  About the same
 *				share of the other rows has a key that is not in the sample.  It is
 *				near 0 if there are few keys, and 1 if no two rows have the same key.
 *	alike		about how many other rows of the table have the same key as a row, on
 *				average.  It is near 0 if no two rows have the same key.
 *	nth, usual	whether the wanted keys are much more frequent than the others.
 *
 * A list of numbers costs little, and often has exact counts already.  It is made
 * unless keys are few, or hardly any two rows have the same key.  A list of other keys
 * needs another pass to count them.  It is made only if the wanted keys are much more
 * frequent than the others, and most rows have rare keys.
 *
 * A table without pages of its own (a view, a foreign table) gives no sample.  The
 * sample affects only the time; the answer is always exact.
 *
 * src/pg/top_sample.c
 */
#include "pg/top_exact.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "sketch/top.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Pages of the sample, and its largest share of a table.  For smaller tables GROUP BY
 * runs at once.
 */
#define SAMPLE_PAGES 128
#define MOST_PERCENT 5
#define LEAST_PAGES  256

/* The least "unseen" for which a list is made. */
#define UNSEEN_INTEGER 0.25
#define UNSEEN_OTHER   0.45

/* The least "alike" for which a list is made. */
#define ALIKE 0.5

/*
 * How often the wanted keys must be seen: STANDS_OUT_TIMES as often as usual ones, and
 * STANDS_OUT_BY times more.  Weights take the place of counts, then by as many rows of the
 * average weight.
 */
#define STANDS_OUT_BY    6
#define STANDS_OUT_TIMES 4

#define SAMPLED "%s TABLESAMPLE pg_catalog.system (%.6f) REPEATABLE (0)"

/* Add the pages of a table; false: it has none of its own. */
static bool
add_pages(Oid relid, double *pages)
{
	Relation relation = try_relation_open(relid, NoLock);
	bool sampled = true;

	if (relation == NULL || RELATION_IS_OTHER_TEMP(relation))
		sampled = relation != NULL;
	else if (relation->rd_rel->relkind == RELKIND_RELATION ||
			 relation->rd_rel->relkind == RELKIND_MATVIEW)
		*pages += RelationGetNumberOfBlocks(relation);
	else
		sampled = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	if (relation)
		relation_close(relation, NoLock);
	return sampled;
}

/* The sample's percentage of the pages; 0: there is no sample. */
static double
percent_of(Oid relid)
{
	double pages = 0;
	ListCell *cell;

	foreach (cell, find_all_inheritors(relid, AccessShareLock, NULL))
		if (!add_pages(lfirst_oid(cell), &pages))
			return 0;
	return pages < LEAST_PAGES ? 0 : Min(MOST_PERCENT, 100 * SAMPLE_PAGES / pages);
}

/*
 * Read the groups of the sample, the first ones first.  Each has a key, its count or weight,
 * and its count.
 */
static void
add_group(const TopQuestion *question, TopSample *sample, HeapTuple tuple)
{
	bool null;
	int64 weight;
	int64 count;

	(void) SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &null);
	if (null)
		return;
	weight = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &null));
	count = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 3, &null));
	sample->weight += (double) weight;
	sample->rows += (double) count;
	sample->groups++;
	sample->single += count == 1;
	if (sample->groups == question->n)
		sample->nth = weight;
	if (sample->groups == qs_top_capacity(question->listed))
		sample->usual = weight;
}

void
TopTakeSample(const TopQuestion *question, TopSample *sample)
{
	uint64 i;

	memset(sample, 0, sizeof(*sample));
	sample->percent = percent_of(question->relation);
	if (sample->percent == 0)
		return;
	RunQuery(psprintf("SELECT %s, %s, pg_catalog.count(*) FROM " SAMPLED " GROUP BY %s%s "
					  "ORDER BY 2 DESC",
					  question->column, question->measure, question->table, sample->percent,
					  question->column, question->having),
			 NULL, NULL);
	for (i = 0; i < SPI_processed; i++)
		add_group(question, sample, SPI_tuptable->vals[i]);
	SPI_freetuptable(SPI_tuptable);
}

/* Roughly how many rows the table has. */
double
TopSampleTable(const TopSample *sample)
{
	return sample->rows * 100 / sample->percent;
}

/*
 * Is a list worth its pass?  The sample has at least "rows - groups" pairs of rows with
 * the same key.
 */
bool
TopSampleWantsList(const TopQuestion *question, const TopSample *sample)
{
	double unseen = sample->rows > 0 ? sample->single / sample->rows : 0;
	double pairs = sample->rows - sample->groups;

	if (question->number)
		return unseen >= UNSEEN_INTEGER &&
			   2 * pairs * TopSampleTable(sample) >= ALIKE * sample->rows * sample->rows;
	return unseen >= UNSEEN_OTHER && sample->nth >= STANDS_OUT_BY * sample->weight / sample->rows +
														STANDS_OUT_TIMES * (double) sample->usual;
}

/* The share of the sample's rows that meet a condition. */
double
TopSampleShare(const TopQuestion *question, const TopSample *sample, const char *condition,
			   OwnCall *call, ParamListInfo values)
{
	bool null;
	int64 rows;

	RunQuery(psprintf("SELECT pg_catalog.count(*) FROM " SAMPLED " WHERE %s", question->table,
					  sample->percent, condition),
			 call, values);
	rows = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
	SPI_freetuptable(SPI_tuptable);
	return (double) rows / sample->rows;
}
