/* SPDX-License-Identifier: Apache-2.0 */
/* tracks.c - tracks of a timeline, and the slices that are open on each. */
#define _GNU_SOURCE
#include "reader/export/timeline/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/report/contents.h"

void tracks_init(struct tracks *l, const struct contents *contents)
{
	*l = (struct tracks){.contents = contents};
}

void tracks_release(struct tracks *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		free(l->rows[i]->open_ns);
		free(l->rows[i]);
	}
	free(l->rows);
	map_release(&l->by_key);
	map_release(&l->by_text);
	pool_release(&l->texts);
	*l = (struct tracks){0};
}

static struct track *track_new(struct tracks *l, const struct track_key *key)
{
	if (array_room(&l->rows, l->count, &l->capacity, sizeof(struct track *)))
		return NULL;
	struct track *track = calloc(1, sizeof(*track));
	if (!track)
		return NULL;
	track->key = *key;
	l->rows[l->count++] = track;
	track->number = l->count;
	return track;
}

/* Set the parent of a track. */
static bool track_adopt(struct tracks *l, struct track *track)
{
	const bool of_thread = track->key.kind == TRACK_RANGES || track->key.kind == TRACK_STATES;
	struct track_key key = {.process = track->key.process,
		.kind = of_thread ? TRACK_THREAD : TRACK_PROCESS,
		.tid = of_thread ? track->key.tid : 0};
	if (track->key.kind == TRACK_PROCESS)
		return true;
	const struct track *parent = track_find(l, &key);
	track->parent = parent ? parent->number : 0;
	return parent;
}

/* Return the track of a key that is not in by_key; it may exist under another id of the same domain
 * name. `a`: the key without domain and id. */
static struct track *track_new_or_same(struct tracks *l, const struct track_key *key, uint64_t a)
{
	struct string_ref domain = string_table_get(&l->contents->strings, key->domain);
	const char *name = pool_text(&l->texts, domain.text ? domain.text : "", domain.bytes);
	char *text = NULL;
	int bytes = asprintf(&text, "%llu:%s", (unsigned long long)key->id, name ? name : "");
	const char *kept = name && bytes > 0 ? pool_text(&l->texts, text, (size_t)bytes) : NULL;
	if (bytes >= 0)
		free(text);
	if (!kept)
		return NULL;
	uint32_t known = map_get(&l->by_text, a, (uint64_t)(uintptr_t)kept);
	if (known)
		return l->rows[known - 1];
	struct track *track = track_new(l, key);
	if (!track || map_put(&l->by_text, a, (uint64_t)(uintptr_t)kept, track->number) ||
		!track_adopt(l, track))
		return NULL;
	track->domain = name;
	return track;
}

struct track *track_find(struct tracks *l, const struct track_key *key)
{
	const uint32_t index = key->kind == TRACK_STREAM || key->kind == TRACK_WAITS ? key->context
		: key->kind == TRACK_DEVICE_MEMORY || key->kind == TRACK_METRIC      ? key->device
										     : key->tid;
	const uint64_t a = (uint64_t)key->process->id << 36 | (uint64_t)key->kind << 32 | index;
	const uint64_t b = key->id << 32 | key->domain;
	const bool is_short = key->id <= UINT32_MAX;
	uint32_t known = is_short ? map_get(&l->by_key, a, b) : 0;
	if (known)
		return l->rows[known - 1];
	struct track *track = track_new_or_same(l, key, a);
	if (!track || (is_short && map_put(&l->by_key, a, b, track->number)))
		return NULL;
	return track;
}

static void track_end_until(struct tracks *l, struct track *track, uint64_t ns)
{
	while (track->open_count && track->open_ns[track->open_count - 1] <= ns) {
		track->open_count--;
		if (l->ended)
			l->ended(l->user, track, track->open_ns[track->open_count]);
	}
}

/* Append an overflow to a track. */
static struct track *track_overflow(struct tracks *l, struct track *track)
{
	struct track *more = track_new(l, &track->key);
	if (!more)
		return NULL;
	more->parent = track->parent;
	more->domain = track->domain;
	more->overflow = track->overflow + 1;
	track->next = more;
	return more;
}

int track_open(struct tracks *l, struct track *track, uint64_t start_ns, uint64_t end_ns,
	struct track **ret_track)
{
	*ret_track = NULL;
	for (;; track = track->next) {
		track_end_until(l, track, start_ns);
		if (!track->open_count || track->open_ns[track->open_count - 1] >= end_ns)
			break;
		if (!track->next && track->overflow == TRACK_OVERFLOWS_MAX)
			return 0;
		if (!track->next && !track_overflow(l, track))
			return -ENOMEM;
	}
	if (array_room(&track->open_ns, track->open_count, &track->open_capacity,
		    sizeof(*track->open_ns)))
		return -ENOMEM;
	track->open_ns[track->open_count++] = end_ns;
	*ret_track = track;
	return 0;
}

