/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - arrays that grow with their elements, for the writer and the reader.
 *
 * `array` is the address of the pointer to the elements. The functions return 0, or -ENOMEM with
 * nothing changed: no memory, or more than ARRAY_MAX elements. One thread at a time; allocates.
 */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_FIRST 16u
#define ARRAY_MAX (UINT32_MAX / 2)

/* Make room for `least` elements in all: the capacity doubles until they fit. */
static inline int array_reserve(
	void *array, uint32_t *capacity, uint64_t least, size_t element_bytes)
{
	uint64_t more = *capacity ? *capacity : ARRAY_FIRST;
	void *elements, *larger;
	if (least <= *capacity)
		return 0;
	if (least > ARRAY_MAX)
		return -ENOMEM;
	while (more < least)
		more *= 2;
	memcpy(&elements, array, sizeof(elements));
	larger = realloc(elements, more * element_bytes);
	if (!larger)
		return -ENOMEM;
	memcpy(array, &larger, sizeof(larger));
	*capacity = (uint32_t)more;
	return 0;
}

/* Make room as array_reserve() does, and zero the new elements. */
static inline int array_reserve_zeroed(
	void *array, uint32_t *capacity, uint64_t least, size_t element_bytes)
{
	uint32_t before = *capacity;
	int err = array_reserve(array, capacity, least, element_bytes);
	if (!err && *capacity > before) {
		char *elements;
		memcpy(&elements, array, sizeof(elements));
		memset(elements + before * element_bytes, 0, (*capacity - before) * element_bytes);
	}
	return err;
}

/* Make room for one more element after the first `count`. */
static inline int array_room(void *array, uint64_t count, uint32_t *capacity, size_t element_bytes)
{
	return count < *capacity ? 0 : array_reserve(array, capacity, count + 1, element_bytes);
}

#endif
