/*
 * filter_probe.c
 *		Looking up keys in filters: what is kept from row to row.
 *
 * A query that looks up many keys in one stored filter must fetch it once, also
 * when it comes anew with each row of a join.  One that looks up a key in many
 * stored filters should not fetch all of each: a blocked Bloom filter has the key's
 * bits in one place, and of a large filter the key's positions are few.
 *
 * src/pg/filter_probe.c
 */
#include "pg/filter_probe.h"

#include "access/heaptoast.h"
#include "pg/keyexpr.h"
#include "utils/memutils.h"

#define KEY_ARGUMENT 1

/* The probe of the calling expression, made at its first call. */
FilterProbe *
FilterProbeOf(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	FilterProbe *probe = flinfo->fn_extra;

	if (likely(probe))
		return probe;
	probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(FilterProbe));
	probe->copy_context = AllocSetContextCreate(flinfo->fn_mcxt, "pbf probe", ALLOCSET_SMALL_SIZES);
	flinfo->fn_extra = probe;
	return probe;
}

/*
 * Fetching one position takes as long as so many chunks of a value that is fetched
 * as a whole (measured with 1 MB: 5 to 8).
 */
#define CHUNKS_PER_POSITION 8

static bool
parts_pay(const qf_filter *view)
{
	uint64 parts = view->params.layout == QF_BLOCKED ? 1 : view->params.k;

	return parts * CHUNKS_PER_POSITION < qf_words(&view->params) * 8 / TOAST_MAX_CHUNK_SIZE;
}

/* Forget the last filter and note the next. */
static void
note_filter(FilterProbe *probe, Datum datum)
{
	StoredIdNote(&probe->stored, datum);
	probe->copy = NULL;
	MemoryContextReset(probe->copy_context);
}

/*
 * Is this a new stored filter, better read in parts?  It is then noted and
 * opened by its header; FilterPartsSet() has the rest.
 */
bool
FilterInParts(FilterProbe *probe, Datum datum, qf_filter *view)
{
	if (StoredIdIs(&probe->stored, datum) || !FilterOpenStored(view, datum) ||
		view->form != QF_DENSE || !parts_pay(view))
		return false;
	note_filter(probe, datum);
	return true;
}

/*
 * How many positions of a key are set in such a filter; if the question is whether
 * all of them are, no further than the first that is not.
 */
uint32
FilterPartsSet(Datum datum, const qf_filter *view, uint64 fingerprint, bool all)
{
	uint64 h = qf_hash(fingerprint, view->seed_key);
	uint32 set = 0;
	uint32 j;

	if (view->params.layout == QF_BLOCKED)
	{
		uint8 block[QF_BLOCK_BITS / 8];
		qf_filter one = *view;

		FilterReadStored(datum, QF_HEADER_BYTES + qf_block(h, view->params.m) / 8, sizeof(block),
						 block);
		one.params.m = QF_BLOCK_BITS;
		one.bits = block;
		return qf_count(&one, fingerprint);
	}
	for (j = 0; j < view->params.k && (set == j || !all); j++)
	{
		uint32 position = qf_position(h, j, view->params.m);
		uint8 byte;

		FilterReadStored(datum, QF_HEADER_BYTES + position / 8, 1, &byte);
		set += qf_bit(&byte, position % 8);
	}
	return set;
}

/* The filter of this row, for reading; good until the row ends. */
const qf_filter *
FilterProbed(FilterProbe *probe, Datum datum)
{
	bool same = StoredIdIs(&probe->stored, datum);

	if (same && probe->copy)
		return &probe->copy->filter;
	FilterRead(&probe->reader, datum);
	if (same)
	{
		probe->copy = FilterCopy(probe->copy_context, probe->reader.filter);
		FilterReadEnd(&probe->reader);
		return &probe->copy->filter;
	}
	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		note_filter(probe, datum);
	return probe->reader.filter;
}

/* Learn the type of the keys. */
void
FilterProbeSetKey(FilterProbe *probe, Oid type, Oid collation)
{
	if (probe->key.type != type || probe->key.input_collation != collation)
		KeyTypeInit(&probe->key, type, collation);
}

/* The fingerprint for a filter of other keys: a literal is read as one of those. */
uint64
FilterMisfit(FilterProbe *probe, const qf_filter *filter, Datum value)
{
	if (!probe->literal)
		KeyFamilyCheckProbe(&filter->keys, &probe->key, FilterKeyHolder(filter));
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), &filter->keys,
					   FilterKeyHolder(filter), &probe->key, value);
}

/* Fingerprint of the key argument, checked to be of the filter's kind. */
uint64
FilterKeyArgument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	if (unlikely(probe->key.type == InvalidOid))
	{
		KeyArgument key;

		KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
		FilterProbeSetKey(probe, key.type, key.collation);
		probe->literal = key.literal;
	}
	return FilterFingerprint(probe, filter, PG_GETARG_DATUM(KEY_ARGUMENT));
}
