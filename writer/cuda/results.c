/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - launches of kernels as standard entries of the report.
 */
#include "writer/cuda/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cuda/cuda_spool.h"
#include "common/ncu/launch.h"
#include "writer/base/names.h"
#include "writer/base/notes.h"
#include "writer/base/output.h"
#include "writer/base/writer.h"
#include "writer/cuda/cubins.h"
#include "writer/cuda/launch_stack.h"
#include "writer/cuda/launches.h"

#define LAUNCHES_MAX 1000u
#define LAUNCHES_ANY (LAUNCHES_MAX / 2) /* maximum for launches of any kernel and shape */
#define DEVICES_MAX 32u
#define NAMES_MAX LAUNCHES_MAX
#define RESULTS_BYTES_MAX (16u << 20) /* per process: 16 KiB per launch; most need 1 to 4 */

struct launch {
	uint32_t tid;
	const struct launch_call *call; /* NULL = not known */
	uint32_t name;                  /* index in results.names */
	uint64_t duration_ns;
	uint64_t values[LAUNCH_COLUMNS]; /* values by column number */
};

struct kernel_name {
	uint32_t ref;
	char *text;
};

struct results {
	struct launch *launches;
	uint32_t launch_count, launch_capacity;
	struct kernel_name names[NAMES_MAX];
	uint32_t name_count;
	uint64_t devices[DEVICES_MAX][LAUNCH_DEVICE_COLUMNS];
	char *device_names[DEVICES_MAX];
	uint32_t device_count;
	uint32_t cuda_version;              /* driver version: 13000 is 13.0; 0 = not known */
	uint32_t without_call;              /* launches whose call is not known */
	bool begun;                         /* the note has been written */
	uint32_t launches_put, devices_put; /* next indexes, to continue after a full disk */
	uint64_t bytes_put;
};

static void results_release(void *data)
{
	struct results *r = data;
	for (uint32_t i = 0; i < r->name_count; i++)
		free(r->names[i].text);
	for (uint32_t i = 0; i < r->device_count; i++)
		free(r->device_names[i]);
	free(r->launches);
}

static struct results *results_of(struct spool *spool)
{
	return slot_get(&spool->slots[SLOT_RESULTS], sizeof(struct results), results_release);
}

/* ---- records ---- */

static char *text_of(struct spool *spool, uint32_t ref)
{
	const char *text;
	uint32_t bytes = spool_name_text(spool, ref, &text);
	return strndup(bytes ? text : "?", bytes ? bytes : 1);
}

