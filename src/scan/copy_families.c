/*
 * copy_families.c
 *		Copies of columns for the aggregates of each family: which can take keys from
 *		copies, and how they do.
 *
 * Sketches, Bloom filters and collections of sets do not depend on the order of rows.  A
 * frequency filter draws which bits a row sets by the number of the row, so its rows are
 * read.
 *
 * Counts beside these get the number of rows.
 *
 * Elements of sets are the numbers that copies have.  Elements of other types would be
 * 128-bit fingerprints, of which copies have half.
 *
 * src/scan/copy_families.c
 */
#include "scan/copy.h"

#include "gpu/sketch_gpu.h"
#include "pg/sets_elements.h"
#include "utils/rel.h"

static bool
is_sketch(const ColumnFamily *family)
{
	return family == &column_families[0];
}

static bool
is_filter(const ColumnFamily *family)
{
	return family == &column_families[1];
}

static bool
makes_sets(const ColumnFamily *family)
{
	return family == &column_families[2];
}

static bool
counts_rows(const ColumnFamily *family)
{
	return family == &column_count;
}

/* Why a family takes no keys from copies; NULL: it does.  "grouped": for each group. */
static const char *
family_refusal(const ColumnFamily *family, const Const *template, bool grouped)
{
	if (is_sketch(family))
		return NULL;
	if (!is_filter(family) && !makes_sets(family) && !counts_rows(family))
		return "an aggregate that takes no keys from copies";
	if (grouped)
		return "GROUP BY of an aggregate that makes no sketch";
	return is_filter(family) && ColumnFilterDraws(template)
			   ? "a filter whose rows draw by their numbers"
			   : NULL;
}

/*
 * Does a process of a parallel scan take keys of a family from copies?  Collections of sets
 * are built by all processes together, which need the rows here.
 */
bool
CopyTakesInParallel(const ColumnFamily *family)
{
	return !makes_sets(family);
}

/* Why a collection's elements of this type, with ids of that column, cannot come from copies. */
static const char *
sets_refusal(Relation relation, Oid type, AttrNumber id)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), id - 1);

	if (!KeyTypeIsNumber(type))
		return "elements of more than 64 bits";
	if (!CopyTakesKeys(form) || !KeyTypeIsNumber(form->atttypid))
		return "ids of sets of a type that is not copied as integers";
	return NULL;
}

/* What an aggregate has beside its keys: the column of the ids of its sets, or weights. */
static const char *
weight_refusal(Relation relation, const ColumnFamily *family, Oid type, AttrNumber weight)
{
	if (makes_sets(family))
		return sets_refusal(relation, type, weight);
	return weight ? "weights" : NULL;
}

/* Does an aggregate count the rows in which its column is not NULL? */
bool
CopyCountsValues(const ScanAggregate *column)
{
	return counts_rows(column->family) && column->place.attribute != 0;
}

/* Why rows cannot be counted where this column is not NULL; 0: all rows are counted. */
static const char *
count_refusal(Relation relation, AttrNumber attribute)
{
	return attribute == 0 || CopyTakesKeys(TupleDescAttr(RelationGetDescr(relation), attribute - 1))
			   ? NULL
			   : "a count of a column of a type that is not copied";
}

/* Why the keys of an aggregate cannot come from a copy; NULL: they can. */
const char *
CopyAggregateRefusal(Relation relation, const ScanAggregate *column, bool grouped)
{
	const char *refusal;
	Form_pg_attribute form;

	if (column->given)
		return "a template that is not a constant";
	refusal = family_refusal(column->family, column->template, grouped);
	if (refusal)
		return refusal;
	if (counts_rows(column->family))
		return count_refusal(relation, column->place.attribute);
	if (column->row)
		return "a key of several columns";
	refusal = weight_refusal(relation, column->family, column->key_type, column->weight.attribute);
	if (refusal)
		return refusal;
	form = TupleDescAttr(RelationGetDescr(relation), column->place.attribute - 1);
	if (!CopyTakesKeys(form) || form->atttypid != column->key_type)
		return "keys of a type that is not copied";
	return NULL;
}

/* Why the state of an aggregate takes no keys from copies; NULL: it does. */
static const char *
state_refusal(const ScanAggregate *column)
{
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);

	if (makes_sets(column->family) || counts_rows(column->family))
		return NULL;
	if (ScanAggregateIsOnCpu(column))
		return sketch ? "the sketch is made on the CPU" : "the filter is made on the CPU";
	return sketch && GpuSketchOnlyOnCpu(&sketch->sketch.params)
			   ? "sketches of structure sf are made on the CPU"
			   : NULL;
}

/* Why states of a run take no keys from copies; NULL: they do. */
const char *
CopyStatesRefusal(const ScanAggregate *column, int count)
{
	const char *refusal = NULL;
	int i;

	for (i = 0; i < count && refusal == NULL; i++)
		refusal = state_refusal(&column[i]);
	return refusal;
}

static bool
take_rows(void *column, const GpuKeyCounts *counts)
{
	if (counts->count > 0)
		((ScanAggregate *) column)->rows += counts->times[0];
	return true;
}

/* Count the rows of parts of a copy. */
static void
add_rows(ScanAggregate *column, const GpuColumnPart *part, int parts)
{
	GpuColumnPart *of_rows = palloc(Max(parts, 1) * sizeof(GpuColumnPart));
	int i;

	for (i = 0; i < parts; i++)
	{
		of_rows[i] = part[i];
		of_rows[i].wish = WISH_ROWS;
	}
	(void) GpuColumnCountsAll(of_rows, parts, 1, take_rows, column);
	pfree(of_rows);
}

/* Give an aggregate the keys of parts of a copy; pages that it got are taken off the parts' sets. */
void
CopyAddKeys(ScanAggregate *column, const GpuColumnPart *part, int parts)
{
	if (is_sketch(column->family))
		SketchAddColumn((SketchState *) column->state, part, parts);
	else if (makes_sets(column->family))
		SetsAddColumns((SetsState *) column->state, part, parts);
	else if (counts_rows(column->family))
		add_rows(column, part, parts);
	else
		FilterAddColumn((FilterState *) column->state, part, parts);
}

/* ---- while planning ---- */

/* May the keys of a call that has some come from copies, as far as it tells? */
static bool
takes_keys(Relation relation, const ColumnScanCall *call)
{
	AttrNumber weight = call->weight ? call->weight->varattno : 0;

	return !call->parameter && !call->row &&
		   weight_refusal(relation, call->family, call->key_type, weight) == NULL &&
		   call->key_type == call->key->vartype &&
		   !(is_sketch(call->family) && ColumnStaysOnCpu(call));
}

/* May an aggregate's keys come from copies, as far as its call tells? */
bool
CopyTakesCall(Relation relation, const ColumnScanCall *call, bool grouped)
{
	if (family_refusal(call->family, call->template, grouped))
		return false;
	if (counts_rows(call->family))
		return count_refusal(relation, call->key ? call->key->varattno : 0) == NULL;
	return takes_keys(relation, call);
}

/* The collation of the copy from which a column's keys or rows come. */
Oid
CopyKeyCollation(Relation relation, const ColumnFamily *family, AttrNumber attribute, Oid collation)
{
	return counts_rows(family)
			   ? TupleDescAttr(RelationGetDescr(relation), attribute - 1)->attcollation
			   : collation;
}
