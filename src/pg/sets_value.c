/*
 * sets_value.c
 *		Errors about collections of sets, and interrupts; input and output; facts about a
 *		collection, parts of it, and merging two.
 *
 * src/pg/sets_value.c
 */
#include "pg/sets_value.h"

#include "catalog/pg_type_d.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "pg/flat.h"
#include "pg/sets_state.h"
#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "pgbase/memory.h"
#include "pgbase/version.h"
#include "sets/format.h"
#include "utils/array.h"
#include "utils/builtins.h"

const ValueFormat sets_format = { "collection of sets", QSET_FORMAT_VERSION, QSET_HEADER_BYTES };
const KeyHolder sets_key_holder = { "collection of sets", "collections of sets", "qsets_agg" };

/* Check for interrupts.  Cancelling the query raises an error here. */
static bool
stop(void *context)
{
	(void) context;
	CHECK_FOR_INTERRUPTS();
	return false;
}

const qset_interrupt sets_interrupt = { stop, NULL };

/* Raise the error of a status unless it is QB_OK. */
void
SetsCheck(qb_status status)
{
	if (likely(status == QB_OK))
		return;
	if (status == QB_TOO_MANY)
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many sets or elements for one collection"),
			 errdetail("A collection has at most %llu sets, %llu distinct elements and %llu in "
					   "all.",
					   (unsigned long long) QSET_MAX_SETS, (unsigned long long) QSET_MAX_UNIVERSE,
					   (unsigned long long) QSET_MAX_ELEMENTS),
			 errhint("Split it by ranges of set ids, and find the pairs between the parts.")));
	StatusRaise(status, sets_format.noun, NULL);
}

/* Raise the error that there is no memory for more pairs than are kept. */
void
SetsTooManyPairs(uint64 kept)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("more than %llu pairs of sets would have to be kept in memory",
						   (unsigned long long) kept),
					errhint("Set top lower, or min_count or min_jaccard higher.")));
	pg_unreachable();
}

/* ---- facts and parts of a collection, and merging two ---- */

/* qsets_merge(qsets, qsets) */
PG_FUNCTION_INFO_V1(qsets_merge);
Datum
qsets_merge(PG_FUNCTION_ARGS)
{
	SetsState *merged = SetsNew();
	SetsReader reader;
	int i;

	for (i = 0; i < 2; i++)
	{
		SetsRead(&reader, PG_GETARG_DATUM(i));
		SetsAddCollection(merged, reader.collection);
		SetsReadEnd(&reader);
	}
	SetsMaterialize(merged);
	PG_RETURN_DATUM(StateDatum(&merged->keyed));
}

/* qsets_count(qsets): number of sets */
PG_FUNCTION_INFO_V1(qsets_count);
Datum
qsets_count(PG_FUNCTION_ARGS)
{
	SetsReader reader;
	int64 sets;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	sets = (int64) reader.collection->sets;
	SetsReadEnd(&reader);
	PG_RETURN_INT64(sets);
}

static Datum
array_of(const int64 *number, uint64 count)
{
	Size bytes = ARR_OVERHEAD_NONULLS(1) + count * sizeof(int64);
	ArrayType *array;

	if (count == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT8OID));
	array = palloc0(bytes);
	SET_VARSIZE(array, bytes);
	array->ndim = 1;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = (int) count;
	ARR_LBOUND(array)[0] = 1;
	memcpy(ARR_DATA_PTR(array), number, count * sizeof(int64));
	PG_RETURN_ARRAYTYPE_P(array);
}

/* qsets_ids(qsets): the sets' ids, ascending */
PG_FUNCTION_INFO_V1(qsets_ids);
Datum
qsets_ids(PG_FUNCTION_ARGS)
{
	SetsReader reader;
	Datum ids;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	ids = array_of(reader.collection->id, reader.collection->sets);
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(ids);
}

/* qsets_cardinality(qsets, id): 0 if there is no such set; no set is empty */
PG_FUNCTION_INFO_V1(qsets_cardinality);
Datum
qsets_cardinality(PG_FUNCTION_ARGS)
{
	SetsReader reader;
	int64 set;
	int64 size;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	set = qset_collection_find(reader.collection, PG_GETARG_INT64(1));
	size = set < 0 ? 0 : qset_set_size(reader.collection, set);
	SetsReadEnd(&reader);
	PG_RETURN_INT64(size);
}

