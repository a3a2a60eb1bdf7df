/*
 * sketch_template.c
 *		States of the aggregates of sketches: how they begin, and their template.
 *
 * The state is an expanded qsketch in the aggregate's context.  Partial states travel as
 * ordinary values, unless tickets stand for them: for states on a device, and without
 * groups for one that its own process combines (pgbase/state_ticket.c).  The final
 * function returns a read-only pointer to the state, so
 * qsketch_estimate(qsketch_agg(k), 42) reads it in place.  NULL means that nothing was
 * counted yet, or in a moving aggregate, whose state must not be NULL, something that is
 * no state (AggregateUnchanged()).
 *
 * src/pg/sketch_template.c
 */
#include "pg/sketch_template.h"

/* Prepare a new state for the calling node.  "functions" are those that may change it. */
SketchState *
SketchStateStart(FunctionCallInfo fcinfo, SketchState *state, const AggregateFunctions *functions)
{
	(void) AggregateMoves(fcinfo);
	SketchPlace(state);
	if (state->engine != &qs_engine_cpu || AggregateIsAlone(fcinfo))
		state->keyed.ticket = AggregatePasses(fcinfo, functions);
	state->keyed.accounted = AggregateIsHashed((AggState *) fcinfo->context);
	return state;
}

/* Parameters of a template.  Counts in it do not matter. */
void
SketchReadTemplate(Datum template, bool null, qs_params *params)
{
	SketchReader reader;

	if (null)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("template of a sketch must not be null")));
	SketchReadAsStored(&reader, template);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
	SketchCheck(params->part == QS_PART_DEVICE ? QB_READ_ONLY : QB_OK);
}

/* Parameters of the template argument, or the defaults without one. */
void
SketchTemplateParams(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params)
{
	if (form.template == 0)
		SketchDefaultParams(params);
	else
		SketchReadTemplate(PG_GETARG_DATUM(form.template), PG_ARGISNULL(form.template), params);
}

/* Raise an error unless two rows or states have the same template. */
void
SketchCheckParams(const qs_params *a, const qs_params *b)
{
	if (memcmp(a, b, sizeof(*a)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("template differs between rows of one group"),
						errhint("Group by the template, or use one for all rows.")));
}

/*
 * Bytes that identify the template: its header, or its toast pointer if it is stored
 * out of line.  NULL for other forms.
 */
static pg_attribute_always_inline const char *
template_mark(FunctionCallInfo fcinfo, AggregateForm form, Size *length)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(form.template));

	if (PG_ARGISNULL(form.template))
		return NULL;
	*length = QS_HEADER_BYTES;
	if (VARATT_IS_4B_U(template))
		return VARDATA(template);
	if (!VARATT_IS_EXTERNAL_ONDISK(template))
		return NULL;
	*length = VARSIZE_EXTERNAL(template);
	return template;
}

/*
 * All rows of a group must have the same template, or the result would depend on the
 * plan.  A template is nearly always a constant, or a stored sketch.  Its mark shows at
 * little cost that it is the template of the row before.
 */
void
SketchCheckTemplate(FunctionCallInfo fcinfo, AggregateForm form, const qs_params *expected,
					uint8 *mark_before)
{
	Size length;
	const char *mark = template_mark(fcinfo, form, &length);
	qs_params params;

	if (mark && memcmp(mark, mark_before, length) == 0)
		return;
	SketchTemplateParams(fcinfo, form, &params);
	SketchCheckParams(&params, expected);
	if (mark)
		memcpy(mark_before, mark, length);
}

/* Has nothing been counted yet? */
bool
SketchStateIsInitial(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || (AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW &&
							   !VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(PG_GETARG_DATUM(0))));
}
