/* SPDX-License-Identifier: Apache-2.0 */
/* planes.c - writer for the planes of an XSpace, from events in the temporary file. */
#include "reader/export/xplane/planes.h"

#include <errno.h>
#include <string.h>

#include "common/utf8.h"
#include "reader/export/xplane/stats.h"

#define MADE_LINE_ID (1u << 30) /* greater than any id of a thread or stream */

/* Kinds of work on a stream, as XProf calls them. */
#define KIND(event, text)             \
	{                             \
		KIND_##event, 0, text \
	}
#define COPY(kind, text)                     \
	{                                    \
		KIND_CUDA_MEMCPY, kind, text \
	}
static const struct {
	uint32_t event;
	int64_t kind; /* kind of copies; 0 = any */
	const char *text;
} line_kinds[] = {KIND(CUDA_KERNEL, "Kernel"), COPY(1, "MemcpyH2D"), COPY(2, "MemcpyD2H"),
	COPY(8, "MemcpyD2D"), COPY(10, "MemcpyP2P"), COPY(0, "MemcpyOther"),
	KIND(CUDA_MEMSET, "Memset"), KIND(CUDA_GRAPH_TRACE, "Graph")};
#define LINE_KINDS (sizeof(line_kinds) / sizeof(line_kinds[0]))

uint32_t xplane_kind_bit(const struct timeline_item *i)
{
	for (uint32_t n = 0; n < LINE_KINDS; n++)
		if (line_kinds[n].event == i->row->event->number &&
			(!line_kinds[n].kind ||
				line_kinds[n].kind == i->row->values[i->kind->name]))
			return 1u << n;
	return 0;
}

static uint64_t line_id(const struct xplane *x, const struct xplane_line *line)
{
	const struct track *track = line->track;
	const bool thread = track->key.kind == TRACK_THREAD;
	if (track->overflow || (!thread && track->key.kind != TRACK_STREAM) ||
		(!thread && track->key.id == TRACK_UNKNOWN))
		return MADE_LINE_ID + track->number;
	for (uint32_t i = 0; i < track->number - 1;
		i++) { /* the id is in use by another process or context */
		const struct track *other = x->lines[i].track;
		if (other && x->lines[i].plane == line->plane && !other->overflow &&
			other->key.kind == track->key.kind && other->key.id == track->key.id &&
			other->key.tid == track->key.tid)
			return MADE_LINE_ID + track->number;
	}
	return thread ? track->key.tid : track->key.id;
}

static void line_name_put(struct xplane *x, struct proto *p, const struct xplane_line *line)
{
	char name[TRACK_NAME_BYTES], text[2 * TRACK_NAME_BYTES + 100];
	const struct track_key *key = &line->track->key;
	struct string_ref thread = timeline_thread_name(x->timeline, key->process, key->tid);
	const char *comma = "";
	track_name(line->track, name, sizeof(name));
	if (key->kind == TRACK_STREAM && key->id != TRACK_UNKNOWN) {
		size_t at = (size_t)snprintf(
			text, sizeof(text), "Stream #%llu(", (unsigned long long)key->id);
		for (uint32_t n = 0; n < LINE_KINDS; n++)
			if (line->kinds & 1u << n) {
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", comma,
					line_kinds[n].text);
				comma = ",";
			}
		snprintf(text + at, sizeof(text) - at, ")");
	} else if (key->kind == TRACK_THREAD || key->kind == TRACK_RANGES) {
		snprintf(text, sizeof(text), "%.100s/%u%s%s",
			thread.bytes ? thread.text : "Host Threads", key->tid,
			key->kind == TRACK_RANGES || line->track->overflow ? "/" : "",
			key->kind == TRACK_RANGES || line->track->overflow ? name : "");
	} else {
		snprintf(text, sizeof(text), "%s", name);
	}
	proto_clean(p, LINE_NAME, text, strlen(text));
}

/* Write a line except its events. */
static void line_head(struct xplane *x, struct proto *p, const struct xplane_line *line)
{
	p->used = 0;
	proto_u64(p, LINE_ID, line_id(x, line));
	line_name_put(x, p, line);
}

static void metadata_put(struct proto *p, uint32_t field, uint64_t id, const char *name)
{
	size_t entry = proto_open(p, field);
	proto_u64(p, MAP_KEY, id);
	size_t value = proto_open(p, MAP_VALUE);
	proto_u64(p, METADATA_ID, id);
	proto_string(p, METADATA_NAME, name);
	proto_close(p, value);
	proto_close(p, entry);
}

static void plane_texts(struct xplane *x, struct proto *p, const struct xplane_plane *plane)
{
	for (uint32_t n = 1; n < XPLANE_STATS; n++)
		metadata_put(p, PLANE_STAT_METADATA, n, xplane_stat_name((enum xplane_stat)n));
	for (uint32_t n = 0; n < plane->room && n < x->text_count; n++) {
		if (plane->uses[n] & XPLANE_NAME)
			metadata_put(p, PLANE_EVENT_METADATA, n + 1, x->by_number[n]);
		if (plane->uses[n] & XPLANE_VALUE)
			metadata_put(p, PLANE_STAT_METADATA, XPLANE_STATS + n + 1, x->by_number[n]);
	}
}

static void stat_text(struct proto *p, enum xplane_stat stat, const char *text, size_t bytes)
{
	size_t message = proto_open(p, PLANE_STAT);
	proto_u64(p, STAT_METADATA, stat);
	proto_clean(p, STAT_TEXT, text, bytes);
	proto_close(p, message);
}

