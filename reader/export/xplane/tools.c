/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c - sums over the events of a timeline for XProf's messages. */
#include "reader/export/xplane/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/export/xplane/tools_state.h"

const char *tools_file(enum tools_message message)
{
	static const char *const files[] = {
#define MESSAGE(id, file, name, what) file,
#include "reader/export/xplane/tools.def"
	};
	return files[message];
}

const char *tools_absent(size_t n)
{
	static const char *const absent[] = {
#define ABSENT(name, reason) name ": " reason,
#include "reader/export/xplane/tools.def"
	};
	return n < sizeof(absent) / sizeof(absent[0]) ? absent[n] : NULL;
}

/* ---- sums ---- */

static int operation_find(
	struct tools_operations *o, uint32_t operation, uint32_t name, uint32_t *ret_row)
{
	uint32_t found = map_get(&o->places, operation, name);
	if (!found) {
		if (array_room(&o->rows, o->count, &o->capacity, sizeof(*o->rows)))
			return -ENOMEM;
		o->rows[o->count] = (struct tools_operation){
			.operation = operation, .name = name, .min_ns = UINT64_MAX};
		found = ++o->count;
		if (map_put(&o->places, operation, name, found))
			return -ENOMEM;
	}
	*ret_row = found - 1;
	return 0;
}

static void operation_add(struct tools_operation *o, uint64_t ns)
{
	o->count++;
	o->total_ns += ns;
	o->self_ns += ns;
	o->min_ns = ns < o->min_ns ? ns : o->min_ns;
}

static struct tools_open *open_of(struct tools *t, const struct track *track)
{
	if (array_reserve_zeroed(&t->open, &t->open_room, track->number, sizeof(*t->open)))
		return NULL;
	return &t->open[track->number - 1];
}

/* Add a range. Its duration does not count as self time of the range around it on its track. */
static int host_add(struct tools *t, const struct timeline_item *i, uint32_t text)
{
	struct tools_open *open = open_of(t, i->track);
	uint32_t row;
	if (!open || operation_find(&t->host, xplane_operation(&t->x, text), 0, &row))
		return -ENOMEM;
	while (open->count && open->spans[open->count - 1].end_ns <= i->start_ns)
		open->count--;
	operation_add(&t->host.rows[row], i->duration_ns);
	if (open->count)
		t->host.rows[open->spans[open->count - 1].row].self_ns -= i->duration_ns;
	if (array_room(&open->spans, open->count, &open->capacity, sizeof(*open->spans)))
		return -ENOMEM;
	open->spans[open->count++] = (struct tools_span){i->start_ns + i->duration_ns, row};
	return 0;
}

static void device_busy(struct tools *t, const struct timeline_item *i)
{
	const uint64_t number = i->track->key.device, end = i->start_ns + i->duration_ns;
	if (number >= NCU_DEVICES_MAX)
		return;
	struct tools_device *d = &t->devices[number];
	if (number >= t->devices_used)
		t->devices_used = (uint32_t)number + 1;
	if (!d->last_ns)
		d->first_ns = d->last_ns = i->start_ns;
	if (end > d->last_ns) {
		d->busy_ns += end - (i->start_ns > d->last_ns ? i->start_ns : d->last_ns);
		d->last_ns = end;
	}
}

static int kernel_find(struct tools *t, const struct timeline_item *i, uint32_t name,
	uint32_t operation, uint32_t *ret_index)
{
	const uint64_t names = (uint64_t)name << 32 | operation;
	const uint32_t details = xplane_details(&t->x, i);
	uint32_t found = details ? map_get(&t->kernel_places, names, details) : 0;
	if (!found) {
		if (array_room(&t->kernels, t->kernel_count, &t->kernel_capacity,
			    sizeof(*t->kernels)) ||
			!details)
			return -ENOMEM;
#define OF(name) xplane_column(i, FIELD_CUDA_KERNEL_##name)
		t->kernels[t->kernel_count] = (struct tools_kernel){.name = name,
			.operation = operation,
			.grid = {(uint32_t)OF(GRID_X), (uint32_t)OF(GRID_Y), (uint32_t)OF(GRID_Z)},
			.block = {(uint32_t)OF(BLOCK_X), (uint32_t)OF(BLOCK_Y),
				(uint32_t)OF(BLOCK_Z)},
			.registers = OF(REGISTERS_PER_THREAD),
			.static_shared = OF(STATIC_SHARED_MEMORY),
			.dynamic_shared = OF(DYNAMIC_SHARED_MEMORY),
			.occupancy = xplane_occupancy(&t->x, i),
			.min_ns = UINT64_MAX};
#undef OF
		found = ++t->kernel_count;
		if (map_put(&t->kernel_places, names, details, found))
			return -ENOMEM;
	}
	*ret_index = found - 1;
	return 0;
}

