/*
 * filter_probe.c
 *		Looking up keys in filters: what is kept from row to row.
 *
 * A query that looks up many keys in stored filters must fetch each filter only once,
 * even if a join brings it again with each row.  So copies of filters that come again
 * are kept, as far as there is room (stored.h).  A query that looks up one key in many
 * stored filters should not fetch them as a whole: a blocked Bloom filter has the key's
 * bits in one block, and in a large filter the key's positions are few.
 * src/pg/filter_probe.c
 */
#include "pg/filter_probe.h"

#include "access/heaptoast.h"
#include "miscadmin.h"
#include "pgbase/keyexpr.h"
#include "utils/memutils.h"

#define KEY_ARGUMENT 1

/* Make the probe of a calling expression, at its first call. */
FilterProbe *
FilterProbeOf(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	FilterProbe *probe = flinfo->fn_extra;

	if (likely(probe))
		return probe;
	probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(FilterProbe));
	StoredInit(&probe->filters, flinfo->fn_mcxt, sizeof(StoredFilter), get_hash_memory_limit());
	flinfo->fn_extra = probe;
	return probe;
}

/*
 * Fetching one position takes as long as fetching so many chunks with the whole value
 * (measured with 1 MB: 5 to 8).
 */
#define CHUNKS_PER_POSITION 8

static bool
parts_pay(const qf_filter *view)
{
	uint64 parts = view->params.layout == QF_BLOCKED ? 1 : view->params.k;

	return parts * CHUNKS_PER_POSITION < qf_words(&view->params) * 8 / TOAST_MAX_CHUNK_SIZE;
}

/* May a copy of the filter of this row be kept? */
static bool
has_room(FilterProbe *probe)
{
	return StoredMayKeep(&probe->filters, &probe->stored->stored,
						 probe->stored->stored.id.va_rawsize);
}

/*
 * Is this a stored filter without a copy that is better read in parts?  If so, its
 * header is opened, and FilterPartsSet() reads the parts.  If not, FilterWhole() must
 * follow.
 */
bool
FilterInParts(FilterProbe *probe, Datum datum, qf_filter *view)
{
	StoredFilter *stored = (StoredFilter *) StoredFind(&probe->filters, datum);

	probe->stored = stored;
	if (stored == NULL || stored->copy || (StoredAgain(&stored->stored) && has_room(probe)))
		return false;
	return FilterOpenStored(view, datum) && view->form == QF_DENSE && parts_pay(view);
}

/*
 * How many positions of a key are set in a filter that is read in parts.  "all": the
 * caller only asks whether all are set, so reading stops at the first that is not.
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

		CHECK_FOR_INTERRUPTS();
		FilterReadStored(datum, QF_HEADER_BYTES + position / 8, 1, &byte);
		set += qf_bit(&byte, position % 8);
	}
	return set;
}

/* Keep a copy of the filter that was read. */
static void
keep_copy(FilterProbe *probe, StoredFilter *stored)
{
	stored->copy = NULL;
	MemoryContextReset(stored->stored.context);
	stored->copy = FilterCopy(stored->stored.context, probe->reader.filter);
	StoredKept(&probe->filters, &stored->stored);
	FilterReadEnd(&probe->reader);
}

/* The filter, after FilterInParts() has returned false. */
const qf_filter *
FilterWhole(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored && stored->copy)
		return &stored->copy->filter;
	FilterRead(&probe->reader, datum);
	if (stored == NULL || !has_room(probe))
		return probe->reader.filter;
	keep_copy(probe, stored);
	return &stored->copy->filter;
}

/* The filter of this row, for reading; valid until the row ends. */
const qf_filter *
FilterProbed(FilterProbe *probe, Datum datum)
{
	probe->stored = (StoredFilter *) StoredFind(&probe->filters, datum);
	return FilterWhole(probe, datum);
}

/* Set the type of the keys. */
void
FilterProbeSetKey(FilterProbe *probe, Oid type, Oid collation)
{
	if (probe->key.type != type || probe->key.input_collation != collation)
		KeyTypeInit(&probe->key, type, collation);
}

/* The fingerprint for a filter of keys of another type.  A literal is read as one of those keys. */
uint64
FilterMisfit(FilterProbe *probe, const qf_filter *filter, Datum value)
{
	if (!probe->literal)
		KeyFamilyCheckProbe(&filter->keys, &probe->key, FilterKeyHolder(filter));
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), &filter->keys,
					   FilterKeyHolder(filter), &probe->key, value);
}

/* Fingerprint of the key argument, after a check that the filter holds such keys. */
uint64
FilterKeyArgument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	if (unlikely(probe->key.type == InvalidOid))
	{
		KeyArgument key;

		KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
		FilterProbeSetKey(probe, key.type, key.collation);
		KeyTypeLearn(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
		probe->literal = key.literal;
	}
	return FilterFingerprint(probe, filter, PG_GETARG_DATUM(KEY_ARGUMENT));
}
