/*
 * status.c
 *		Words for status codes.
 *
 * src/base/status.c
 */
#include "base/status.h"

const char *
qs_status_text(qs_status status)
{
	switch (status)
	{
		case QS_OK:
			return "no error";
		case QS_NO_MEMORY:
			return "out of memory";
		case QS_TOTAL_OVERFLOW:
			return "total weight out of range";
		case QS_UNDERFLOW:
			return "a counter would fall below zero";
		case QS_MISMATCH:
			return "different parameters";
		case QS_NO_FOLD:
			return "size is not reachable by halving";
		case QS_READ_ONLY:
			return "the device part takes no keys";
		case QS_WRONG_PART:
			return "wrong part of an sf sketch";
		case QS_BAD_STRUCTURE:
			return "unrecognized structure";
		case QS_BAD_SIZE:
			return "size out of range";
		case QS_BAD_DEPTH:
			return "depth out of range";
		case QS_BAD_Z:
			return "z out of range";
		case QS_BAD_MASKS:
			return "number of masks out of range";
		case QS_BAD_PRESET:
			return "unrecognized preset";
		case QS_BAD_ROWS:
			return "number of rows out of range";
		case QS_BAD_FREQUENCY:
			return "frequency out of range";
		case QS_BAD_ERROR:
			return "error out of range";
		case QS_BAD_HASHES:
			return "number of hashes out of range";
		case QS_BAD_RATE:
			return "false positive rate out of range";
		case QS_BAD_LAYOUT:
			return "unrecognized layout";
		case QS_FORMAT_SHORT:
			return "shorter than its header";
		case QS_FORMAT_MAGIC:
			return "wrong magic bytes";
		case QS_FORMAT_VERSION:
			return "unsupported format version";
		case QS_FORMAT_PARAMS:
			return "parameters out of range";
		case QS_FORMAT_RESERVED:
			return "reserved bits are not zero";
		case QS_FORMAT_LENGTH:
			return "length does not fit the parameters";
		case QS_FORMAT_CRC:
			return "checksum does not match";
		case QS_FORMAT_ENTRIES:
			return "entries are not sorted, positive and complete";
		case QS_FORMAT_COUNTERS:
			return "counters contradict the total weight";
		case QS_CANCELLED:
			return "cancelled";
		case QS_TOO_MANY:
			return "too many sets or elements";
		case QS_BAD_FILTER:
			return "filter out of range";
		case QS_BAD_METHOD:
			return "unrecognized method";
		case QS_NO_ROOM:
			return "more memory needed than allowed";
		case QS_FORMAT_BITS:
			return "bits contradict their number";
		case QS_DEVICE_ERROR:
			return "device error";
	}
	return "unrecognized status";
}
