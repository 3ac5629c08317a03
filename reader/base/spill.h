/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.h - arrays that need not fit into memory: once they are larger than a limit together, they
 * move to an unnamed file in TMPDIR (or /var/tmp), which is mapped at the same addresses.
 *
 * spill_pass() takes what has been used since the last one out of memory; the elements stay valid
 * and are read again when they are used. A caller that works through its arrays in windows calls it
 * after each window.
 *
 * All zero, but for `limit` = empty; spill_release() at the end frees all arrays at once. Functions
 * that return int return 0 or a negative errno: -ENOMEM (too many elements, no address space),
 * -ENOSPC and others (no file, or no room in it). One thread; allocates.
 */
#ifndef READER_BASE_SPILL_H
#define READER_BASE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPILL_PAGE 4096u

struct spill {
	size_t limit; /* bytes of memory that all arrays may take */
	char *base;
	size_t used, mapped, reserved; /* bytes from `base` on */
	uint64_t passed;               /* pages that may have been used since the last pass */
	int fd;                        /* of the file, if is_file */
	bool is_file;
};

/* Make room for one more element after the first `count`, as array_room() does. */
int spill_room(
	struct spill *s, void *array, uint64_t count, uint32_t *capacity, size_t element_bytes);

/* Sort an array, whose address may change. Needs as much memory as a window, whatever its size. */
int spill_sort(struct spill *s, void *array, uint32_t count, uint32_t *capacity,
	size_t element_bytes, int (*order)(const void *one, const void *two));

/* Take all arrays out of memory, if they are in a file. */
void spill_pass(struct spill *s);

/* Note that `pages` pages may have been used, and do so once they could be more than the limit. */
static inline void spill_use(struct spill *s, uint32_t pages)
{
	s->passed += pages;
	if (s->is_file && s->passed >= s->limit / SPILL_PAGE)
		spill_pass(s);
}

/* Copy elements, in windows. */
void spill_copy(struct spill *s, void *to, const void *from, size_t bytes);

/* Free an array before the others. */
void spill_drop(struct spill *s, void *elements, size_t bytes);

/* Free all arrays, and leave `s` empty with its limit. */
void spill_release(struct spill *s);

#endif
