/*
 * top_has.c
 *		qtop_has, qtop_estimate and qtop_bounds: what a list knows of a key.
 *
 * They are called for each row of a table, mostly with the same list.  An expanded list is
 * searched in place.  Of a flat list the candidates are copied into a hash table, once.
 * Another list is told by its toast pointer, or by its bytes: a checksum can be forged.
 * Where the sketch is asked, too, the whole value is kept.
 *
 * src/pg/top_has.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/keytext.h"
#include "pgbase/row.h"
#include "pg/top_state.h"

#include "pgbase/stored.h"
#include "sketch/top_format.h"
#include "utils/memutils.h"

#define KEY_ARGUMENT 1

/* There is one for each calling expression, in fn_extra. */
typedef struct TopProbe
{
	KeyType key;
	bool literal;       /* the key is text that may be read as another type */
	KeyReader literals; /* reads such a key */

	StoredId stored;       /* identifies the copied list if it is stored out of line */
	struct varlena *flat;  /* the copied list, if it is not stored out of line; else NULL */
	bool asks;             /* the sketch is asked, too */
	MemoryContext context; /* holds the copy */
	qb_memory memory;
	qb_keys keys;
	qs_top top;
	qs_sketch sketch; /* a view of the value in "context", if it is asked */
} TopProbe;

/* The list that a call is about, and the key. */
typedef struct TopCall
{
	const qs_top *top;
	const qs_sketch *sketch;
	uint64 fingerprint;
} TopCall;

static pg_noinline TopProbe *
create_probe(FunctionCallInfo fcinfo, bool asks)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	TopProbe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(TopProbe));
	KeyArgument key;

	KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&probe->key, key.type, key.collation);
	KeyTypeLearn(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	probe->literal = key.literal;
	probe->asks = asks;
	probe->context = AllocSetContextCreate(flinfo->fn_mcxt, "qtop probe", ALLOCSET_SMALL_SIZES);
	flinfo->fn_extra = probe;
	return probe;
}

/* Is it the flat value whose candidates were copied? */
static bool
is_known(const TopProbe *probe, Datum datum)
{
	const char *value = DatumGetPointer(datum);

	if (StoredIdIs(&probe->stored, datum))
		return true;
	return probe->flat && VARATT_IS_4B_U(value) && VARSIZE(value) == VARSIZE(probe->flat) &&
		   memcmp(value, probe->flat, VARSIZE(value)) == 0;
}

/* The value as a whole.  It is kept in the context of the copy if the sketch is asked. */
static struct varlena *
whole_value(const TopProbe *probe, Datum datum)
{
	MemoryContext old;
	struct varlena *value;

	if (!probe->asks)
		return PG_DETOAST_DATUM(datum);
	old = MemoryContextSwitchTo(probe->context);
	value = PG_DETOAST_DATUM_COPY(datum);
	MemoryContextSwitchTo(old);
	return value;
}

/* Copy the candidates of a flat value. */
static pg_noinline void
copy_candidates(TopProbe *probe, Datum datum)
{
	struct varlena *value;
	qs_top view;

	probe->flat = NULL;
	probe->stored.seen = false;
	MemoryContextReset(probe->context);
	value = whole_value(probe, datum);
	TopOpen(&view, &probe->sketch, value);
	SketchCheck(qs_top_copy(&probe->top, &view, ContextMemory(probe->context, &probe->memory)));
	probe->keys = probe->sketch.keys;
	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		StoredIdNote(&probe->stored, datum);
	else if (probe->asks)
		probe->flat = value;
	else
	{
		probe->flat = MemoryContextAllocHuge(probe->context, VARSIZE(value));
		memcpy(probe->flat, value, VARSIZE(value));
	}
	if (!probe->asks && (Pointer) value != DatumGetPointer(datum))
		pfree(value);
}

/* Fingerprint of the key argument.  A literal is read as a key of the list's kind. */
static uint64
key_argument(FunctionCallInfo fcinfo, TopProbe *probe, const qb_keys *held)
{
	Datum value = PG_GETARG_DATUM(KEY_ARGUMENT);

	if (likely(KeyFits(&probe->key, held)))
		return KeyFingerprint(&probe->key, value);
	if (!probe->literal)
		KeyFamilyCheckProbe(held, &probe->key, &top_key_holder);
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), held, &top_key_holder,
					   &probe->key, value);
}

/* Find the list and the key of a call.  "asks": the sketch will be asked. */
static TopCall
read_call(FunctionCallInfo fcinfo, bool asks)
{
	Datum datum = PG_GETARG_DATUM(0);
	TopProbe *probe = fcinfo->flinfo->fn_extra;
	TopState *expanded = TopStateIn(datum);
	TopCall call;

	if (unlikely(probe == NULL))
		probe = create_probe(fcinfo, asks);
	if (expanded && (expanded->keyed.buffer.count > 0 || expanded->removed))
		TopSettle(expanded);
	if (!expanded && !is_known(probe, datum))
		copy_candidates(probe, datum);
	call.top = expanded ? &expanded->top : &probe->top;
	call.sketch = expanded ? &expanded->sketch : &probe->sketch;
	call.fingerprint =
		key_argument(fcinfo, probe, expanded ? &expanded->sketch.keys : &probe->keys);
	return call;
}

/* qtop_has(qtop, key) */
PG_FUNCTION_INFO_V1(qtop_has);
Datum
qtop_has(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, false);

	PG_RETURN_BOOL(qs_top_lookup(call.top, call.fingerprint) != NULL);
}

/* qtop_estimate(qtop, key): an upper bound of the key's count or weight. */
PG_FUNCTION_INFO_V1(qtop_estimate);
Datum
qtop_estimate(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, true);

	PG_RETURN_INT64(qs_top_limits_of(call.top, call.sketch, call.fingerprint).upper);
}

/* qtop_bounds(qtop, key): a lower and an upper bound, both certain. */
PG_FUNCTION_INFO_V1(qtop_bounds);
Datum
qtop_bounds(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, true);
	qs_top_limits limits = qs_top_limits_of(call.top, call.sketch, call.fingerprint);
	Datum values[] = { Int64GetDatum(limits.lower), Int64GetDatum(limits.upper) };
	bool nulls[lengthof(values)] = { 0 };

	return ReturnRow(fcinfo, values, nulls);
}