static void plane_device(struct xplane *x, struct proto *p, const struct xplane_plane *plane)
{
	const uint64_t *c = timeline_gpu(x->timeline, plane->device);
	stat_text(p, XPLANE_STAT_VENDOR, "Nvidia", strlen("Nvidia"));
	if (!c)
		return;
	struct string_ref name = string_table_get(
		&x->timeline->contents.strings, (uint32_t)c[FIELD_CUDA_DEVICE_NAME]);
	stat_text(p, XPLANE_STAT_DEVICE_NAME, name.bytes ? name.text : "", name.bytes);
	xplane_stat_i64(
		p, PLANE_STAT, XPLANE_STAT_CLOCK, (int64_t)c[FIELD_CUDA_DEVICE_CORE_CLOCK_RATE]);
	xplane_stat_i64(
		p, PLANE_STAT, XPLANE_STAT_CORES, (int64_t)c[FIELD_CUDA_DEVICE_MULTIPROCESSORS]);
	xplane_stat_u64(p, PLANE_STAT, XPLANE_STAT_BANDWIDTH,
		c[FIELD_CUDA_DEVICE_GLOBAL_MEMORY_BANDWIDTH] * 1000);
	xplane_stat_u64(p, PLANE_STAT, XPLANE_STAT_MEMORY, c[FIELD_CUDA_DEVICE_GLOBAL_MEMORY_SIZE]);
	xplane_stat_i64(p, PLANE_STAT, XPLANE_STAT_MAJOR,
		(int64_t)c[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR]);
	xplane_stat_i64(p, PLANE_STAT, XPLANE_STAT_MINOR,
		(int64_t)c[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR]);
}

/* Write a plane except its lines. */
static void plane_head(struct xplane *x, struct proto *p, const struct xplane_plane *plane)
{
	char name[40] = "/host:CPU";
	p->used = 0;
	if (plane->is_device) {
		snprintf(name, sizeof(name), "/device:GPU:%u", plane->device);
		proto_u64(p, PLANE_ID, plane->device);
	}
	proto_string(p, PLANE_NAME, name);
	plane_texts(x, p, plane);
	if (plane->is_device)
		plane_device(x, p, plane);
}

/* Write tag and length of a message of `bytes`. */
static int head_write(FILE *out, uint32_t field, uint64_t bytes)
{
	uint8_t head[PROTO_NUMBER_BYTES], *at = varint_put_tag(head, field, WIRE_BYTES);
	at = varint_put(at, bytes);
	size_t length = (size_t)(at - head);
	return fwrite(head, 1, length, out) == length ? 0 : -EPIPE;
}

static uint64_t head_bytes(uint64_t bytes)
{
	return 1 + varint_bytes(bytes);
}

static int plane_write(struct xplane *x, uint32_t number, struct proto *p, FILE *out)
{
	const struct xplane_plane *plane = &x->planes[number];
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < x->line_room; i++)
		if (x->lines[i].track && x->lines[i].plane == number) {
			line_head(x, p, &x->lines[i]);
			uint64_t line = p->used + x->lines[i].events.bytes;
			bytes += head_bytes(line) + line;
		}
	plane_head(x, p, plane);
	int error = p->failed ? -ENOMEM : head_write(out, SPACE_PLANE, p->used + bytes);
	if (!error)
		error = proto_flush(p, out, true);
	for (uint32_t i = 0; !error && i < x->line_room; i++) {
		if (!x->lines[i].track || x->lines[i].plane != number)
			continue;
		line_head(x, p, &x->lines[i]);
		error = p->failed ? -ENOMEM
				  : head_write(out, PLANE_LINE, p->used + x->lines[i].events.bytes);
		if (!error)
			error = proto_flush(p, out, true);
		if (!error)
			error = temporary_stream_copy(&x->temporary, &x->lines[i].events, out);
	}
	return error;
}

/* Write start and end of the session in wall-clock time. */
static void put_environment(struct xplane *x, struct proto *p)
{
	const Libtrace__Session *s = x->timeline->contents.session;
	const uint64_t start = s ? s->start_realtime_ns : 0;
	size_t plane = proto_open(p, SPACE_PLANE);
	proto_string(p, PLANE_NAME, "Task Environment");
	metadata_put(
		p, PLANE_STAT_METADATA, XPLANE_STAT_START, xplane_stat_name(XPLANE_STAT_START));
	metadata_put(p, PLANE_STAT_METADATA, XPLANE_STAT_STOP, xplane_stat_name(XPLANE_STAT_STOP));
	xplane_stat_u64(p, PLANE_STAT, XPLANE_STAT_START, start);
	xplane_stat_u64(p, PLANE_STAT, XPLANE_STAT_STOP, start + x->last_ns - x->origin_ns);
	proto_close(p, plane);
	if (s && s->hostname)
		proto_clean(p, SPACE_HOSTNAME, s->hostname, strlen(s->hostname));
}

int xplane_finish(struct xplane *x, FILE *out)
{
	struct proto p = {0};
	int error = 0;
	for (uint32_t i = 0; !error && i < x->plane_count; i++)
		error = plane_write(x, i, &p, out);
	if (!error) {
		put_environment(x, &p);
		error = proto_flush(&p, out, true);
	}
	proto_release(&p);
	return error;
}
