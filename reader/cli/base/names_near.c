/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_near.c - suggestions of known names for an unknown one, by edit distance.
 */
#define _GNU_SOURCE
#include "reader/cli/base/names_near.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX 40u
#define NEAR_MAX 3u
#define LEAST_INSIDE 3u /* minimum letters of a word that is searched for inside names */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Compute the edit distance: letters to insert, delete or replace. Two swapped neighbors count as
 * one. */
static size_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t rows[3][WORD_BYTES_MAX + 1];
	for (size_t j = 0; j <= b_bytes; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_bytes; i++) {
		size_t *row = rows[i % 3], *before = rows[(i + 2) % 3],
		       *earlier = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_bytes; j++) {
			row[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]),
				least(before[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], earlier[j - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

/* Return the distance of the name from the word; SIZE_MAX = too far. */
static size_t farness(const char *word, size_t bytes, const char *name)
{
	size_t length = strlen(name);
	if (!bytes || bytes > WORD_BYTES_MAX || length > WORD_BYTES_MAX)
		return (size_t)-1;
	size_t far = distance(word, bytes, name, length);
	bool inside = bytes >= LEAST_INSIDE && memmem(name, length, word, bytes);
	return inside || 3 * far <= length ? far : (size_t)-1;
}

char *names_near(const char *word, size_t bytes, const char *(*name_at)(size_t n))
{
	const char *nearest[NEAR_MAX], *name;
	size_t fars[NEAR_MAX], count = 0;
	for (size_t n = 0; (name = name_at(n)); n++) {
		size_t far = farness(word, bytes, name), at = count;
		if (far == (size_t)-1 || (count == NEAR_MAX && far >= fars[NEAR_MAX - 1]))
			continue;
		if (count < NEAR_MAX)
			count++;
		else
			at--;
		for (; at && fars[at - 1] > far; at--) {
			fars[at] = fars[at - 1];
			nearest[at] = nearest[at - 1];
		}
		fars[at] = far;
		nearest[at] = name;
	}
	char *text = NULL;
	const char *const between[] = {"", count == 2 ? " or " : ", ", " or "};
	int printed = count ? 0 : -1;
	if (count)
		printed = asprintf(&text, "%s%s%s%s%s", nearest[0], count > 1 ? between[1] : "",
			count > 1 ? nearest[1] : "", count > 2 ? between[2] : "",
			count > 2 ? nearest[2] : "");
	return printed < 0 ? NULL : text;
}
