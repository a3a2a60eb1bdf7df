/*
 * multilevel.h
 *		The multilevel sketch: one-byte counters that overflow into high buckets.
 *
 * src/sketch/multilevel.h
 */
#ifndef QS_MULTILEVEL_H
#define QS_MULTILEVEL_H

#include "sketch/multilevel_buckets.h"

extern const qs_ops qs_multilevel_ops;

#endif
