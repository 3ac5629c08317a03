/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.c - the processes of a report, in two hash tables: by pid and by id.
 */
#include "writer/base/known.h"

#include <stdlib.h>

#include "common/array.h"

enum { BY_PID, BY_ID };

#define BUCKETS_FIRST 64u

static uint32_t *bucket_of(const struct known *k, int by, uint32_t key)
{
	return &k->bucket[by][key * 2654435761u >> 7 & (k->bucket_count - 1)];
}

static void link_row(struct known *k, uint32_t index)
{
	struct known_process *p = &k->rows[index];
	for (int by = BY_PID; by <= BY_ID; by++) {
		uint32_t *bucket = bucket_of(k, by, by == BY_PID ? p->pid : p->id);
		p->next[by] = *bucket;
		*bucket = index + 1;
	}
}

/* Double the number of buckets. Return 0, or -ENOMEM with the old buckets unchanged. */
static int buckets_grow(struct known *k)
{
	uint32_t count = k->bucket_count ? k->bucket_count * 2 : BUCKETS_FIRST;
	uint32_t *by_pid = calloc(count, sizeof(*by_pid)), *by_id = calloc(count, sizeof(*by_id));
	if (!by_pid || !by_id) {
		free(by_pid);
		free(by_id);
		return -ENOMEM;
	}
	free(k->bucket[BY_PID]);
	free(k->bucket[BY_ID]);
	k->bucket[BY_PID] = by_pid;
	k->bucket[BY_ID] = by_id;
	k->bucket_count = count;
	for (uint32_t i = 0; i < k->count; i++)
		link_row(k, i);
	return 0;
}

uint32_t known_new_id(struct known *k)
{
	return ++k->last_id;
}

struct known_process *known_add(struct known *k, uint32_t pid, uint32_t id, uint64_t start_ns)
{
	if (array_room(&k->rows, k->count, &k->capacity, sizeof(*k->rows)) ||
		(k->count >= k->bucket_count && buckets_grow(k) && !k->bucket_count))
		return NULL;
	k->rows[k->count] = (struct known_process){.pid = pid, .id = id, .start_ns = start_ns};
	link_row(k, k->count++);
	return &k->rows[k->count - 1];
}

void known_clear(struct known *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		free(k->rows[i].successor);
	free(k->rows);
	free(k->bucket[BY_PID]);
	free(k->bucket[BY_ID]);
	*k = (struct known){0};
}

static struct known_process *row_of(const struct known *k, uint32_t number)
{
	return number ? &k->rows[number - 1] : NULL;
}

struct known_process *known_of_pid(const struct known *k, uint32_t pid)
{
	struct known_process *p = k->count ? row_of(k, *bucket_of(k, BY_PID, pid)) : NULL;
	while (p && p->pid != pid)
		p = row_of(k, p->next[BY_PID]);
	return p;
}

struct known_process *known_before(const struct known *k, const struct known_process *p)
{
	struct known_process *before = row_of(k, p->next[BY_PID]);
	while (before && before->pid != p->pid)
		before = row_of(k, before->next[BY_PID]);
	return before;
}

struct known_process *known_of_id(const struct known *k, uint32_t id)
{
	struct known_process *p = k->count ? row_of(k, *bucket_of(k, BY_ID, id)) : NULL;
	while (p && p->id != id)
		p = row_of(k, p->next[BY_ID]);
	return p;
}
