/*
 * peers_pglz.c
 *		Computes how many bytes PostgreSQL stores for a value, with PostgreSQL's compression.
 *
 * A value that is too large for a row is stored outside of the row, compressed by pglz if this
 * saves at least a quarter.  pg_column_size() counts the compressed data, and four bytes for their
 * length.  Of the files of this benchmark, only this file includes PostgreSQL's headers.
 *
 * bench/peers_pglz.c
 */
#include "postgres_fe.h"

#include "common/pg_lzcompress.h"

extern uint64_t peer_stored_bytes(const uint8_t *bytes, size_t size);

#define LENGTH_BYTES 4

uint64_t
peer_stored_bytes(const uint8_t *bytes, size_t size)
{
	char *packed = malloc(PGLZ_MAX_OUTPUT((int32) size));
	int32 length;

	if (!packed)
		abort();
	length = pglz_compress((const char *) bytes, (int32) size, packed, PGLZ_strategy_default);
	free(packed);
	return length >= 0 && (size_t) length + LENGTH_BYTES < size ? (uint64_t) length + LENGTH_BYTES
																: size;
}
