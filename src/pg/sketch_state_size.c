/*
 * sketch_state_size.c
 *		How much memory a sketch of a group takes, for the planner.
 *
 * src/pg/sketch_state_size.c
 */
#include "pg/sketch_state.h"
#include "pg/sketch_state_size.h"
#include "pgbase/state_size.h"

/* Bytes of a key in the explicit form, whose table is half full, and in the buffer. */
#define EXPLICIT_KEY (2 * sizeof(qs_entry) + sizeof(uint64))

/* Parameters of the sketches: those of the template, or the defaults. */
static void
params_of(const Const *template, qs_params *params)
{
	SketchReader reader;

	SketchDefaultParams(params);
	if (template == NULL)
		return;
	SketchReadAsStored(&reader, template->constvalue);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
}

/*
 * Bytes of the state of a group with so many distinct keys.  The template is NULL if it
 * is not known.
 */
double
SketchStateSpace(const Const *template, double keys)
{
	qs_params params;

	params_of(template, &params);
	if (keys <= qs_explicit_limit(&params))
		return sizeof(SketchState) + keys * EXPLICIT_KEY;
	return sizeof(SketchState) + qs_dense_size(&params, false) +
		   qs_mask_count(&params) * sizeof(uint32) + QS_BATCH * sizeof(uint64);
}

static double
state_space(const Const *template, double keys, double rows)
{
	return SketchStateSpace(template, keys);
}

SQL_FUNCTION(qsketch_support, StateSizeSupport(fcinfo, state_space));

/* _qsketch_combine_support(internal): of the combine functions of sketches, top keys and filters. */
SQL_FUNCTION(qsketch_combine_support, StateCombineSupport(fcinfo));
