/*
 * ticket.h
 *		Tickets: short varlenas that stand for a partial state.
 *
 * A ticket goes to the combine function in place of the state.  It is a value, so it says
 * nothing but a random number.  What that number stands for, and for whom, is known
 * elsewhere: gpu/sketch_ticket.c, state_ticket.c.  Each kind of ticket has a magic of its
 * own.  No value of our types is as short as a ticket and begins with such a magic.
 *
 * src/pgbase/ticket.h
 */
#ifndef QS_PGBASE_TICKET_H
#define QS_PGBASE_TICKET_H

#include "pgbase/version.h"

typedef struct TicketMagic
{
	char bytes[4];
} TicketMagic;

typedef struct TicketNumber
{
	uint64 half[2];
} TicketNumber;

typedef struct Ticket
{
	char length[VARHDRSZ];
	TicketMagic magic;
	TicketNumber number;
} Ticket;

/* A number that nobody can guess. */
static inline TicketNumber
TicketDraw(void)
{
	TicketNumber number;

	if (!pg_strong_random(&number, sizeof(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bytes")));
	return number;
}

/* Write sizeof(Ticket) bytes. */
static inline void
TicketWrite(TicketMagic magic, TicketNumber number, struct varlena *out)
{
	Ticket ticket = { .magic = magic, .number = number };

	memcpy(out, &ticket, sizeof(ticket));
	SET_VARSIZE(out, sizeof(ticket));
}

static inline bool
TicketIs(TicketMagic magic, Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Ticket) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), &magic, sizeof(magic)) == 0;
}

/* The number of a ticket. */
static inline TicketNumber
TicketRead(Datum ticket)
{
	TicketNumber number;

	memcpy(&number, VARDATA_ANY(DatumGetPointer(ticket)) + sizeof(TicketMagic), sizeof(number));
	return number;
}

/* Raise the error of a ticket that stands for nothing, or for nothing of this process. */
static inline void
TicketGone(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("partial state of a parallel query is not there"),
					errdetail("It can be used once, by the query that made it.")));
}

#endif
