/*
 * errors.c
 *		Status codes of sketches and engines as errors of PostgreSQL.
 *
 * src/pg/errors.c
 */
#include "pg/sketch_value.h"
#include "pg/keytype.h"

/* Error codes for what an operation can return. */
static int
sqlstate_of(qs_status status)
{
	switch (status)
	{
		case QS_NO_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case QS_TOTAL_OVERFLOW:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case QS_UNDERFLOW:
		case QS_MISMATCH:
			return ERRCODE_DATA_EXCEPTION;
		case QS_READ_ONLY:
		case QS_WRONG_PART:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		case QS_NO_FOLD:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		default:
			return ERRCODE_INTERNAL_ERROR;
	}
}

static const char *
hint_of(qs_status status)
{
	switch (status)
	{
		case QS_TOTAL_OVERFLOW:
			return "The sum of all weights of a sketch is at most 9223372036854775807.";
		case QS_UNDERFLOW:
			return "Remove or subtract only what was added before, with the same weight.";
		case QS_READ_ONLY:
			return "Add to and subtract from the full sketch or its host part.";
		default:
			return NULL;
	}
}

/* Raise the error of a status unless it is QS_OK. */
void
SketchCheck(qs_status status)
{
	const char *hint = hint_of(status);

	if (status != QS_OK)
		ereport(ERROR, (errcode(sqlstate_of(status)),
						errmsg("cannot change sketch: %s", qs_status_text(status)),
						hint ? errhint("%s", hint) : 0));
}

/* The weight, which must have a negative. */
int64
SketchCheckWeight(int64 weight)
{
	if (unlikely(weight == PG_INT64_MIN))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("weight " INT64_FORMAT " is out of range", weight)));
	return weight;
}

static char *
describe(const qs_params *p)
{
	static const char *const part[] = { "", " device part", " host part" };

	return psprintf("%s%s (" UINT64_FORMAT " buckets, depth %d, %u masks, z %d, seed " INT64_FORMAT
					")",
					qs_structure_name(p->structure), part[p->part], p->n, p->depth,
					qs_mask_count(p), p->z, (int64) p->seed);
}

/* The call that makes a sketch of this structure and size, as one would write it. */
static char *
template_of(const qs_params *p)
{
	uint64 bytes = qs_unit_bytes(p) * p->n;
	const char *unit = "";

	if (bytes % (1 << 20) == 0)
	{
		bytes >>= 20;
		unit = "MB";
	}
	else if (bytes % (1 << 10) == 0)
	{
		bytes >>= 10;
		unit = "kB";
	}
	return psprintf("qsketch_new('%s', '" UINT64_FORMAT "%s')", qs_structure_name(p->structure),
					bytes, unit);
}

/*
 * Structures differ mostly where sketches were stored while another one was
 * the default: say how to go on with these.
 */
static void
check_same_structure(const qs_params *a, const qs_params *b)
{
	qs_params preset;

	if (a->structure == b->structure)
		return;
	SketchDefaultParams(&preset);
	ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("cannot combine sketches of structures %s and %s",
						   qs_structure_name(a->structure), qs_structure_name(b->structure)),
					errhint("To go on with stored sketches of another structure than the default, "
							"%s, give qsketch_agg a template: %s.",
							qs_structure_name(preset.structure),
							template_of(a->structure == preset.structure ? b : a))));
}

/* Raise an error unless two sketches can be merged or subtracted. */
void
SketchCheckMergeable(const qs_sketch *a, const qs_sketch *b)
{
	check_same_structure(&a->params, &b->params);
	if (!qs_params_mergeable(&a->params, &b->params))
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("different sketch parameters: %s and %s", describe(&a->params),
							   describe(&b->params)),
						errhint("Structure, depth, masks, z and seed must be equal; numbers of "
								"buckets may differ by a power of two.")));
	if (a->family != 0 && b->family != 0)
		KeyFamilyCheckSame(a, b);
}

/* Raise the error of bytes that are no sketch. */
void
SketchBadFormat(qs_status status, int sqlstate, const uint8 *bytes, Size length)
{
	if (status == QS_FORMAT_VERSION)
		ereport(ERROR,
				(errcode(sqlstate), errmsg("unsupported sketch format version %d", bytes[3]),
				 errdetail("This version of qsketch reads version %d.", QS_FORMAT_VERSION_1)));
	ereport(ERROR, (errcode(sqlstate), errmsg("invalid sketch: %s", qs_status_text(status)),
					errdetail("The value has %llu bytes.", (unsigned long long) length)));
}
