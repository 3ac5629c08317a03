/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - names of events, and the NVTX ranges that were open during calls. */
#include "reader/export/xplane/texts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

int xplane_texts_init(struct xplane *x)
{
	x->calls = calloc(XPLANE_CALLS, sizeof(*x->calls));
	return x->calls ? 0 : -ENOMEM;
}

void xplane_texts_release(struct xplane *x)
{
	for (uint32_t i = 0; i < x->thread_count; i++)
		free(x->threads[i].open);
	free(x->threads);
	free(x->calls);
	free(x->by_number);
	map_release(&x->numbers);
	map_release(&x->event_texts);
	map_release(&x->operations);
	map_release(&x->ranges);
	pool_release(&x->texts);
}

uint32_t xplane_text(struct xplane *x, const char *text, size_t bytes)
{
	const char *kept = pool_text(&x->texts, text, bytes);
	uint32_t known = kept ? map_get(&x->numbers, (uint64_t)(uintptr_t)kept, 0) : 0;
	if (known || !kept)
		return known;
	if (array_room(&x->by_number, x->text_count, &x->text_capacity, sizeof(*x->by_number)))
		return 0;
	x->by_number[x->text_count++] = kept;
	return map_put(&x->numbers, (uint64_t)(uintptr_t)kept, 0, x->text_count) ? 0
										 : x->text_count;
}

void xplane_allocator(
	const struct xplane *x, const struct track *track, char out[XPLANE_ALLOCATOR_BYTES])
{
	char name[TRACK_NAME_BYTES];
	track_name(track, name, sizeof(name));
	if (x->several)
		snprintf(out, XPLANE_ALLOCATOR_BYTES, "%s, process %u", name,
			track->key.process->facts->pid);
	else
		snprintf(out, XPLANE_ALLOCATOR_BYTES, "%s", name);
}

/* ---- operations ---- */

/* Write an operation type in letters, digits and '_', which lets XProf accept any name before the
 * colon. */
static void type_put(FILE *out, const char *domain)
{
	if (*domain >= '0' && *domain <= '9')
		fputc('_', out);
	for (; *domain; domain++) {
		const int c = tolower((unsigned char)*domain);
		fputc((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_', out);
	}
}

static void name_put(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == ':' ? '_' : *text, out);
}

static uint32_t operation_text(struct xplane *x, const char *name, const char *domain)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	if (!memory)
		return 0;
	name_put(memory, *name ? name : "(no text)");
	fputc(':', memory);
	type_put(memory, *domain ? domain : "nvtx");
	uint32_t made = fclose(memory) ? 0 : xplane_text(x, text, bytes);
	free(text);
	return made;
}

uint32_t xplane_operation(struct xplane *x, uint32_t range)
{
	uint32_t known = map_get(&x->operations, range, 0);
	if (known || range)
		return known;
	known = operation_text(x, "no NVTX range", "none");
	return known && !map_put(&x->operations, 0, 0, known) ? known : 0;
}

static bool is_nvtx(const struct timeline_item *i)
{
	return i->track->key.kind == TRACK_RANGES || i->track->key.kind == TRACK_SPANS;
}

/* Return the name by which XProf recognizes a copy. */
static const char *copy_name(const struct timeline_item *i)
{
	switch (i->row->values[i->kind->name]) {
	case 1:
		return "MemcpyHToD";
	case 2:
		return "MemcpyDToH";
	case 8:
		return "MemcpyDToD";
	case 9:
		return "MemcpyHToH";
	case 10:
		return "MemcpyPToP";
	default:
		return "MemcpyOther";
	}
}

uint32_t xplane_event_text(struct xplane *x, const struct timeline_item *i)
{
	const uint64_t domain = is_nvtx(i) ? (uint64_t)(uintptr_t)i->track->domain : 0;
	uint32_t known = map_get(&x->event_texts, domain, i->name.number), made;
	if (known)
		return known;
	if (is_nvtx(i)) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *memory = open_memstream(&text, &bytes);
		if (!memory)
			return 0;
		fprintf(memory, XPLANE_NVTX "%s:", i->track->domain);
		fwrite(i->name.text.text, 1, i->name.text.bytes, memory);
		made = fclose(memory) ? 0 : xplane_text(x, text, bytes);
		free(text);
		uint32_t operation = operation_text(x, i->name.text.text, i->track->domain);
		if (!operation || map_put(&x->operations, made, 0, operation))
			return 0;
	} else if (i->row->event->number == KIND_CUDA_MEMCPY) {
		made = xplane_text(x, copy_name(i), strlen(copy_name(i)));
	} else {
		made = xplane_text(x, i->name.text.text, i->name.text.bytes);
	}
	return made && !map_put(&x->event_texts, domain, i->name.number, made) ? made : 0;
}

/* ---- ranges ---- */

static void ranges_end(struct xplane_ranges *r, uint64_t ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < r->count; i++) /* ranges of different domains may overlap
						 * without nesting */
		if (r->open[i].end_ns > ns)
			r->open[kept++] = r->open[i];
	r->count = kept;
}

int xplane_range_note(struct xplane *x, const struct timeline_item *i, uint32_t text)
{
	const uint64_t process = i->row->process->id;
	uint32_t found = map_get(&x->ranges, process, i->row->tid);
	if (!found) {
		if (array_room(
			    &x->threads, x->thread_count, &x->thread_capacity, sizeof(*x->threads)))
			return -ENOMEM;
		x->threads[x->thread_count] = (struct xplane_ranges){0};
		found = ++x->thread_count;
		if (map_put(&x->ranges, process, i->row->tid, found))
			return -ENOMEM;
	}
	struct xplane_ranges *r = &x->threads[found - 1];
	ranges_end(r, i->start_ns);
	if (r->count == XPLANE_OPEN_MAX)
		return 0;
	if (array_room(&r->open, r->count, &r->capacity, sizeof(*r->open)))
		return -ENOMEM;
	r->open[r->count++] = (struct xplane_range){i->start_ns + i->duration_ns, text};
	return 0;
}

/* Return the text of the open range that was pushed last; 0 = none. */
static uint32_t innermost(struct xplane *x, const struct timeline_item *i)
{
	uint32_t found = map_get(&x->ranges, i->row->process->id, i->row->tid);
	struct xplane_ranges *r = found ? &x->threads[found - 1] : NULL;
	for (uint32_t n = r ? r->count : 0; n-- > 0;)
		if (r->open[n].end_ns > i->start_ns)
			return r->open[n].text;
	return 0;
}

uint32_t xplane_range_of(struct xplane *x, const struct timeline_item *i)
{
	struct xplane_call *call = &x->calls[i->correlation & (XPLANE_CALLS - 1)];
	if (i->row->event->number == KIND_CUDA_API) {
		uint32_t range = innermost(x, i);
		if (i->is_call && i->correlation)
			*call = (struct xplane_call){i->row->process->id, i->correlation, range};
		return range;
	}
	return i->correlation && call->process == i->row->process->id &&
			call->correlation == i->correlation
		? call->range
		: 0;
}
