/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expected.h - programs that a process has started and that should have entered the tree.
 *
 * An announcement (a record of a child) says that a program was started. A program that never
 * appears is listed as not traced at the end of the tree: otherwise the report would lack it and
 * still be called complete. A program is found by its pid or, if the announcement has none
 * (system, popen), by its parent and its time. A program answers one announcement, so a pid that is
 * used again does no harm. All zero = empty. One thread; allocates.
 */
#ifndef WRITER_BASE_EXPECTED_H
#define WRITER_BASE_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/base/known.h"

struct expected {
	uint32_t pid; /* 0 = not known */
	uint32_t parent_pid;
	uint32_t verdict; /* enum child_verdict: other than VERDICT_TRACED, it is not waited for */
	uint64_t ns;      /* when it was announced */
	char *path;       /* allocated; NULL = not known */
	bool is_answered; /* its program has appeared */
};

struct expectations {
	struct expected *list; /* those that have not appeared */
	uint32_t count, capacity;
	uint32_t match_at; /* count at which announcements without a pid are compared */
	uint32_t unlisted; /* number of further ones, for which there was no room */
};

/* Add a program, unless it has appeared already. `path` is copied. Returns true if it has not. */
bool expected_add(struct expectations *x, struct known *k, const struct expected *e);

/* Forget the program that the process announced last without a pid: it was not started. */
void expected_withdraw(struct expectations *x, uint32_t parent_pid);

/* Note that the process has become known. */
void expected_arrived(struct expectations *x, struct known_process *p);

/* At the end of the tree: forget all that have appeared under another pid, or with another parent.
 */
void expected_finish(struct expectations *x, struct known *k);

void expected_clear(struct expectations *x);

#endif
