/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c - function names that `trace symbolize` stored in the report. */
#include "reader/symbols/stored.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

void stored_symbols_release(struct stored_symbols *s)
{
	free(s->rows);
	free(s->frames);
	*s = (struct stored_symbols){0};
}

static bool is_consistent(const Libtrace__Symbols *e)
{
	uint64_t frames = 0;
	size_t rows = e->n_addresses;
	if (e->n_frame_counts != rows || e->n_modules != rows || e->n_offsets != rows ||
		e->n_reasons != rows || e->n_files != e->n_functions ||
		e->n_lines != e->n_functions)
		return false;
	for (size_t i = 0; i < rows; i++) {
		frames += e->frame_counts[i];
		if (!e->frame_counts[i] || (i && e->addresses[i] < 0))
			return false;
	}
	return frames == e->n_functions;
}

int stored_symbols_add(
	struct stored_symbols *s, const Libtrace__Symbols *entry, const char **ret_cause)
{
	uint64_t address = 0;
	*ret_cause = "columns of symbols have different lengths";
	if (!is_consistent(entry))
		return -EBADMSG;
	int error = array_reserve(
		&s->rows, &s->capacity, (uint64_t)s->count + entry->n_addresses, sizeof(*s->rows));
	if (!error)
		error = array_reserve(&s->frames, &s->frame_capacity,
			(uint64_t)s->frame_count + entry->n_functions, sizeof(*s->frames));
	*ret_cause = "too many symbols of a process";
	if (error)
		return error;
	s->sorted = false;
	uint32_t first = s->frame_count;
	for (size_t i = 0; i < entry->n_addresses; i++) {
		address += (uint64_t)entry->addresses[i];
		s->rows[s->count] =
			(struct stored_symbol){address, entry->offsets[i], entry->modules[i],
				entry->reasons[i], first, entry->frame_counts[i], s->count};
		first += entry->frame_counts[i];
		s->count++;
	}
	for (size_t i = 0; i < entry->n_functions; i++)
		s->frames[s->frame_count++] = (struct stored_frame){
			entry->functions[i], entry->files[i], entry->lines[i]};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct stored_symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

const struct stored_symbol *stored_symbols_find(
	struct stored_symbols *s, uint64_t address, const struct stored_symbol *after)
{
	uint32_t low = 0, high = s->count;
	if (!s->sorted && s->count)
		qsort(s->rows, s->count, sizeof(*s->rows), compare);
	s->sorted = true;
	while (!after && low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (s->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (after)
		low = (uint32_t)(after - s->rows);
	return low && s->rows[low - 1].address == address ? &s->rows[low - 1] : NULL;
}