void tracks_end(struct tracks *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		track_end_until(l, l->rows[i], UINT64_MAX);
}

static const char *memory_kind(uint64_t kind)
{
	static const char *const names[] = {"unknown", "pageable", "pinned", "device", "array",
		"managed", "device static", "managed static"};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

static const char *nccl_kind(uint64_t kind)
{
	static const char *const names[] = {
#define NCCL_KIND(bit, id, name) [bit] = name,
#include "common/schema/nccl.def"
	};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

static const char *metric_name(uint32_t kind, uint32_t field)
{
#define MACHINE_METRIC(event, field_, name)                            \
	if (kind == KIND_##event && field == FIELD_##event##_##field_) \
		return name;
#include "common/schema/machine.def"
	return "";
}

/* Name a value of samples of the machine: "GPU 0, NVML power [mW]", "eth0, sent [bytes/s]". */
static int machine_name(const struct track *track, char *out, size_t bytes)
{
	const uint32_t kind = (uint32_t)(track->key.id >> 24),
		       device = (uint32_t)(track->key.id & 0xffff);
	const char *metric = metric_name(kind, (uint32_t)(track->key.id >> 16 & 0xff));
	if (kind == KIND_GPU_SAMPLE)
		return snprintf(out, bytes, "GPU %u, %s", device, metric);
	if (kind == KIND_NIC_SAMPLE && device)
		return snprintf(out, bytes, "%.60s port %u, %s", track->domain, device, metric);
	return snprintf(
		out, bytes, "%.60s, %s", kind == KIND_NIC_SAMPLE ? track->domain : "CPUs", metric);
}

/* Print what is known of a stream: ", context 1, stream 7", or nothing. */
static void stream_name(const struct track_key *k, char *out, size_t bytes)
{
	int used = 0;
	*out = 0;
	if (k->context != TRACK_UNKNOWN)
		used = snprintf(out, bytes, ", context %u", k->context);
	if (k->id != TRACK_UNKNOWN)
		snprintf(out + used, bytes - (size_t)used, ", stream %u", (unsigned)k->id);
}

void track_name(const struct track *track, char *out, size_t bytes)
{
	const struct track_key *k = &track->key;
	char stream[64];
	int used = 0;
	switch (k->kind) {
	case TRACK_STATES:
		used = snprintf(out, bytes, "states of the thread");
		break;
	case TRACK_RANGES:
		used = snprintf(
			out, bytes, "NVTX%s%.200s", *track->domain ? ":" : "", track->domain);
		break;
	case TRACK_SPANS:
		used = snprintf(out, bytes, "NVTX%s%.200s, start and end",
			*track->domain ? ":" : "", track->domain);
		break;
	case TRACK_STREAM:
		stream_name(k, stream, sizeof(stream));
		used = snprintf(out, bytes, "GPU %u%s", k->device, stream);
		break;
	case TRACK_WAITS:
		stream_name(k, stream, sizeof(stream));
		used = snprintf(out, bytes, "waits%s", stream);
		break;
	case TRACK_UNIFIED_MEMORY:
		used = snprintf(out, bytes, "unified memory");
		break;
	case TRACK_OVERHEAD:
		used = snprintf(out, bytes, "CUDA overhead");
		break;
	case TRACK_NCCL:
		used = snprintf(out, bytes, "NCCL: %s", nccl_kind(k->id));
		break;
	case TRACK_DEVICE_MEMORY:
		used = snprintf(
			out, bytes, "GPU %u, %s memory in use", k->device, memory_kind(k->id));
		break;
	case TRACK_METRIC:
		used = snprintf(out, bytes, "GPU %u, %.200s", k->device, track->domain);
		break;
	case TRACK_MACHINE:
		used = machine_name(track, out, bytes);
		break;
	case TRACK_NVTX_COUNTER:
		used = snprintf(out, bytes, "NVTX%s%.200s, counter %llu", *track->domain ? ":" : "",
			track->domain, (unsigned long long)k->id);
		break;
	case TRACK_THREAD:
		used = snprintf(out, bytes, "thread %u", k->tid);
		break;
	case TRACK_PROCESS:
		used = snprintf(out, bytes, "process %u", k->process->facts->pid);
		break;
	}
	if (track->overflow && used >= 0 && (size_t)used < bytes)
		snprintf(out + used, bytes - (size_t)used, " (%u)", track->overflow + 1);
}
