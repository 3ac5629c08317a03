/* SPDX-License-Identifier: Apache-2.0 */
/* tools_messages.c - XProf's messages of kernels and operations, and OpStats, which contains these
 * and the steps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/xplane/tools_state.h"

enum {
	DB_REPORT = 1,
	REPORT_NAME = 1,
	REPORT_REGISTERS = 2,
	REPORT_STATIC_SHARED = 3,
	REPORT_DYNAMIC_SHARED = 4,
	REPORT_BLOCK = 5,
	REPORT_GRID = 6,
	REPORT_TOTAL_NS = 7,
	REPORT_MIN_NS = 8,
	REPORT_MAX_NS = 9,
	REPORT_OPERATION = 12,
	REPORT_COUNT = 13,
	REPORT_OCCUPANCY = 14,
	OPERATIONS_ROW = 10,
	OPERATIONS_TOTAL_PS = 11,
	OPERATIONS_BUSY_SUM_PS = 12,
	OPERATIONS_IDLE_PS = 14,
	OPERATIONS_BUSY_PS = 15,
	OPERATION_SELF_PS = 1,
	OPERATION_COUNT = 3,
	OPERATION_NAME = 6,
	OPERATION_PS = 7,
	OPERATION_CATEGORY = 11,
	OPERATION_PROVENANCE = 12,
	OPERATION_MIN_PS = 17,
	STATS_HOST = 1,
	STATS_DEVICE = 2,
	STATS_STEPS = 4,
	STATS_ENVIRONMENT = 5,
	STATS_KERNELS = 6,
	STATS_DIAGNOSTICS = 9,
	STATS_CORE = 11,
	ENVIRONMENT_HOSTS = 1,
	ENVIRONMENT_TASKS = 2,
	ENVIRONMENT_HOSTNAME = 3,
	ENVIRONMENT_DEVICE = 4,
	ENVIRONMENT_CORES = 5,
	ENVIRONMENT_HARDWARE = 16,
	DIAGNOSTICS_WARNING = 2,
	CORE_HOSTNAME = 1
};

#define HARDWARE_CPU 1
#define HARDWARE_GPU 2
#define CORE_OF_DEVICES 1

/* ---- kernels ---- */

static void sizes_put(struct proto *p, uint32_t field, const uint32_t *sizes)
{
	size_t packed = proto_open(p, field);
	for (int n = 0; n < 3 && proto_has_room(p, PROTO_NUMBER_BYTES); n++)
		p->used = (size_t)(varint_put(p->bytes + p->used, sizes[n]) - p->bytes);
	proto_close(p, packed);
}

static void float_put(struct proto *p, uint32_t field, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_FIXED32);
	for (int n = 0; n < 4; n++)
		*at++ = (uint8_t)(bits >> 8 * n);
	p->used = (size_t)(at - p->bytes);
}

/* Return the length of the name in "name:domain". */
static size_t operation_bytes(const char *text)
{
	const char *colon = strrchr(text, ':');
	return colon ? (size_t)(colon - text) : strlen(text);
}

static void kernel_put(const struct tools *t, struct proto *p, const struct tools_kernel *k)
{
	const char *name = tools_text(t, k->name), *operation = tools_text(t, k->operation);
	size_t report = proto_open(p, DB_REPORT);
	proto_string(p, REPORT_NAME, name);
	proto_u64(p, REPORT_REGISTERS, k->registers);
	proto_u64(p, REPORT_STATIC_SHARED, k->static_shared);
	proto_u64(p, REPORT_DYNAMIC_SHARED, k->dynamic_shared);
	sizes_put(p, REPORT_BLOCK, k->block);
	sizes_put(p, REPORT_GRID, k->grid);
	proto_u64(p, REPORT_TOTAL_NS, k->total_ns);
	proto_u64(p, REPORT_MIN_NS, k->min_ns);
	proto_u64(p, REPORT_MAX_NS, k->max_ns);
	proto_text(p, REPORT_OPERATION, operation, operation_bytes(operation));
	proto_u64(p, REPORT_COUNT, k->count);
	if (k->occupancy > 0)
		float_put(p, REPORT_OCCUPANCY, (float)k->occupancy);
	proto_close(p, report);
}

