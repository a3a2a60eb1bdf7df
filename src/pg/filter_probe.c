/*
 * filter_probe.c
 *		Looking up keys in filters: what is kept from row to row.
 *
 * A query that looks up many keys in one stored filter must fetch it once, also
 * when it comes anew with each row of a join.
 *
 * src/pg/filter_probe.c
 */
#include "pg/filter_probe.h"

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
	{
		StoredIdNote(&probe->stored, datum);
		probe->copy = NULL;
		MemoryContextReset(probe->copy_context);
	}
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
		KeyFamilyCheckProbe(&filter->keys, &probe->key, &filter_key_holder);
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), &filter->keys,
					   &filter_key_holder, &probe->key, value);
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