static int device_add(struct tools *t, const struct timeline_item *i, uint32_t name)
{
	const uint32_t operation = xplane_operation(&t->x, xplane_range_of(&t->x, i));
	uint32_t row, index;
	if (!operation || operation_find(&t->device, operation, name, &row))
		return -ENOMEM;
	operation_add(&t->device.rows[row], i->duration_ns);
	device_busy(t, i);
	if (i->row->event->number == KIND_CUDA_KERNEL && i->duration_ns) {
		if (kernel_find(t, i, name, operation, &index))
			return -ENOMEM;
		struct tools_kernel *k = &t->kernels[index];
		k->count++;
		k->total_ns += i->duration_ns;
		k->min_ns = i->duration_ns < k->min_ns ? i->duration_ns : k->min_ns;
		k->max_ns = i->duration_ns > k->max_ns ? i->duration_ns : k->max_ns;
	}
	return tools_step_work(t, i, name);
}

/* ---- events ---- */

static int range_add(struct tools *t, const struct timeline_item *i, uint32_t text)
{
	int error = host_add(t, i, text);
	if (error || i->row->event->number != KIND_NVTX_RANGE)
		return error;
	error = xplane_range_note(&t->x, i, text);
	if (!error && timeline_is_step(t->x.timeline, i, t->x.steps))
		error = tools_step_add(t, i);
	return error;
}

static int event_add(struct tools *t, const struct timeline_item *i, uint32_t text)
{
	switch (i->row->event->number) {
	case KIND_NVTX_RANGE:
	case KIND_NVTX_START_END:
		return range_add(t, i, text);
	case KIND_CUDA_API:
		xplane_range_of(&t->x, i);
		return tools_step_call(t, i);
	default:
		return i->track->key.kind == TRACK_STREAM ? device_add(t, i, text) : 0;
	}
}

static int item_add(struct tools *t, const struct timeline_item *i)
{
	if (i->row->event->number == KIND_CUDA_MEMORY)
		return tools_memory_add(t, i);
	if (i->kind->shape == TIMELINE_COUNTER) {
		t->x.timeline->left_out[i->row->event->number] += !i->is_repeated;
		return 0;
	}
	const uint32_t text = xplane_event_text(&t->x, i);
	int error = text ? event_add(t, i, text) : -ENOMEM;
	if (i->start_ns + i->duration_ns > t->x.last_ns)
		t->x.last_ns = i->start_ns + i->duration_ns;
	return error ? error : tools_event_write(t, i, text);
}

static void tools_release(struct tools *t)
{
	for (uint32_t i = 0; i < t->open_room; i++)
		free(t->open[i].spans);
	free(t->open);
	free(t->kernels);
	free(t->host.rows);
	free(t->device.rows);
	map_release(&t->kernel_places);
	map_release(&t->host.places);
	map_release(&t->device.places);
	tools_steps_release(t);
	tools_memory_release(t);
	xplane_texts_release(&t->x);
	proto_release(&t->message);
	free(t);
}

static int messages_write(struct tools *t, FILE *const out[TOOLS_MESSAGES])
{
	struct proto p[TOOLS_MESSAGES] = {0};
	int error = tools_tracks_write(t);
	tools_kernels_put(t, &p[TOOLS_KERNELS]);
	tools_steps_put(t, &p[TOOLS_STEPS]);
	tools_host_put(t, &p[TOOLS_HOST]);
	tools_device_put(t, &p[TOOLS_DEVICE]);
	tools_memory_put(t, &p[TOOLS_MEMORY]);
	tools_op_stats_put(t, &p[TOOLS_OP_STATS]);
	for (uint32_t i = 0; i < TOOLS_MESSAGES; i++) {
		if (!error)
			error = p[i].failed ? -ENOMEM : proto_flush(&p[i], out[i], true);
		proto_release(&p[i]);
	}
	return error;
}

int tools_write(FILE *const out[TOOLS_MESSAGES], struct timeline *timeline, const char *steps)
{
	const Libtrace__Session *s = timeline->contents.session;
	struct tools *t = calloc(1, sizeof(*t));
	struct timeline_item i;
	int more;
	if (!t)
		return -ENOMEM;
	t->x.timeline = timeline;
	t->x.steps = steps;
	t->x.origin_ns = t->x.last_ns = s ? s->start_ns : 0;
	t->x.several = timeline_several(timeline);
	t->trace = out[TOOLS_TRACE];
	int error = xplane_texts_init(&t->x);
	while (!error && (more = timeline_next(timeline, &i)))
		error = more < 0 ? more : item_add(t, &i);
	tools_steps_end(t);
	if (!error)
		error = messages_write(t, out);
	tools_release(t);
	return error;
}
