/* SPDX-License-Identifier: Apache-2.0 */
/* range_paths.c - push/pop ranges of NVTX around a moment of a thread. */
#define _GNU_SOURCE
#include "reader/stats/range_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static int compare_threads(const struct nvtx_range *x, uint32_t process, uint32_t tid)
{
	if (x->process != process)
		return x->process < process ? -1 : 1;
	return x->tid < tid ? -1 : x->tid > tid;
}

static int compare(const void *a, const void *b, void *user)
{
	const struct nvtx_range *ranges = user;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int threads = compare_threads(&ranges[x], ranges[y].process, ranges[y].tid);
	return threads ? threads : x < y ? -1 : x > y; /* `ranges` is in order of start */
}

/* Return the number of the path of a name below another path; 0 = out of memory. */
static uint32_t path_number(struct range_paths *p, uint32_t parent, const char *name)
{
	const char *kept = pool_text(&p->texts, name, strlen(name));
	uint32_t known = kept ? map_get(&p->numbers, parent, (uintptr_t)kept) : 0;
	if (known || !kept || array_room(&p->rows, p->count, &p->capacity, sizeof(*p->rows)) ||
		map_put(&p->numbers, parent, (uintptr_t)kept, p->count + 1))
		return known;
	p->rows[p->count] = (struct range_path){parent, kept};
	return ++p->count;
}

static int paths_make(struct range_paths *p)
{
	for (uint32_t i = 0; i < p->trace.count; i++) {
		const struct nvtx_range *r = &p->trace.ranges[i];
		/* A range around another one precedes it. */
		const uint32_t parent = r->parent && r->parent <= i ? p->path_of[r->parent - 1] : 0;
		char *name = nvtx_full_name(&p->contents, r->domain, r->text);
		p->path_of[i] = name ? path_number(p, parent, name) : 0;
		free(name);
		if (!p->path_of[i])
			return -ENOMEM;
	}
	return 0;
}

int range_paths_read(
	struct range_paths *p, const struct report *report, const struct contents_visitor *visitor)
{
	*p = (struct range_paths){0};
	contents_init(&p->contents);
	nvtx_trace_init(&p->trace);
	int error = nvtx_trace_read(&p->trace, &p->contents, report, visitor);
	if (error)
		return error;
	const uint32_t count = p->trace.count;
	p->order = malloc(count * sizeof(*p->order) + 1);
	p->path_of = malloc(count * sizeof(*p->path_of) + 1);
	if (!p->order || !p->path_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		p->order[i] = i;
	if (count)
		qsort_r(p->order, count, sizeof(*p->order), compare, p->trace.ranges);
	return paths_make(p);
}

void range_paths_release(struct range_paths *p)
{
	nvtx_trace_release(&p->trace);
	contents_release(&p->contents);
	map_release(&p->numbers);
	pool_release(&p->texts);
	free(p->order);
	free(p->path_of);
	free(p->rows);
	*p = (struct range_paths){0};
}

uint32_t range_paths_find(const struct range_paths *p, uint32_t process, uint32_t tid, uint64_t ns)
{
	uint32_t low = 0, high = p->trace.count; /* the first range of a later start or thread */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct nvtx_range *r = &p->trace.ranges[p->order[middle]];
		const int threads = compare_threads(r, process, tid);
		if (threads < 0 || (!threads && r->start_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t number = low ? p->order[low - 1] + 1 : 0;
	while (number) {
		const struct nvtx_range *r = &p->trace.ranges[number - 1];
		if (compare_threads(r, process, tid))
			return 0;
		if (r->end_ns > ns)
			return p->path_of[number - 1];
		number = r->parent < number ? r->parent : 0;
	}
	return 0;
}

uint32_t range_paths_names(
	const struct range_paths *p, uint32_t path, const char *names[RANGE_NAMES_MAX])
{
	uint32_t count = 0;
	for (uint32_t at = path; at && count < RANGE_NAMES_MAX; at = p->rows[at - 1].parent)
		count++;
	for (uint32_t n = count; n-- > 0; path = p->rows[path - 1].parent)
		names[n] = p->rows[path - 1].name;
	return count;
}
