/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.c - search for the call that made a descriptor what it is. */
#include "reader/sql/path/descriptors.h"

#ifdef HAVE_SQLITE

#define HOPS_MAX 64u /* copies of a descriptor, and generations of processes, that are followed */

static int descriptor_order(const void *one, const void *two)
{
	const struct path_descriptor *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->descriptor != b->descriptor)
		return a->descriptor < b->descriptor ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

int path_descriptors_sort(struct path_graph *g)
{
	return path_sort(g, &g->descriptors, g->descriptor_count, &g->descriptor_capacity,
		sizeof(*g->descriptors), descriptor_order);
}

/* Return the last call before a time that opened, copied or closed a descriptor; NULL = none. */
static const struct path_descriptor *descriptor_before(
	const struct path_graph *g, int64_t process, int32_t descriptor, int64_t time)
{
	uint32_t low = 0, high = g->descriptor_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct path_descriptor *d = &g->descriptors[middle];
		const bool before = d->process != process ? d->process < process
			: d->descriptor != descriptor     ? d->descriptor < descriptor
							  : d->time < time;
		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	const struct path_descriptor *found = low ? &g->descriptors[low - 1] : NULL;
	return found && found->process == process && found->descriptor == descriptor ? found : NULL;
}

/* A child has the descriptors that its parent had when it was started. */
struct path_file path_file_at(
	const struct path_graph *g, int64_t process, int32_t descriptor, int64_t time)
{
	for (uint32_t hops = 0; hops < HOPS_MAX; hops++) {
		const struct path_descriptor *d =
			descriptor_before(g, process, descriptor, time + 1);
		const uint32_t first = path_main_thread(g, process);
		if (d && d->role != ROLE_COPY)
			return (struct path_file){d->role == ROLE_OPEN,
				d->role == ROLE_PAIR ? d->number : 0,
				(d->copied & PATH_SECOND) != 0, (d->copied & PATH_BOTH_WAYS) != 0,
				d->file};
		if (d) {
			descriptor = d->copied;
			time = d->time - 1;
		} else if (first != PATH_NOWHERE && g->tracks[first].parent != PATH_NOWHERE) {
			time = g->tracks[first].parent_time;
			process = g->tracks[g->tracks[first].parent].process;
		} else {
			break;
		}
	}
	return (struct path_file){0};
}

struct path_file path_file_of_call(
	const struct path_graph *g, uint32_t track, const struct path_call *c)
{
	return c->object <= INT32_MAX
		? path_file_at(g, g->tracks[track].process, (int32_t)c->object, c->start)
		: (struct path_file){0};
}

int64_t path_pipe_of(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	return path_file_of_call(g, track, c).pipe;
}

uint32_t path_file_of(const struct path_graph *g, uint32_t track, const struct path_call *c)
{
	const struct path_track *t = &g->tracks[track];
	const struct path_name *name = path_name_of(g, c);
	if (name->source == PATH_OSRT && name->role == ROLE_OPEN)
		return map_get(&g->files, (uint64_t)t->id, (uint64_t)c->start) - 1;
	if (name->source != PATH_OSRT || !path_has_descriptor(name) || c->object > INT32_MAX)
		return PATH_NOWHERE;
	/* close() counts from its start */
	return path_file_at(
		       g, t->process, (int32_t)c->object, c->start - (name->role == ROLE_CLOSE))
		       .name -
		1;
}

#endif
