/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expected.c - compares the programs that were announced with those that have appeared.
 */
#define _GNU_SOURCE
#include "writer/base/expected.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"

#define MATCH_FIRST 1024u
#define EXPECTED_MAX 16384u /* a hostile spool may announce any number */

static void drop(struct expectations *x, uint32_t index)
{
	free(x->list[index].path);
	x->count--;
	memmove(&x->list[index], &x->list[index + 1], (x->count - index) * sizeof(*x->list));
}

/* Return true if the process may be the program of an announcement that no other process has
 * answered. */
static bool is_free(const struct known_process *p)
{
	return (p->is_program || p->is_noted) && !p->is_claimed;
}

/* Let a known process with that pid answer the announcement. */
static bool claim_by_pid(struct known *k, uint32_t pid)
{
	for (struct known_process *p = known_of_pid(k, pid); p; p = known_before(k, p))
		if (is_free(p)) {
			p->is_claimed = true;
			return true;
		}
	return false;
}

/* ---- announcements without a pid ---- */

struct arrival {
	struct known_process *process;
	uint32_t parent_pid; /* 0 for all: of any parent */
	uint64_t ns;
};

static int order(uint32_t parent_a, uint64_t ns_a, uint32_t parent_b, uint64_t ns_b)
{
	if (parent_a != parent_b)
		return parent_a < parent_b ? -1 : 1;
	return ns_a < ns_b ? -1 : ns_a > ns_b;
}

static int arrival_order(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	return order(x->parent_pid, x->ns, y->parent_pid, y->ns);
}

static int expected_order(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;
	return order(x->parent_pid, x->ns, y->parent_pid, y->ns);
}

static int time_order(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;
	return order(0, x->ns, 0, y->ns);
}

/* Collect the processes that may answer, in order. Returns their number. */
static uint32_t arrivals_collect(struct known *k, bool any_parent, struct arrival *ret_arrivals)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < k->count; i++) {
		struct known_process *p = &k->rows[i];
		if (is_free(p) && (any_parent || p->is_program))
			ret_arrivals[count++] =
				(struct arrival){p, any_parent ? 0 : p->parent_pid, p->start_ns};
	}
	qsort(ret_arrivals, count, sizeof(*ret_arrivals), arrival_order);
	return count;
}

/* Give each announcement the latest program that began after it, beginning with the latest
 * announcement: so the largest possible number is answered. */
static void answer(struct expectations *x, struct arrival *arrivals, uint32_t left, bool any_parent)
{
	uint32_t kept = 0;
	for (uint32_t i = x->count; i-- > 0;) {
		struct expected *e = &x->list[i];
		const uint32_t parent = any_parent ? 0 : e->parent_pid;
		if (e->pid || e->verdict != VERDICT_TRACED)
			continue;
		while (left && arrivals[left - 1].parent_pid > parent)
			left--;
		const struct arrival *last = left ? &arrivals[left - 1] : NULL;
		if (!last || last->parent_pid != parent || last->ns + KNOWN_SLACK_NS < e->ns)
			continue;
		last->process->is_claimed = true;
		left--;
		free(e->path);
		e->path = NULL;
		e->is_answered = true;
	}
	for (uint32_t i = 0; i < x->count; i++)
		if (!x->list[i].is_answered)
			x->list[kept++] = x->list[i];
	x->count = kept;
}

static void match(struct expectations *x, struct known *k, bool any_parent)
{
	if (!x->count)
		return;
	struct arrival *arrivals = malloc((k->count + 1) * sizeof(*arrivals));
	if (!arrivals)
		return;
	qsort(x->list, x->count, sizeof(*x->list), any_parent ? time_order : expected_order);
	answer(x, arrivals, arrivals_collect(k, any_parent, arrivals), any_parent);
	free(arrivals);
}

/* ---- the list ---- */

bool expected_add(struct expectations *x, struct known *k, const struct expected *e)
{
	struct expected copy = *e;
	if (e->pid && claim_by_pid(k, e->pid))
		return false;
	if (x->count >= (x->match_at ? x->match_at : MATCH_FIRST)) {
		match(x, k, false);
		x->match_at = x->count * 2 > MATCH_FIRST ? x->count * 2 : MATCH_FIRST;
	}
	if (x->count >= EXPECTED_MAX ||
		array_room(&x->list, x->count, &x->capacity, sizeof(*x->list))) {
		x->unlisted++;
		return true;
	}
	copy.path = e->path ? strdup(e->path) : NULL;
	x->list[x->count++] = copy;
	return true;
}

void expected_withdraw(struct expectations *x, uint32_t parent_pid)
{
	for (uint32_t i = x->count; i-- > 0;)
		if (!x->list[i].pid && x->list[i].parent_pid == parent_pid) {
			drop(x, i);
			return;
		}
}

void expected_arrived(struct expectations *x, struct known_process *p)
{
	for (uint32_t i = x->count; i-- > 0 && p->pid && is_free(p);)
		if (x->list[i].pid == p->pid) {
			p->is_claimed = true;
			drop(x, i);
		}
}

/* Forget an announcement whose pid is that of another pid namespace: the first process of a
 * namespace has no parent in it. */
static bool claim_first_of_namespace(struct known *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		if (is_free(&k->rows[i]) && k->rows[i].is_program && !k->rows[i].parent_pid) {
			k->rows[i].is_claimed = true;
			return true;
		}
	return false;
}

void expected_finish(struct expectations *x, struct known *k)
{
	match(x, k, false);
	for (uint32_t i = 0; i < x->count; i++)
		if (x->list[i].pid) {
			if (!claim_first_of_namespace(k))
				break;
			drop(x, i--);
		}
	match(x, k, true); /* the parent may have ended before the program asked for its pid */
}

void expected_clear(struct expectations *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		free(x->list[i].path);
	free(x->list);
	*x = (struct expectations){0};
}