/* qsets_elements(qsets, id): the elements as numbers, ascending; no rows if there is no such set */
PG_FUNCTION_INFO_V1(qsets_elements);
Datum
qsets_elements(PG_FUNCTION_ARGS)
{
	const qset_collection *c;
	SetsReader reader;
	int64 set;
	int64 *number;
	uint64 size;
	uint64 i;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	c = reader.collection;
	if (c->wide)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a collection of %s keys does not know its elements",
							   KeyFamilyTypes(c->keys.family)),
						errdetail("Keys of types of at most 64 bits are kept as they are, all "
								  "others as fingerprints of 128 "
								  "bits.")));
	set = qset_collection_find(c, PG_GETARG_INT64(1));
	size = set < 0 ? 0 : qset_set_size(c, set);
	number = palloc_extended(Max(size, 1) * sizeof(int64), MCXT_ALLOC_HUGE);
	for (i = 0; i < size; i++)
		number[i] = (int64) c->low[qset_set_ranks(c, set)[i]];
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(array_of(number, size));
}

/* The ids of an array that are not null. */
static int64 *
ids_of(ArrayType *array, uint64 *count)
{
	Datum *value;
	bool *null;
	int items;
	int64 *id;
	int i;

	deconstruct_array(array, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE, &value, &null, &items);
	id = palloc(Max(items, 1) * sizeof(int64));
	*count = 0;
	for (i = 0; i < items; i++)
		if (!null[i])
			id[(*count)++] = DatumGetInt64(value[i]);
	return id;
}

/* qsets_subset(qsets, ids bigint[]): the sets with these ids; missing ones are ignored */
PG_FUNCTION_INFO_V1(qsets_subset);
Datum
qsets_subset(PG_FUNCTION_ARGS)
{
	uint64 count;
	int64 *id = ids_of(PG_GETARG_ARRAYTYPE_P(1), &count);
	SetsState *subset = SetsNew();
	SetsReader reader;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	qset_collection_free(&subset->collection);
	SetsCheck(qset_collection_subset(&subset->collection, reader.collection, id, count,
									 &subset->keyed.memory, &sets_interrupt));
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&subset->keyed));
}

/* qsets_intersect_count(qsets, id, id): 0 if one of the sets is missing */
PG_FUNCTION_INFO_V1(qsets_intersect_count);
Datum
qsets_intersect_count(PG_FUNCTION_ARGS)
{
	const qset_collection *c;
	SetsReader reader;
	int64 a;
	int64 b;
	uint64 common = 0;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	c = reader.collection;
	a = qset_collection_find(c, PG_GETARG_INT64(1));
	b = qset_collection_find(c, PG_GETARG_INT64(2));
	if (a >= 0 && b >= 0)
		common = qset_count32(qset_kernels_now(), (const int32 *) qset_set_ranks(c, a),
							  qset_set_size(c, a), (const int32 *) qset_set_ranks(c, b),
							  qset_set_size(c, b));
	SetsReadEnd(&reader);
	PG_RETURN_INT64(common);
}

/* Columns of qsets_info(), in the order of its declaration. */
enum
{
	INFO_SETS,
	INFO_ELEMENTS,
	INFO_DISTINCT,
	INFO_LARGEST,
	INFO_EXACT,
	INFO_FAMILY,
	INFO_MEMORY,
	INFO_BYTES,
	INFO_COLUMNS
};

static uint32
largest_of(const qset_collection *c)
{
	uint32 largest = 0;
	uint64 i;

	for (i = 0; i < c->sets; i++)
		largest = Max(largest, qset_set_size(c, i));
	return largest;
}

PG_FUNCTION_INFO_V1(qsets_info);
Datum
qsets_info(PG_FUNCTION_ARGS)
{
	Datum values[INFO_COLUMNS] = { 0 };
	bool nulls[INFO_COLUMNS] = { 0 };
	const qset_collection *c;
	SetsReader reader;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	c = reader.collection;
	values[INFO_SETS] = Int64GetDatum(c->sets);
	values[INFO_ELEMENTS] = Int64GetDatum(c->elements);
	values[INFO_DISTINCT] = Int64GetDatum(c->universe);
	values[INFO_LARGEST] = Int64GetDatum(largest_of(c));
	values[INFO_EXACT] = BoolGetDatum(!c->wide);
	SetText(values, nulls, INFO_FAMILY, KeyFamilyName(c->keys.family));
	values[INFO_MEMORY] = Int64GetDatum(qset_collection_memory(c));
	values[INFO_BYTES] = Int64GetDatum(qset_flat_size(c));
	SetsReadEnd(&reader);
	return ReturnRow(fcinfo, values, nulls);
}

/* ---- input, output and comparison ---- */

/* Read all of a value that was made outside. */
static qb_status
validate(const uint8 *bytes, size_t length, const qb_memory *memory)
{
	qset_collection collection;
	qb_status status = qset_read(&collection, bytes, length, memory, &sets_interrupt);

	if (status == QB_NO_MEMORY)
		SetsCheck(status);
	if (status == QB_OK)
		qset_collection_free(&collection);
	return status;
}

static char *
hint(const char *text)
{
	(void) text;
	return "Make collections with qsets_agg(set_id, element).";
}

static const FlatType qsets = {
	.name = "qsets",
	.format = &sets_format,
	.validate = validate,
	.hint = hint,
};

FLAT_FUNCTIONS(qsets);
