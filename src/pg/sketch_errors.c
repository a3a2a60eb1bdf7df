/*
 * sketch_errors.c
 *		Errors about sketches.
 *
 * src/pg/sketch_errors.c
 */
#include "pgbase/errors.h"
#include "pg/sketch_value.h"

const ValueFormat sketch_format = { "sketch", QS_FORMAT_VERSION_1, QS_HEADER_BYTES };
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

/* Raise an error unless two sketches can be merged or subtracted. */
void
SketchCheckMergeable(const qs_sketch *a, const qs_sketch *b)
{
	if (!qs_params_mergeable(&a->params, &b->params))
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("sketches differ: %s", differences(&a->params, &b->params)),
						a->params.structure != b->params.structure
							? hint_template(&a->params, &b->params)
							: errhint("Structure, depth, masks, z and seed must be equal; sizes "
									  "may differ by a power of two.")));
	KeyFamilyCheckSame(&a->keys, &b->keys, &sketch_key_holder);
}
