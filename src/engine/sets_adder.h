/*
 * sets_adder.h
 *		Columns of bits added by carry-save adders (Harley and Seal).
 *
 * Columns are added eight at a time.  A column then costs about two logical
 * operations for as many sets as a vector has bits.  Plane p has bit p of each set's
 * counter.
 *
 * sets_vector.c and sets_avx512.c include this file.  Each first defines, for its
 * vectors,
 *
 *	QSET_VECTOR			the type
 *	QSET_VECTOR_INLINE	how a function that uses it begins
 *	load()				one at any address
 *	carry_of()			a full adder
 *	ripple()			adding a vector to the planes from one on
 *
 * src/engine/sets_adder.h
 */

/* Planes for the counters of QSET_MAX_COLUMNS columns, and one plane that stays empty. */
#define QSET_PLANES 17

/* How many planes the sums of "columns" columns can reach. */
QB_INLINE int
planes_of(uint32_t columns)
{
	return 32 - __builtin_clz(columns | 1);
}

/* Add up to eight columns; missing ones are zero.  Their number is the same for a whole row. */
QSET_VECTOR_INLINE void
add_eight(QSET_VECTOR *plane, const uint64_t *const *column, uint32_t columns, uint64_t at)
{
	const QSET_VECTOR none = { 0 };
	QSET_VECTOR two1;
	QSET_VECTOR two2 = none;
	QSET_VECTOR two3 = none;
	QSET_VECTOR two4 = none;
	QSET_VECTOR four1;

#define COLUMN(i) (columns > (i) ? load(column[i] + at) : none)
	two1 = carry_of(&plane[0], COLUMN(0), COLUMN(1));
	if (columns > 2)
		two2 = carry_of(&plane[0], COLUMN(2), COLUMN(3));
	four1 = carry_of(&plane[1], two1, two2);
	if (columns <= 4)
	{
		ripple(plane, 2, four1);
		return;
	}
	two3 = carry_of(&plane[0], COLUMN(4), COLUMN(5));
	if (columns > 6)
		two4 = carry_of(&plane[0], COLUMN(6), COLUMN(7));
	ripple(plane, 3, carry_of(&plane[2], four1, carry_of(&plane[1], two3, two4)));
#undef COLUMN
}

QSET_VECTOR_INLINE void
add_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, QSET_VECTOR *plane)
{
	const QSET_VECTOR zero = { 0 };
	uint32_t c = 0;
	int p;

	for (p = 0; p < 3 || p <= planes_of(columns); p++)
		plane[p] = zero;
	for (; c + 8 <= columns; c += 8)
		add_eight(plane, column + c, 8, at);
	if (c < columns)
		add_eight(plane, column + c, columns - c, at);
}
