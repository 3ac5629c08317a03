/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_xspace.c - the facts of an XSpace: where and when it was recorded, its devices, its
 * events.
 */
#include "reader/cli/report/overview_xspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/report/overview_fact.h"
#include "reader/xspace/xspace.h"

#define DEVICE_PLANE "/device:"
#define DERIVED "CUSTOM" /* kind of planes with what a profiler derived */
#define TEXT_BYTES 300u

/* A kind of device, and how many of it there are. */
struct device {
	char kind[24], text[160];
	unsigned count;
};

#define DEVICES_MAX 8u

struct gathered {
	struct device devices[DEVICES_MAX];
	uint32_t device_count;
	uint64_t events, lines, planes; /* lines and planes with events */
	int64_t first_ns, last_ns;      /* of all events; the first is later if there are none */
	int64_t profile_start, profile_stop; /* ns since 1970; 0 = unknown */
};

static bool is_number(const struct xspace_stat *s)
{
	return s->kind == XSPACE_I64 || s->kind == XSPACE_U64;
}

/* Describe a device: "NVIDIA H100 (132 cores, 85.9 GB)"; without a name its vendor. */
static void device_describe(const struct xspace_plane *plane, char *text, size_t room)
{
	struct xspace_stat s;
	struct xspace_text name = {0}, vendor = {0};
	uint64_t cores = 0, memory = 0;
	const uint8_t *at = plane->at;
	while (xspace_stat_next(plane, XSPACE_PLANE_STAT, &at, plane->end, &s)) {
		if (xspace_text_is(s.name, "gpu_device_name") ||
			xspace_text_is(s.name, "device_type_string"))
			name = s.text;
		else if (xspace_text_is(s.name, "device_vendor"))
			vendor = s.text;
		else if (xspace_text_is(s.name, "core_count") && is_number(&s))
			cores = s.number;
		else if (xspace_text_is(s.name, "memory_size") && is_number(&s))
			memory = s.number;
	}
	const struct xspace_text shown = name.bytes ? name : vendor;
	int bytes = snprintf(text, room, "%.*s",
		shown.bytes < room / 2 ? (int)shown.bytes : (int)(room / 2),
		shown.bytes ? shown.text : "");
	char count[32] = "", size[32] = "";
	if (cores)
		snprintf(count, sizeof(count), "%" PRIu64 " cores", cores);
	if (memory)
		snprintf(size, sizeof(size), "%s%.1f GB", cores ? ", " : "", (double)memory / 1e9);
	if (bytes >= 0 && (size_t)bytes < room && (cores || memory))
		snprintf(text + bytes, room - (size_t)bytes, "%s(%s%s)", bytes ? " " : "", count,
			size);
}

/* Count a plane "/device:KIND:number". Other planes are not of a device. */
static void device_add(struct gathered *g, const struct xspace_plane *plane)
{
	struct device d = {.count = 1};
	const size_t skipped = strlen(DEVICE_PLANE);
	if (plane->name.bytes <= skipped || memcmp(plane->name.text, DEVICE_PLANE, skipped))
		return;
	const char *kind = plane->name.text + skipped;
	size_t bytes = plane->name.bytes - skipped;
	const char *colon = memchr(kind, ':', bytes);
	bytes = colon ? (size_t)(colon - kind) : bytes;
	snprintf(d.kind, sizeof(d.kind), "%.*s",
		bytes < sizeof(d.kind) ? (int)bytes : (int)sizeof(d.kind) - 1, kind);
	if (!strcmp(d.kind, DERIVED))
		return;
	device_describe(plane, d.text, sizeof(d.text));
	uint32_t i = 0;
	while (i < g->device_count &&
		(strcmp(g->devices[i].kind, d.kind) != 0 ||
			strcmp(g->devices[i].text, d.text) != 0))
		i++;
	if (i < g->device_count)
		g->devices[i].count++;
	else if (i < DEVICES_MAX)
		g->devices[g->device_count++] = d;
}

