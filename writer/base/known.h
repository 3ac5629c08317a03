/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - the processes of a report, by pid and by id, in the order in which they became known.
 *
 * All zero = empty. One thread; allocates: if memory is short, a process is not remembered.
 */
#ifndef WRITER_BASE_KNOWN_H
#define WRITER_BASE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

/* A process's first call may seem to precede its parent's record of its start: they are on
 * different CPUs, and ticks are converted to times with an error. */
#define KNOWN_SLACK_NS UINT64_C(1000000)

struct known_process {
	uint32_t pid, id;
	bool replaced;   /* replaced by another program (exec) */
	bool is_program; /* its parent has started it: neither forked nor a successor by exec */
	bool is_noted;   /* only known from a note that says why it is not traced */
	bool is_copy;    /* noted, and a forked child: the next note of its pid is its program's */
	bool is_unexplained; /* ended without an exit record, and its status is not known */
	bool is_claimed;     /* an announcement of its parent belongs to it (expected.h) */
	uint32_t parent_pid;
	uint64_t start_ns, replaced_ns;
	char *successor;  /* the file that was executed, allocated; NULL = not certain */
	uint32_t adopted; /* 1 + index in adopted.processes; 0 = none */
	uint32_t next[2]; /* 1 + index of the previous row in its bucket, by pid and by id */
};

struct known {
	struct known_process *rows;
	uint32_t count, capacity;
	uint32_t *bucket[2];   /* 1 + index of the latest row, by pid and by id; 0 = none */
	uint32_t bucket_count; /* number of buckets of each table; a power of two */
	uint32_t last_id;      /* the highest id that a process has */
};

/* Return a new id, for a process that the caller then adds. */
uint32_t known_new_id(struct known *k);

/* Add a process. Its pid may be that of another process. Returns it, valid until the next is added,
 * or NULL without memory. */
struct known_process *known_add(struct known *k, uint32_t pid, uint32_t id, uint64_t start_ns);

/* Forget all processes and ids. */
void known_clear(struct known *k);

/* Return the latest process with that pid, or the one before `p` with the same pid; NULL = none.
 * Valid until a process is added. */
struct known_process *known_of_pid(const struct known *k, uint32_t pid);
struct known_process *known_before(const struct known *k, const struct known_process *p);

/* Return the process with that id; NULL = none. */
struct known_process *known_of_id(const struct known *k, uint32_t id);

#endif