/* Replace all but ASCII: fields of type string must be UTF-8. */
static char *ascii_only(char *text)
{
	for (char *p = text; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	return text;
}

/* Keep the name of a kernel. Return its index in names, or -1. */
static int name_keep(struct results *r, struct spool *spool, uint32_t ref)
{
	for (uint32_t i = r->name_count; i-- > 0;)
		if (r->names[i].ref == ref)
			return (int)i;
	if (r->name_count == NAMES_MAX)
		return -1;
	char *text = ascii_only(text_of(spool, ref));
	if (!text)
		return -1;
	r->names[r->name_count] = (struct kernel_name){ref, text};
	return (int)r->name_count++;
}

static bool is_same_shape(const uint64_t *a, const uint64_t *b)
{
	static const uint8_t columns[] = {CUDA_KERNEL_NAME, CUDA_KERNEL_GRID_X, CUDA_KERNEL_GRID_Y,
		CUDA_KERNEL_GRID_Z, CUDA_KERNEL_BLOCK_X, CUDA_KERNEL_BLOCK_Y, CUDA_KERNEL_BLOCK_Z};
	for (size_t i = 0; i < sizeof(columns); i++)
		if (a[columns[i] + 1] != b[columns[i] + 1])
			return false;
	return true;
}

static bool is_wanted(const struct results *r, const uint64_t *values)
{
	if (r->launch_count < LAUNCHES_ANY)
		return true;
	if (r->launch_count == LAUNCHES_MAX)
		return false;
	for (uint32_t i = 0; i < r->launch_count; i++)
		if (is_same_shape(r->launches[i].values, values))
			return false;
	return true;
}

void results_note_kernel(
	struct spool *spool, const uint64_t *values, uint64_t duration_ns, uint32_t tid)
{
	struct results *r = results_of(spool);
	if (!r || !is_wanted(r, values))
		return;
	if (array_room(&r->launches, r->launch_count, &r->launch_capacity, sizeof(*r->launches)))
		return;
	int name = name_keep(r, spool, (uint32_t)values[CUDA_KERNEL_NAME + 1]);
	if (name < 0)
		return;
	struct launch *l = &r->launches[r->launch_count++];
	*l = (struct launch){.tid = tid,
		.call = launches_keep(
			launches_of(spool), (uint32_t)values[CUDA_KERNEL_CORRELATION_ID + 1]),
		.name = (uint32_t)name,
		.duration_ns = duration_ns};
	memcpy(l->values, values, sizeof(l->values));
	r->without_call += !l->call;
}

/* Return the index of a device, or -1. */
static int device_of(const struct results *r, uint64_t id)
{
	for (uint32_t i = 0; i < r->device_count; i++)
		if (r->devices[i][CUDA_DEVICE_DEVICE_ID + 1] == id)
			return (int)i;
	return -1;
}

void results_note_device(struct spool *spool, const uint64_t *values)
{
	struct results *r = results_of(spool);
	if (!r || r->device_count == DEVICES_MAX)
		return;
	if (device_of(r, values[CUDA_DEVICE_DEVICE_ID + 1]) >= 0)
		return;
	char *name = ascii_only(text_of(spool, (uint32_t)values[CUDA_DEVICE_NAME + 1]));
	if (!name)
		return;
	memcpy(r->devices[r->device_count], values, LAUNCH_COLUMNS * sizeof(*values));
	r->device_names[r->device_count++] = name;
}

void results_note_attribute(struct spool *spool, const uint64_t *values)
{
	struct results *r = results_of(spool);
	int device = r ? device_of(r, values[CUDA_DEVICE_ATTRIBUTE_DEVICE_ID + 1]) : -1;
	if (device >= 0)
		launch_attribute_note(r->devices[device],
			values[CUDA_DEVICE_ATTRIBUTE_ATTRIBUTE + 1],
			values[CUDA_DEVICE_ATTRIBUTE_VALUE + 1]);
}

void results_note_setup(struct spool *spool, const uint64_t *values)
{
	struct results *r = results_of(spool);
	if (r)
		r->cuda_version = (uint32_t)values[CUDA_SETUP_DRIVER_VERSION + 1];
}

/* Find the base name in a mangled name: `_Z3addPf` is add, `_ZN2ns3addE...` is add; any other name
 * is returned whole. Return the length of the name. */
static size_t base_name(const char *mangled, const char **ret_name)
{
	const char *p = mangled, *name = mangled;
	size_t bytes = strlen(mangled), left;
	*ret_name = mangled;
	if (strncmp(p, "_Z", 2))
		return bytes;
	for (p += p[2] == 'N' ? 3 : 2; *p >= '1' && *p <= '9'; p += left) {
		char *end;
		left = strtoul(p, &end, 10);
		p = end;
		if (left > strlen(p))
			return bytes;
		name = p;
		bytes = left;
	}
	*ret_name = name;
	return bytes;
}

/* Store callchain and NVTX state of the call in the entry. Call launch_nvtx_release() and
 * launch_stack_release() afterwards. */
static void call_fill(struct launch_entry *entry, struct launch_stack *stack,
	struct launch_nvtx *nvtx, struct spool *spool, const struct launch_call *call)
{
	static struct launch_range ranges[LAUNCH_RANGES_MAX];
	*nvtx = (struct launch_nvtx){.broken = false};
	if (!call)
		return;
	entry->result.cpu_stack = launch_stack_fill(stack, spool, call);
	if (!spool->has_nvtx)
		return;
	uint32_t count = launches_ranges(launches_of(spool), call, ranges);
	if (!launch_nvtx_fill(nvtx, ranges, count, call->tid))
		entry->result.nvtx = &nvtx->message;
}

static void launch_put(struct writer *w, struct spool *spool, const struct launch *l)
{
	const struct results *r = spool->slots[SLOT_RESULTS].data;
	static struct launch_stack stack;
	struct launch_nvtx nvtx;
	static struct launch_entry entry;
	const char *base, *mangled = r->names[l->name].text;
	struct launch_facts facts = {.kernel = l->values,
		.duration_ns = l->duration_ns,
		.tid = l->tid,
		.kernel_id = l->name + 1,
		.mangled = mangled,
		.source = cubins_reference(
			spool, (uint32_t)l->values[CUDA_KERNEL_CONTEXT_ID + 1], mangled)};
	int device = device_of(r, l->values[CUDA_KERNEL_DEVICE_ID + 1]);
	if (device >= 0) {
		facts.device = r->devices[device];
		facts.device_name = r->device_names[device];
	}
	size_t bytes = base_name(mangled, &base);
	char *function = strndup(base, bytes);
	facts.function = function ? function : mangled;
	/* Readers derive the names of templates and parameters; if this is "", they show the
	 * mangled name. */
	facts.demangled = base == mangled ? "" : facts.function;
	launch_entry_fill(&entry, &facts);
	call_fill(&entry, &stack, &nvtx, spool, l->call);
	block_put_result(&w->report.block, &entry.result, launch_metric_names, launch_metric_count);
	launch_nvtx_release(&nvtx);
	launch_stack_release(&stack);
	free(function);
}

/* Return the attributes of a device as session details. Valid until the next call. */
static const Libtrace__SessionDetails *device_details(const struct results *r, uint32_t number)
{
	static struct launch_device device;
	static Ncu__DeviceAttributes *devices = &device.message;
	static Libtrace__SessionDetails details;
	libtrace__session_details__init(&details);
	launch_device_fill(&device, r->devices[number], r->device_names[number]);
	details.n_device_attributes = 1;
	details.device_attributes = &devices;
	/* The version is written once, because readers merge the details of all blocks. */
	if (r->cuda_version && !number) {
		static Libtrace__VersionInfo version, *versions = &version;
		static char text[24];
		snprintf(text, sizeof(text), "%u.%u", r->cuda_version / 1000,
			r->cuda_version % 1000 / 10);
		libtrace__version_info__init(&version);
		version.provider = (char *)(uintptr_t) "CUDA Version";
		version.version = text;
		details.n_versions = 1;
		details.versions = &versions;
	}
	return &details;
}

static void results_begin(struct writer *w, const struct spool *spool, struct results *r)
{
	if (!r->begun && r->without_call)
		writer_note(w, spool->pid, w->clock.now.mono_ns,
			"CUDA: %u of %u listed launches have no callchain and NVTX ranges, since "
			"those of their calls were already discarded",
			r->without_call, r->launch_count);
	r->begun = true;
}

/* A launch that is in the block counts as written, because a block that cannot be written is
 * kept. */
static int launches_put(struct writer *w, struct spool *spool, struct results *r)
{
	int error = 0;
	while (!error && r->launches_put < r->launch_count && r->bytes_put < RESULTS_BYTES_MAX) {
		size_t before = w->report.block.results.bytes;
		launch_put(w, spool, &r->launches[r->launches_put++]);
		r->bytes_put += w->report.block.results.bytes - before;
		error = writer_make_room(w);
	}
	if (!error && r->launches_put < r->launch_count) {
		writer_note(w, spool->pid, w->clock.now.mono_ns,
			"CUDA: %u of %u launches have no result, since callchains and NVTX ranges "
			"of the others fill %u MiB; all launches are events of the report",
			r->launch_count - r->launches_put, r->launch_count,
			RESULTS_BYTES_MAX >> 20);
		r->launches_put = r->launch_count;
	}
	return error;
}

int results_put(struct writer *w, struct spool *spool)
{
	struct results *r = spool->slots[SLOT_RESULTS].data;
	if (!r)
		return 0;
	results_begin(w, spool, r);
	int error = launches_put(w, spool, r);
	/* Write one block per device: device_details() has room for one device, until the header of
	 * its block is written. */
	while (r->launch_count && !error && r->devices_put < r->device_count) {
		block_put_session(&w->report.block, device_details(r, r->devices_put++));
		error = writer_flush(w, false);
	}
	if (error)
		return error;
	slot_release(&spool->slots[SLOT_RESULTS]);
	return 0;
}
