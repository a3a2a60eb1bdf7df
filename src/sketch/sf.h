/*
 * sf.h
 *		The sf sketch: slim table on the device, fat table on the host.
 *
 * src/sketch/sf.h
 */
#ifndef QS_SF_H
#define QS_SF_H

#include "sketch/sketch.h"

#define QS_SF_WIDTH 8

extern const qs_ops qs_sf_ops;

/* Make the slim table what the fat one says: each counter the max of its z. */
extern void qs_sf_refresh(qs_sketch *sk);

#endif
