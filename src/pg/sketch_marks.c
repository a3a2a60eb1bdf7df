/*
 * sketch_marks.c
 *		Marks of a state that is made a value again and again, as in a moving window.
 *
 * They are made when the state is made a value for the second time.  From then on, each batch
 * of few keys corrects them.  They are true of one version of the sketch.  Whatever else changes
 * the sketch gives it another version, and the marks are made anew when they are next needed.
 *
 * src/pg/sketch_marks.c
 */
#include "pg/sketch_state.h"

#include "sketch/unit_marks.h"

static bool
are_true(const SketchState *expanded)
{
	return expanded->marks && expanded->marked == expanded->version;
}

/* The marks of a settled sketch that becomes a value; NULL: it has none. */
const uint64 *
SketchMarks(SketchState *expanded)
{
	qs_sketch *sketch = &expanded->sketch;
	bool first = !expanded->written;

	expanded->written = true;
	if (first || sketch->form != QS_DENSE || sketch->remote)
		return NULL;
	if (are_true(expanded))
		return expanded->marks;
	if (!expanded->marks)
		expanded->marks = sketch->memory->alloc(sketch->memory->context,
												qs_mark_words(&sketch->params) * sizeof(uint64));
	if (!expanded->marks)
		return NULL;
	expanded->marked = 0;
	qs_mark_all(sketch, expanded->marks);
	expanded->marked = expanded->version;
	return expanded->marks;
}

/*
 * Can the marks be corrected for so many keys that come or go now?  With more keys than words of
 * marks, making them anew takes less.
 */
bool
SketchHasMarks(const SketchState *expanded, int keys)
{
	return are_true(expanded) && expanded->engine == &qs_engine_cpu &&
		   (uint64) keys <= qs_mark_words(&expanded->sketch.params);
}

/* Correct the marks, which were true before these keys came or went. */
void
SketchMarkKeys(SketchState *expanded, const uint64 *fingerprint, int keys)
{
	qs_mark_keys(&expanded->sketch, expanded->marks, fingerprint, keys);
	expanded->marked = expanded->version;
}

void
SketchFreeMarks(SketchState *expanded)
{
	if (expanded->marks)
		expanded->sketch.memory->release(expanded->sketch.memory->context, expanded->marks);
	expanded->marks = NULL;
}
