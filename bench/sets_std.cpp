/*
 * sets_std.cpp
 *		The paper's baseline: std::set_intersection, compiled apart from the rest.
 *
 * bench/sets_std.cpp
 */
#include <algorithm>
#include <cstddef>
#include <cstdint>

extern "C" size_t
std_set_intersection(const uint32_t *a, size_t n, const uint32_t *b, size_t m, uint32_t *out)
{
	return static_cast<size_t>(std::set_intersection(a, a + n, b, b + m, out) - out);
}
