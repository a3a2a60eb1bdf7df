/*
 * module.c
 *		The loadable module.
 *
 * src/pg/module.c
 */
#include "pg/glue.h"

PG_MODULE_MAGIC;
