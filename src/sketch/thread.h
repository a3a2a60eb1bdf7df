/*
 * thread.h
 *		The thread sketch: Count-Min with d independent rows.
 *
 * src/sketch/thread.h
 */
#ifndef QS_THREAD_H
#define QS_THREAD_H

#include "sketch/sketch.h"

extern const qs_ops qs_thread_ops;

#endif
