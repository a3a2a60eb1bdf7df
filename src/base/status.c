/*
 * status.c
 *		Words for status codes.
 *
 * src/base/status.c
 */
#include "base/status.h"

static const char *const texts[] = {
	[QS_OK] = "no error",
	[QS_NO_MEMORY] = "out of memory",
	[QS_TOTAL_OVERFLOW] = "total weight out of range",
	[QS_UNDERFLOW] = "a counter would fall below zero",
	[QS_MISMATCH] = "different parameters",
	[QS_NO_FOLD] = "size is not reachable by halving",
	[QS_READ_ONLY] = "the device part takes no keys",
	[QS_WRONG_PART] = "wrong part of an sf sketch",
	[QS_BAD_STRUCTURE] = "unrecognized structure",
	[QS_BAD_SIZE] = "size out of range",
	[QS_BAD_DEPTH] = "depth out of range",
	[QS_BAD_Z] = "z out of range",
	[QS_BAD_MASKS] = "number of masks out of range",
	[QS_BAD_PRESET] = "unrecognized preset",
	[QS_BAD_ROWS] = "number of rows out of range",
	[QS_BAD_FREQUENCY] = "frequency out of range",
	[QS_BAD_ERROR] = "error out of range",
	[QS_BAD_HASHES] = "number of hashes out of range",
	[QS_BAD_RATE] = "false positive rate out of range",
	[QS_BAD_LAYOUT] = "unrecognized layout",
	[QS_FORMAT_SHORT] = "shorter than its header",
	[QS_FORMAT_MAGIC] = "wrong magic bytes",
	[QS_FORMAT_VERSION] = "unsupported format version",
	[QS_FORMAT_PARAMS] = "parameters out of range",
	[QS_FORMAT_RESERVED] = "reserved bits are not zero",
	[QS_FORMAT_LENGTH] = "length does not fit the parameters",
	[QS_FORMAT_CRC] = "checksum does not match",
	[QS_FORMAT_ENTRIES] = "entries are not sorted, positive and complete",
	[QS_FORMAT_COUNTERS] = "counters contradict the total weight",
	[QS_FORMAT_BITS] = "bits contradict their number",
	[QS_CANCELLED] = "cancelled",
	[QS_TOO_MANY] = "too many sets or elements",
	[QS_BAD_FILTER] = "filter out of range",
	[QS_BAD_METHOD] = "unrecognized method",
	[QS_NO_ROOM] = "more memory needed than allowed",
	[QS_DEVICE_ERROR] = "device error",
};

_Static_assert(sizeof(texts) / sizeof(texts[0]) == QS_STATUSES, "a status has no text");

const char *
qs_status_text(qs_status status)
{
	return (unsigned) status < QS_STATUSES ? texts[status] : "unrecognized status";
}