static int by_total(const void *one, const void *other)
{
	const struct tools_kernel *a = *(const struct tools_kernel *const *)one,
				  *b = *(const struct tools_kernel *const *)other;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a > b) - (a < b);
}

/* Write the kernels, in descending order of their total time. */
void tools_kernels_put(const struct tools *t, struct proto *p)
{
	const struct tools_kernel **sorted =
		calloc(t->kernel_count + 1, sizeof(struct tools_kernel *));
	if (!sorted) {
		p->failed = true;
		return;
	}
	for (uint32_t n = 0; n < t->kernel_count; n++)
		sorted[n] = &t->kernels[n];
	qsort(sorted, t->kernel_count, sizeof(struct tools_kernel *), by_total);
	for (uint32_t n = 0; n < t->kernel_count; n++)
		kernel_put(t, p, sorted[n]);
	free(sorted);
}

/* ---- operations ---- */

static void operation_put(const struct tools *t, struct proto *p, const struct tools_operation *o)
{
	const char *operation = tools_text(t, o->operation);
	const size_t bytes = operation_bytes(operation);
	size_t row = proto_open(p, OPERATIONS_ROW);
	proto_u64(p, OPERATION_SELF_PS, o->self_ns * TOOLS_PS_PER_NS);
	proto_u64(p, OPERATION_COUNT, o->count);
	if (o->name) { /* "range/kernel" */
		const char *name = tools_text(t, o->name);
		size_t text = proto_open(p, OPERATION_NAME);
		proto_bytes(p, operation, bytes);
		proto_bytes(p, "/", 1);
		proto_bytes(p, name, strlen(name));
		proto_close(p, text);
		proto_string(p, OPERATION_PROVENANCE, operation);
	} else {
		proto_text(p, OPERATION_NAME, operation, bytes);
	}
	proto_u64(p, OPERATION_PS, o->total_ns * TOOLS_PS_PER_NS);
	if (operation[bytes])
		proto_string(p, OPERATION_CATEGORY, operation + bytes + 1);
	proto_u64(p, OPERATION_MIN_PS, o->min_ns * TOOLS_PS_PER_NS);
	proto_close(p, row);
}

static uint64_t operations_put(
	const struct tools *t, struct proto *p, const struct tools_operations *o)
{
	uint64_t sum_ns = 0;
	for (uint32_t n = 0; n < o->count; n++) {
		operation_put(t, p, &o->rows[n]);
		sum_ns += o->rows[n].self_ns;
	}
	return sum_ns;
}

/* Write the operations of the host. A thread outside of all ranges is not necessarily idle, so no
 * idle time is written. */
void tools_host_put(const struct tools *t, struct proto *p)
{
	uint64_t sum_ns = operations_put(t, p, &t->host);
	proto_u64(p, OPERATIONS_TOTAL_PS, sum_ns * TOOLS_PS_PER_NS);
	proto_u64(p, OPERATIONS_BUSY_SUM_PS, sum_ns * TOOLS_PS_PER_NS);
}

/* Write the operations of devices. Between its first and its last work, a device is either busy or
 * idle. */
void tools_device_put(const struct tools *t, struct proto *p)
{
	uint64_t sum_ns = operations_put(t, p, &t->device), total_ns = 0, busy_ns = 0;
	for (uint32_t n = 0; n < t->devices_used; n++) {
		total_ns += t->devices[n].last_ns - t->devices[n].first_ns;
		busy_ns += t->devices[n].busy_ns;
	}
	const uint64_t idle_ps = (total_ns - busy_ns) * TOOLS_PS_PER_NS;
	size_t row = proto_open(p, OPERATIONS_ROW);
	proto_u64(p, OPERATION_SELF_PS, idle_ps);
	proto_string(p, OPERATION_NAME, "IDLE");
	proto_u64(p, OPERATION_PS, idle_ps);
	proto_string(p, OPERATION_CATEGORY, "IDLE");
	proto_close(p, row);
	proto_u64(p, OPERATIONS_TOTAL_PS, total_ns * TOOLS_PS_PER_NS);
	proto_u64(p, OPERATIONS_BUSY_SUM_PS, sum_ns * TOOLS_PS_PER_NS);
	proto_u64(p, OPERATIONS_IDLE_PS, idle_ps);
	proto_u64(p, OPERATIONS_BUSY_PS, busy_ns * TOOLS_PS_PER_NS);
}

