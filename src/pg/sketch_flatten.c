/*
 * sketch_flatten.c
 *		The state of an aggregate as bytes: a value, a ticket, or tables for another process.
 *
 * A sketch that is only written needs no tables.  Keys that wait in the buffer are written in
 * compact form, and go on waiting.
 *
 * src/pg/sketch_flatten.c
 */
#include "pg/sketch_state.h"

#include "engine/sketch_from_keys.h"
#include "gpu/sketch_gpu.h"
#include "pgbase/stat.h"
#include "pgbase/state_ticket.h"

void
SketchFreeMade(SketchState *expanded)
{
	if (expanded->made.compact)
		expanded->made.memory->release(expanded->made.memory->context,
									   (void *) (uintptr_t) expanded->made.compact);
	expanded->made.compact = NULL;
}

/* What the flat form of a state is. */
typedef enum FlatForm
{
	FLAT_VALUE,
	FLAT_TICKET,       /* for the process itself */
	FLAT_DEVICE_TICKET /* for the process, or for the leader of this worker */
} FlatForm;

static FlatForm
flat_form(const SketchState *expanded)
{
	if (!expanded->keyed.ticket)
		return FLAT_VALUE;
	if (expanded->sketch.remote)
		return FLAT_DEVICE_TICKET;
	return StateTakesTicket(&expanded->keyed) ? FLAT_TICKET : FLAT_VALUE;
}

/*
 * Write the keys that wait, and those of an explicit sketch, in compact form.  False: the keys
 * have to be counted first.
 */
static bool
make_of_keys(SketchState *expanded)
{
	const KeyBuffer *buffer = &expanded->keyed.buffer;
	bool made;

	if (buffer->count == 0 || expanded->waiting || expanded->removed || expanded->keyed.counting ||
		expanded->engine != &qs_engine_cpu)
		return false;
	made = qs_compact_from_keys(
		&expanded->made, ContextMemory(expanded->keyed.header.eoh_context, &expanded->made_memory),
		&expanded->sketch, buffer->fingerprint, buffer->weight, buffer->count);
	if (made && expanded->counted < buffer->count)
	{
		StatCountBatch(false, buffer->count - expanded->counted);
		expanded->counted = buffer->count;
	}
	return made;
}

Size
SketchFlattenSize(ExpandedObjectHeader *header)
{
	SketchState *expanded = (SketchState *) header;

	SketchFreeMade(expanded);
	if (flat_form(expanded) == FLAT_VALUE && make_of_keys(expanded))
		return SketchFlatSize(&expanded->made, NULL, &expanded->flat);
	SketchFlush(expanded);
	switch (flat_form(expanded))
	{
		case FLAT_TICKET:
			return StateTicketSize();
		case FLAT_DEVICE_TICKET:
			return GpuTicketSize();
		default:
			SketchSettle(expanded);
			return SketchFlatSize(&expanded->sketch, SketchMarks(expanded), &expanded->flat);
	}
}

void
SketchFlattenInto(ExpandedObjectHeader *header, void *result, Size size)
{
	SketchState *expanded = (SketchState *) header;

	if (expanded->made.compact)
	{
		SketchWrite(&expanded->made, &expanded->flat, result);
		SketchFreeMade(expanded);
		return;
	}
	switch (flat_form(expanded))
	{
		case FLAT_TICKET:
			StateTicketWrite(&expanded->keyed, result);
			break;
		case FLAT_DEVICE_TICKET:
			GpuWriteTicket(&expanded->sketch, result);
			break;
		default:
			SketchWrite(&expanded->sketch, &expanded->flat, result);
	}
}

/* A sketch has few keys if its buckets are more than this many times its weight. */
#define BUCKETS_OF_FEW 8

/*
 * Another process gets the tables as they are: choosing, writing and reading the compact
 * form takes longer, unless most buckets are surely empty.
 */
Size
SketchPassBytes(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;
	const qs_sketch *sketch = &expanded->sketch;

	SketchSettle(expanded);
	if ((uint64) sketch->total < sketch->params.n / BUCKETS_OF_FEW)
		return SketchFlatSize(sketch, NULL, &expanded->flat);
	return SketchTablesSize(sketch, &expanded->flat);
}

void
SketchPass(KeyedState *state, void *place, Size bytes)
{
	SketchState *expanded = (SketchState *) state;

	SketchWrite(&expanded->sketch, &expanded->flat, place);
}
