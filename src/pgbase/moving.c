/*
 * moving.c
 *		Which functions get the state of a moving aggregate.
 *
 * The executor hands a state out, to be changed in place, to the function that adds a row
 * to a window frame and to the one that removes a row.  If the other of the two is not
 * ours, it must not get our state: PL/pgSQL would keep the state, and free it.
 *
 * The catalog does not say what the other function is.  The owner of an aggregate can
 * replace its functions while a query runs, and the query goes on calling those that it
 * looked up when it began.  So these are asked, where the executor keeps them.
 *
 * src/pgbase/moving.c
 */
#include "pgbase/moving.h"

#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

/*
 * What the executor looked up for a moving aggregate: the beginning of WindowStatePerAggData
 * in nodeWindowAgg.c, of which node->peragg is an array.  In a version of PostgreSQL that
 * keeps them in another way, functions and OIDs do not fit (is_of()), and all moving
 * aggregates are refused, those of the extension, too.
 */
typedef struct MovingFunctions
{
	Oid oid_in;
	Oid oid_out;
	Oid oid_final; /* may be InvalidOid */
	FmgrInfo in;
	FmgrInfo out;
	FmgrInfo final;
} MovingFunctions;

/* Is it what the node keeps of one of its aggregates? */
static bool
is_of(const WindowAggState *node, const MovingFunctions *moving)
{
	const char *all = (const char *) node->peragg;
	const char *end = all + GetMemoryChunkSpace(node->peragg);

	return (const char *) moving >= all && (const char *) (moving + 1) <= end &&
		   moving->oid_in == moving->in.fn_oid && moving->oid_out == moving->out.fn_oid &&
		   moving->oid_final == moving->final.fn_oid;
}

/* The functions of the aggregate that calls one of them; NULL: they are not known. */
static const MovingFunctions *
functions_of(const WindowAggState *node, const FmgrInfo *called)
{
	const char *place = (const char *) called;
	const MovingFunctions *moving;

	moving = (const MovingFunctions *) (place - offsetof(MovingFunctions, in));
	if (is_of(node, moving))
		return moving;
	moving = (const MovingFunctions *) (place - offsetof(MovingFunctions, out));
	return is_of(node, moving) ? moving : NULL;
}

/* An aggregate that does not move has no context of its own, and one function for its state. */
void
CheckMoving(FunctionCallInfo fcinfo, const AggregateFunctions *functions)
{
	const WindowAggState *node = (const WindowAggState *) fcinfo->context;
	const MovingFunctions *moving;

	if (!IsA(node, WindowAggState) || node->curaggcontext == node->aggcontext)
		return;
	moving = functions_of(node, fcinfo->flinfo);
	if (moving && ChangesStates(functions, moving->in.fn_addr) &&
		ChangesStates(functions, moving->out.fn_addr))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("moving aggregate mixes functions of qsketch with others"),
			 moving ? errdetail("Its functions are %s and %s.", format_procedure(moving->oid_in),
								format_procedure(moving->oid_out))
					: 0,
			 errhint("MSFUNC and MINVFUNC must both be functions of qsketch, or neither.")));
}
