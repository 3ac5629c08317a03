/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - time windows in which events were recorded. */
#include "reader/report/windows.h"

#include <errno.h>
#include <stdlib.h>

static struct window *find(struct windows *w, uint64_t number)
{
	for (size_t i = w->count; i-- > 0;)
		if (w->rows[i].number == number)
			return &w->rows[i];
	return NULL;
}

int windows_add(struct windows *w, const Libtrace__Window *message)
{
	const struct window row = {
		message->number, message->start_ns, message->end_ns, message->unfinished};
	if (!row.number || row.end_ns < row.start_ns)
		return -EBADMSG;
	if (!w->rows)
		w->rows = calloc(WINDOWS_KEPT, sizeof(*w->rows));
	if (!w->rows)
		return -ENOMEM;
	struct window *known = row.number <= w->last ? find(w, row.number) : NULL;
	if (known) {
		w->covered_ns -= known->end_ns - known->start_ns;
		*known = row;
	} else {
		w->entry_count++;
		if (w->count < WINDOWS_KEPT)
			w->rows[w->count++] = row;
	}
	w->covered_ns += row.end_ns - row.start_ns;
	w->last = row.number > w->last ? row.number : w->last;
	return 0;
}

void windows_release(struct windows *w)
{
	free(w->rows);
	*w = (struct windows){0};
}
