/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "reader/export/timeline/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/report/contents.h"

void lanes_init(struct lanes *l, const struct contents *contents)
{
	*l = (struct lanes){.contents = contents};
}

void lanes_release(struct lanes *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		free(l->rows[i]->open_ns);
		free(l->rows[i]);
	}
	free(l->rows);
	map_release(&l->by_key);
	map_release(&l->by_text);
	pool_release(&l->texts);
	*l = (struct lanes){0};
}

static struct lane *lane_new(struct lanes *l, const struct lane_key *key)
{
	if (array_room(&l->rows, l->count, &l->capacity, sizeof(struct lane *)))
		return NULL;
	struct lane *lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->key = *key;
	l->rows[l->count++] = lane;
	lane->number = l->count;
	return lane;
}

/* What the lane lies under. */
static bool lane_adopt(struct lanes *l, struct lane *lane)
{
	struct lane_key key = {.process = lane->key.process,
		.kind = lane->key.kind == LANE_RANGES ? LANE_THREAD : LANE_PROCESS,
		.tid = lane->key.kind == LANE_RANGES ? lane->key.tid : 0};
	if (lane->key.kind == LANE_PROCESS)
		return true;
	const struct lane *parent = lane_find(l, &key);
	lane->parent = parent ? parent->number : 0;
	return parent;
}

/* The lane of a key that was not met in this form: another id may stand for the same domain. `a` is
 * made of all but the domain and the id. */
static struct lane *lane_new_or_same(struct lanes *l, const struct lane_key *key, uint64_t a)
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
	struct lane *lane = lane_new(l, key);
	if (!lane || map_put(&l->by_text, a, (uint64_t)(uintptr_t)kept, lane->number) ||
		!lane_adopt(l, lane))
		return NULL;
	lane->domain = name;
	return lane;
}

struct lane *lane_find(struct lanes *l, const struct lane_key *key)
{
	const uint32_t place = key->kind == LANE_STREAM || key->kind == LANE_WAITS ? key->context
		: key->kind == LANE_DEVICE_MEMORY                                  ? key->device
										   : key->tid;
	const uint64_t a = (uint64_t)key->process->id << 36 | (uint64_t)key->kind << 32 | place;
	const uint64_t b = key->id << 32 | key->domain;
	const bool is_short = key->id <= UINT32_MAX;
	uint32_t known = is_short ? map_get(&l->by_key, a, b) : 0;
	if (known)
		return l->rows[known - 1];
	struct lane *lane = lane_new_or_same(l, key, a);
	if (!lane || (is_short && map_put(&l->by_key, a, b, lane->number)))
		return NULL;
	return lane;
}

static void lane_end_until(struct lanes *l, struct lane *lane, uint64_t ns)
{
	while (lane->open_count && lane->open_ns[lane->open_count - 1] <= ns) {
		lane->open_count--;
		if (l->ended)
			l->ended(l->user, lane, lane->open_ns[lane->open_count]);
	}
}

/* One more overflow of a lane. */
static struct lane *lane_overflow(struct lanes *l, struct lane *lane)
{
	struct lane *more = lane_new(l, &lane->key);
	if (!more)
		return NULL;
	more->parent = lane->parent;
	more->domain = lane->domain;
	more->overflow = lane->overflow + 1;
	lane->next = more;
	return more;
}

int lane_open(struct lanes *l, struct lane *lane, uint64_t start_ns, uint64_t end_ns,
	struct lane **ret_lane)
{
	*ret_lane = NULL;
	for (;; lane = lane->next) {
		lane_end_until(l, lane, start_ns);
		if (!lane->open_count || lane->open_ns[lane->open_count - 1] >= end_ns)
			break;
		if (!lane->next && lane->overflow == LANE_OVERFLOWS_MAX)
			return 0;
		if (!lane->next && !lane_overflow(l, lane))
			return -ENOMEM;
	}
	if (array_room(
		    &lane->open_ns, lane->open_count, &lane->open_capacity, sizeof(*lane->open_ns)))
		return -ENOMEM;
	lane->open_ns[lane->open_count++] = end_ns;
	*ret_lane = lane;
	return 0;
}

void lanes_end(struct lanes *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		lane_end_until(l, l->rows[i], UINT64_MAX);
}

static const char *memory_kind(uint64_t kind)
{
	static const char *const names[] = {"unknown", "pageable", "pinned", "device", "array",
		"managed", "device static", "managed static"};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

void lane_name(const struct lane *lane, char *out, size_t bytes)
{
	const struct lane_key *k = &lane->key;
	const bool has_stream = k->id != UINT32_MAX;
	int used = 0;
	switch (k->kind) {
	case LANE_RANGES:
		used = snprintf(out, bytes, "NVTX%s%.200s", *lane->domain ? ":" : "", lane->domain);
		break;
	case LANE_SPANS:
		used = snprintf(out, bytes, "NVTX%s%.200s, start and end", *lane->domain ? ":" : "",
			lane->domain);
		break;
	case LANE_STREAM:
		used = snprintf(out, bytes, "GPU %u, context %u, stream %u", k->device, k->context,
			(unsigned)k->id);
		break;
	case LANE_WAITS:
		used = has_stream ? snprintf(out, bytes, "waits, context %u, stream %u", k->context,
					    (unsigned)k->id)
				  : snprintf(out, bytes, "waits, context %u", k->context);
		break;
	case LANE_UNIFIED_MEMORY:
		used = snprintf(out, bytes, "unified memory");
		break;
	case LANE_OVERHEAD:
		used = snprintf(out, bytes, "overhead of CUDA");
		break;
	case LANE_DEVICE_MEMORY:
		used = snprintf(
			out, bytes, "GPU %u, %s memory in use", k->device, memory_kind(k->id));
		break;
	case LANE_NVTX_COUNTER:
		used = snprintf(out, bytes, "NVTX%s%.200s, counter %llu", *lane->domain ? ":" : "",
			lane->domain, (unsigned long long)k->id);
		break;
	case LANE_THREAD:
		used = snprintf(out, bytes, "thread %u", k->tid);
		break;
	case LANE_PROCESS:
		used = snprintf(out, bytes, "process %u", k->process->facts->pid);
		break;
	}
	if (lane->overflow && used >= 0 && (size_t)used < bytes)
		snprintf(out + used, bytes - (size_t)used, " (%u)", lane->overflow + 1);
}
