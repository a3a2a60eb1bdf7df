/*
 * sketch_errors.c
 *		Errors about sketches.
 *
 * src/pg/sketch_errors.c
 */
#include "pgbase/errors.h"
#include "pg/sketch_value.h"

const KeyHolder sketch_key_holder = { "sketch", "sketches", "qsketch_estimate_key" };

static const char *
hint_of(qb_status status)
{
	switch (status)
	{
		case QB_TOTAL_OVERFLOW:
			return "The sum of all weights of a sketch is at most 9223372036854775807.";
		case QB_UNDERFLOW:
			return "Remove or subtract only what was added before, with the same weight.";
		case QB_READ_ONLY:
			return "Add to and subtract from the full sketch or its host part.";
		default:
			return NULL;
	}
}

/* Raise the error of a status unless it is QB_OK. */
void
SketchCheck(qb_status status)
{
	if (unlikely(status != QB_OK))
		StatusRaise(status, sketch_key_holder.one, hint_of(status));
}

/* Raise the error of removing weights from an aggregate's state, unless the status is QB_OK. */
void
SketchCheckRemoved(qb_status status)
{
	if (status == QB_UNDERFLOW)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION), errmsg("weights of a key sum to less than zero"),
			 errhint(
				 "They must not do so within the rows of one worker of a parallel plan, or of one "
				 "shard. Have each key's rows counted together: set "
				 "max_parallel_workers_per_gather to 0, or write ORDER BY inside of the "
				 "aggregate, which is then not split.")));
	SketchCheck(status);
}

/* Raise the error for a weight whose negative is no bigint. */
void
SketchBadWeight(int64 weight)
{
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("weight " INT64_FORMAT " is out of range", weight)));
}

static const char *
structure_of(const qs_params *p)
{
	static const char *const part[] = { "", " device part", " host part" };

	return psprintf("%s%s", qs_structure_name(p->structure), part[p->part]);
}

/* The size of a sketch, as qsketch_new() takes it. */
const char *
SketchSizeText(const qs_params *p)
{
	return TextOfSize(qs_unit_bytes(p) * p->n);
}

/* A list of the parameters in which two sketches differ, with both values. */
static char *
differences(const qs_params *a, const qs_params *b)
{
	bool same_structure = a->structure == b->structure && a->part == b->part;
	StringInfoData text;

	initStringInfo(&text);
	AppendDifference(&text, "structure", structure_of(a), structure_of(b));
	AppendDifference(&text, "size", SketchSizeText(a), SketchSizeText(b));
	AppendDifference(&text, "depth", psprintf("%d", a->depth), psprintf("%d", b->depth));
	if (same_structure)
	{
		AppendDifference(&text, "masks", psprintf("%u", qs_mask_count(a)),
						 psprintf("%u", qs_mask_count(b)));
		AppendDifference(&text, "z", psprintf("%d", a->z), psprintf("%d", b->z));
	}
	AppendDifference(&text, "seed", psprintf(INT64_FORMAT, (int64) a->seed),
					 psprintf(INT64_FORMAT, (int64) b->seed));
	return text.data;
}

/*
 * A hint for sketches of different structures.  Mostly some were stored while another
 * structure was the default.  The hint says how to make new sketches that fit them.
 */
static int
hint_template(const qs_params *a, const qs_params *b)
{
	const qs_params *old = a->structure == SKETCH_DEFAULT_STRUCTURE ? b : a;

	return errhint("To go on with stored sketches of another structure than the default, %s, give "
				   "qsketch_agg a template: qsketch_new('%s', '%s').",
				   qs_structure_name(SKETCH_DEFAULT_STRUCTURE), qs_structure_name(old->structure),
				   SketchSizeText(old));
}

/* A hint for sketches that differ in size alone, or in what no function can change. */
static int
hint_size(const qs_params *a, const qs_params *b)
{
	if (qs_params_fold(a, b) || qs_params_fold(b, a))
		return errhint("Fold the larger one: qsketch_fold(sketch, '%s').",
					   SketchSizeText(a->n < b->n ? a : b));
	return errhint("Make all sketches with one template: structure, size, depth, masks, z and seed "
				   "must be equal.");
}

/* Raise the error of sketches with different parameters. */
static void
raise_differences(const qs_params *a, const qs_params *b)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION), errmsg("sketches differ: %s", differences(a, b)),
			 a->structure != b->structure ? hint_template(a, b) : hint_size(a, b)));
}

/* Raise an error unless two sketches can be merged or subtracted. */
void
SketchCheckMergeable(const qs_sketch *a, const qs_sketch *b)
{
	if (!qs_params_mergeable(&a->params, &b->params))
		raise_differences(&a->params, &b->params);
	KeyFamilyCheckSame(&a->keys, &b->keys, &sketch_key_holder);
}

/* Raise an error unless two sketches have a product, for which they may differ in size. */
void
SketchCheckProduct(const qs_sketch *a, const qs_sketch *b)
{
	if (!qs_params_fold(&a->params, &b->params) && !qs_params_fold(&b->params, &a->params))
		raise_differences(&a->params, &b->params);
	KeyFamilyCheckSame(&a->keys, &b->keys, &sketch_key_holder);
}

/* Raise the error for bytes that are not a sketch. */
void
SketchBadFormat(qb_status status, int sqlstate, const uint8 *bytes, Size length)
{
	StatusRaiseFormat(status, sqlstate, sketch_key_holder.one, QS_FORMAT_VERSION_1, bytes, length);
}
