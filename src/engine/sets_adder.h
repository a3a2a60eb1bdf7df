/*
 * sets_adder.h
 *		Columns of bits added by carry-save adders (Harley and Seal).
 *
 * Columns are added eight at a time, so that a column costs about two logical
 * operations for as many sets as a vector has bits.  Plane p has bit p of each
 * set's counter.
 *
 * sets_avx2.c and sets_avx512.c include this after defining, for their vectors,
 *
 *	QI_VECTOR			the type
 *	QI_VECTOR_INLINE	how a function that uses it begins
 *	load()				one at any address
 *	carry_of()			a full adder
 *	ripple()			adding a vector to the planes from one on
 *
 * src/engine/sets_adder.h
 */

/* Planes for the counters of QI_MAX_COLUMNS columns, and one that stays empty. */
#define QI_PLANES 17

QI_VECTOR_INLINE void
add_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, QI_VECTOR *plane)
{
	const QI_VECTOR zero = { 0 };
	uint32_t c = 0;
	int p;

#define COLUMN(i) load(column[i] + at)
	for (p = 0; p < QI_PLANES; p++)
		plane[p] = zero;
	for (; c + 8 <= columns; c += 8)
	{
		QI_VECTOR two1 = carry_of(&plane[0], COLUMN(c), COLUMN(c + 1));
		QI_VECTOR two2 = carry_of(&plane[0], COLUMN(c + 2), COLUMN(c + 3));
		QI_VECTOR two3 = carry_of(&plane[0], COLUMN(c + 4), COLUMN(c + 5));
		QI_VECTOR two4 = carry_of(&plane[0], COLUMN(c + 6), COLUMN(c + 7));
		QI_VECTOR four1 = carry_of(&plane[1], two1, two2);
		QI_VECTOR four2 = carry_of(&plane[1], two3, two4);

		ripple(plane, 3, carry_of(&plane[2], four1, four2));
	}
	for (; c < columns; c++)
		ripple(plane, 0, COLUMN(c));
#undef COLUMN
}

/* How many planes the sums of so many columns can reach. */
QS_INLINE int
planes_of(uint32_t columns)
{
	return 32 - __builtin_clz(columns | 1);
}
