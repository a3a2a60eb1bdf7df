/*
 * top_has.c
 *		qtop_has: is a key one of the candidates of a list?
 *
 * It is called for each row of a table, mostly with the same list.  An expanded list is
 * searched in place.  Of a flat list the candidates are copied into a hash table, once.
 * Another list is told by its toast pointer, or by its bytes: a checksum can be forged.
 *
 * src/pg/top_has.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/keyread.h"
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
	MemoryContext context; /* holds the copy */
	qb_memory memory;
	qb_keys keys;
	qs_top top;
} TopProbe;

static pg_noinline TopProbe *
create_probe(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	TopProbe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(TopProbe));
	KeyArgument key;

	KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&probe->key, key.type, key.collation);
	KeyTypeLearn(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	probe->literal = key.literal;
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

/* Copy the candidates of a flat value. */
static pg_noinline void
copy_candidates(TopProbe *probe, Datum datum)
{
	struct varlena *value = PG_DETOAST_DATUM(datum);
	qs_sketch sketch;
	qs_top view;

	probe->flat = NULL;
	probe->stored.seen = false;
	MemoryContextReset(probe->context);
	TopOpen(&view, &sketch, value);
	SketchCheck(qs_top_copy(&probe->top, &view, ContextMemory(probe->context, &probe->memory)));
	probe->keys = sketch.keys;
	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		StoredIdNote(&probe->stored, datum);
	else
	{
		probe->flat = MemoryContextAllocHuge(probe->context, VARSIZE(value));
		memcpy(probe->flat, value, VARSIZE(value));
	}
	if ((Pointer) value != DatumGetPointer(datum))
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

/* qtop_has(qtop, key) */
PG_FUNCTION_INFO_V1(qtop_has);
Datum
qtop_has(PG_FUNCTION_ARGS)
{
	Datum datum = PG_GETARG_DATUM(0);
	TopProbe *probe = fcinfo->flinfo->fn_extra;
	TopState *expanded = TopStateIn(datum);
	const qs_top *top;

	if (unlikely(probe == NULL))
		probe = create_probe(fcinfo);
	if (expanded && expanded->keyed.buffer.count > 0)
		TopSettle(expanded);
	if (!expanded && !is_known(probe, datum))
		copy_candidates(probe, datum);
	top = expanded ? &expanded->top : &probe->top;
	PG_RETURN_BOOL(
		qs_top_lookup(top, key_argument(fcinfo, probe,
										expanded ? &expanded->sketch.keys : &probe->keys)) != NULL);
}
