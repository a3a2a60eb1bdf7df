/*
 * methods.c
 *		The methods' names.
 *
 * src/sets/methods.c
 */
#include "sets/methods.h"

static const char *const names[QSET_METHODS] = {
	"auto", "merge", "search", "merge_search", "hash", "merge_hash", "bitmap", "index", "hybrid",
};

const char *
qset_method_name(int method)
{
	return method >= 0 && method < QSET_METHODS ? names[method] : NULL;
}

int
qset_method_of(const char *name)
{
	int i;

	for (i = 0; i < QSET_METHODS; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}
