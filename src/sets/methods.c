/*
 * methods.c
 *		The methods' names.
 *
 * src/sets/methods.c
 */
#include "sets/methods.h"

static const char *const names[QI_METHODS] = {
	"auto", "merge", "search", "merge_search", "hash", "merge_hash", "bitmap", "index", "hybrid",
};

const char *
qi_method_name(int method)
{
	return method >= 0 && method < QI_METHODS ? names[method] : NULL;
}

int
qi_method_of(const char *name)
{
	int i;

	for (i = 0; i < QI_METHODS; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}
