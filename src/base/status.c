/*
 * status.c
 *		Texts of status codes.
 *
 * src/base/status.c
 */
#include "base/status.h"

static const char *const texts[] = {
	[QB_OK] = "no error",
	[QB_NO_MEMORY] = "out of memory",
	[QB_TOTAL_OVERFLOW] = "total weight out of range",
	[QB_UNDERFLOW] = "a counter would fall below zero",
	[QB_MISMATCH] = "different parameters or kinds of keys",
	[QB_NO_FOLD] = "size is not reachable by halving",
	[QB_READ_ONLY] = "the device part takes no keys",
	[QB_WRONG_PART] = "wrong part of an sf sketch",
	[QB_BAD_STRUCTURE] = "unrecognized structure",
	[QB_BAD_SIZE] = "size out of range",
	[QB_BAD_DEPTH] = "depth out of range",
	[QB_BAD_Z] = "z out of range",
	[QB_BAD_MASKS] = "number of masks out of range",
	[QB_BAD_PRESET] = "unrecognized preset",
	[QB_BAD_ROWS] = "number of rows out of range",
	[QB_BAD_FREQUENCY] = "frequency out of range",
	[QB_BAD_ERROR] = "error out of range",
	[QB_BAD_HASHES] = "number of hashes out of range",
	[QB_BAD_RATE] = "false positive rate out of range",
	[QB_BAD_LAYOUT] = "unrecognized layout",
	[QB_FORMAT_SHORT] = "shorter than its header",
	[QB_FORMAT_MAGIC] = "wrong magic bytes",
	[QB_FORMAT_VERSION] = "unsupported format version",
	[QB_FORMAT_PARAMS] = "parameters out of range",
	[QB_FORMAT_RESERVED] = "reserved bits are not zero",
	[QB_FORMAT_LENGTH] = "length does not fit the parameters",
	[QB_FORMAT_CRC] = "checksum does not match",
	[QB_FORMAT_ENTRIES] = "entries are not sorted, positive and complete",
	[QB_FORMAT_COUNTERS] = "counters contradict the total weight",
	[QB_FORMAT_BITS] = "bits contradict their number",
	[QB_CANCELLED] = "cancelled",
	[QB_TOO_MANY] = "too many sets or elements",
	[QB_BAD_FILTER] = "filter out of range",
	[QB_BAD_METHOD] = "unrecognized method",
	[QB_NO_ROOM] = "more memory needed than allowed",
	[QB_DEVICE_ERROR] = "device error",
};

_Static_assert(sizeof(texts) / sizeof(texts[0]) == QB_STATUSES, "a status has no text");

const char *
qb_status_text(qb_status status)
{
	return (unsigned) status < QB_STATUSES ? texts[status] : "unrecognized status";
}