/* ---- OpStats ---- */

static void environment_put(const struct tools *t, struct proto *p, const char *host)
{
	const struct ncu_devices *d = t->x.timeline->devices;
	uint32_t used = 0;
	for (uint32_t n = 0; n < t->devices_used; n++)
		used += t->devices[n].last_ns > 0;
	size_t environment = proto_open(p, STATS_ENVIRONMENT);
	proto_u64(p, ENVIRONMENT_HOSTS, 1);
	proto_u64(p, ENVIRONMENT_TASKS, 1);
	size_t entry = proto_open(p, ENVIRONMENT_HOSTNAME);
	proto_clean(p, MAP_KEY, host, strlen(host));
	proto_u64(p, MAP_VALUE, 1);
	proto_close(p, entry);
	if (d->count) {
		struct string_ref name = string_table_get(&t->x.timeline->contents.strings,
			(uint32_t)d->rows[0].columns[FIELD_CUDA_DEVICE_NAME]);
		proto_clean(p, ENVIRONMENT_DEVICE, name.bytes ? name.text : "GPU",
			name.bytes ? name.bytes : 3);
	} else {
		proto_string(p, ENVIRONMENT_DEVICE, used ? "GPU" : "CPU");
	}
	proto_u64(p, ENVIRONMENT_CORES, used);
	proto_u64(p, ENVIRONMENT_HARDWARE, used || d->count ? HARDWARE_GPU : HARDWARE_CPU);
	proto_close(p, environment);
}

static void diagnostics_put(const struct tools *t, struct proto *p)
{
	const struct process_list *l = &t->x.timeline->contents.processes;
	uint64_t dropped = 0, unended = processes_unended(l);
	char text[200];
	for (size_t n = 0; n < l->count; n++)
		dropped += process_dropped(l->rows[n]);
	size_t diagnostics = proto_open(p, STATS_DIAGNOSTICS);
	if (dropped) {
		snprintf(text, sizeof(text), "%" PRIu64 " events were not recorded", dropped);
		proto_string(p, DIAGNOSTICS_WARNING, text);
	}
	if (unended) {
		snprintf(text, sizeof(text), "%" PRIu64 " processes ended without a receipt",
			unended);
		proto_string(p, DIAGNOSTICS_WARNING, text);
	}
	proto_close(p, diagnostics);
}

static void part_put(const struct tools *t, struct proto *p, uint32_t field,
	void (*put)(const struct tools *t, struct proto *p))
{
	size_t part = proto_open(p, field);
	put(t, p);
	proto_close(p, part);
}

void tools_op_stats_put(const struct tools *t, struct proto *p)
{
	const Libtrace__Session *s = t->x.timeline->contents.session;
	const char *host = s && s->hostname ? s->hostname : "";
	part_put(t, p, STATS_HOST, tools_host_put);
	part_put(t, p, STATS_DEVICE, tools_device_put);
	part_put(t, p, STATS_STEPS, tools_steps_put);
	environment_put(t, p, host);
	part_put(t, p, STATS_KERNELS, tools_kernels_put);
	diagnostics_put(t, p);
	size_t entry = proto_open(p, STATS_CORE);
	proto_u64(p, MAP_KEY, CORE_OF_DEVICES);
	size_t core = proto_open(p, MAP_VALUE);
	proto_clean(p, CORE_HOSTNAME, host, strlen(host));
	proto_close(p, core);
	proto_close(p, entry);
}
