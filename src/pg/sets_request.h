/*
 * sets_request.h
 *		What the arguments of functions on pairs of sets ask for.
 *
 * src/pg/sets_request.h
 */
#ifndef QS_PG_SETS_REQUEST_H
#define QS_PG_SETS_REQUEST_H

#include "pg/sets_expanded.h"

#include "sets/pairs.h"

/* Where the arguments begin that all forms of such a function have. */
typedef struct SetsForm
{
	int columns; /* argument: the other collection, or 0 */
	int options; /* argument: min_count; min_jaccard, top and method follow */
} SetsForm;

/*
 * The request, and the collections that it is asked of: open until
 * SetsRequestEnd(), with two readers where the form has a second collection.
 */
extern void
SetsRequestRead(FunctionCallInfo fcinfo, SetsForm form, qi_request *request, SetsReader *reader);
extern void SetsRequestEnd(SetsForm form, SetsReader *reader);

#endif
