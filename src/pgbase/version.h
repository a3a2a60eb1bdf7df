/*
 * version.h
 *		Functions that hide differences between versions of PostgreSQL.
 *
 * Each function here has the same arguments in all versions that have it.  Most differences that
 * concern only one file are in that file.  A substitute for a facility that older versions lack is
 * also in the file that uses it.
 *
 * src/pgbase/version.h
 */
#ifndef QS_PGBASE_VERSION_H
#define QS_PGBASE_VERSION_H

#include "postgres.h"

#include "catalog/pg_proc.h"
#include "utils/acl.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

/* Return ACLCHECK_OK if the role may execute the function. */
static inline AclResult
FunctionAcl(Oid function, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE);
#else
	return pg_proc_aclcheck(function, role, ACL_EXECUTE);
#endif
}

#if PG_VERSION_NUM >= 170000

typedef void (*SegmentInit)(void *memory);

#if PG_VERSION_NUM >= 190000
static inline void
CallSegmentInit(void *memory, void *init)
{
	(*(SegmentInit *) init)(memory);
}
#endif

/* Return the named segment.  Creates and initializes a missing segment. */
static inline void *
NamedSegment(const char *name, Size size, SegmentInit init, bool *found)
{
#if PG_VERSION_NUM >= 190000
	return GetNamedDSMSegment(name, size, CallSegmentInit, found, &init);
#else
	return GetNamedDSMSegment(name, size, init, found);
#endif
}

#endif

#endif