static void lines_add(struct gathered *g, const struct xspace_plane *plane)
{
	const uint64_t before = g->lines;
	for (uint32_t i = 0; i < plane->line_count; i++) {
		const struct xspace_line *l = &plane->lines[i];
		if (!l->events)
			continue;
		const int64_t first = (int64_t)((uint64_t)l->timestamp_ns +
				      (uint64_t)(l->first_ps / 1000)),
			      last = (int64_t)((uint64_t)l->timestamp_ns +
				      (uint64_t)(l->last_ps / 1000));
		g->first_ns = first < g->first_ns ? first : g->first_ns;
		g->last_ns = last > g->last_ns ? last : g->last_ns;
		g->events += l->events;
		g->lines++;
	}
	g->planes += g->lines > before;
}

static void times_add(struct gathered *g, const struct xspace_plane *plane)
{
	struct xspace_stat s;
	const uint8_t *at = plane->at;
	while (xspace_stat_next(plane, XSPACE_PLANE_STAT, &at, plane->end, &s)) {
		if (is_number(&s) && xspace_text_is(s.name, "profile_start_time"))
			g->profile_start = (int64_t)s.number;
		else if (is_number(&s) && xspace_text_is(s.name, "profile_stop_time"))
			g->profile_stop = (int64_t)s.number;
	}
}

static void hosts_add(struct overview *o, const struct xspace *x)
{
	char hosts[TEXT_BYTES] = "";
	size_t length = 0;
	for (uint32_t i = 0; i < x->hostname_count && length < sizeof(hosts); i++) {
		const struct xspace_text *t = &x->hostnames[i];
		const int bytes = t->bytes < sizeof(hosts) ? (int)t->bytes : (int)sizeof(hosts);
		if (bytes)
			length += (size_t)snprintf(hosts + length, sizeof(hosts) - length, "%s%.*s",
				length ? ", " : "", bytes, t->text);
	}
	if (*hosts)
		overview_fact(o, "host", "%s", hosts);
}

static void devices_add(struct overview *o, const struct gathered *g)
{
	for (uint32_t i = 0; i < g->device_count; i++) {
		const struct device *d = &g->devices[i];
		const bool is_gpu = !strcmp(d->kind, "GPU");
		char count[16] = "";
		if (d->count > 1)
			snprintf(count, sizeof(count), "%u x ", d->count);
		overview_fact(o, is_gpu ? "GPU" : "device", "%s%s%s%s", count,
			is_gpu ? "" : d->kind, !is_gpu && *d->text ? " " : "",
			*d->text || !is_gpu ? d->text : "of unknown name");
	}
}

static void times_print(struct overview *o, const struct gathered *g)
{
	char began[OVERVIEW_TIME_BYTES];
	const bool known = g->profile_start > 0 && g->profile_stop > g->profile_start;
	if (g->profile_start > 0 && overview_time(g->profile_start, began))
		overview_fact(o, "began", "%s", began);
	if (known)
		overview_fact(
			o, "lasted", "%.6f s", (double)(g->profile_stop - g->profile_start) / 1e9);
	else if (g->last_ns >= g->first_ns)
		overview_fact(o, "lasted", "%.6f s, from the first event to the last",
			((double)g->last_ns - (double)g->first_ns) / 1e9);
}

int overview_add_xspace(struct overview *o, const char *file)
{
	struct xspace x;
	struct gathered g = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
	int error = xspace_open(&x, file);
	if (error)
		return error == -EBADMSG ? 0 : error; /* reported when the events are read */
	for (uint32_t i = 0; i < x.plane_count; i++) {
		device_add(&g, &x.planes[i]);
		lines_add(&g, &x.planes[i]);
		times_add(&g, &x.planes[i]);
	}
	hosts_add(o, &x);
	devices_add(o, &g);
	times_print(o, &g);
	overview_fact(o, "version", "XSpace of a profiler (XProf, JAX, TensorFlow)");
	overview_fact(o, "events", "%" PRIu64 " in %" PRIu64 " lines of %" PRIu64 " planes",
		g.events, g.lines, g.planes);
	if (x.errors || x.warnings)
		overview_fact(o, "problems",
			"the profiler reported %" PRIu64 " errors and %" PRIu64 " warnings",
			x.errors, x.warnings);
	xspace_close(&x);
	return 0;
}
