/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - the processes of a report, by pid and by id, in the order in which they became known.
 *
 * All zero = empty. One thread; allocates: without memory a process is not remembered.
 */
#ifndef WRITER_KNOWN_H
#define WRITER_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct known_process {
	uint32_t pid, id;
	bool replaced; /* by another program: exec */
	uint32_t parent_pid;
	uint64_t start_ns, replaced_ns;
	char *successor;  /* the file that was executed, allocated; NULL = not for sure */
	uint32_t adopted; /* 1 + index in writer.adopted_processes; 0 = none */
	uint32_t next[2]; /* 1 + index of the one before it in its bucket, by pid and by id */
};

struct known {
	struct known_process *rows;
	uint32_t count, capacity;
	uint32_t *bucket[2];   /* 1 + index of the latest one, by pid and by id; 0 = none */
	uint32_t bucket_count; /* of each; a power of two */
};

void known_add(struct known *k, uint32_t pid, uint32_t id, uint64_t start_ns);
void known_clear(struct known *k);

/* The latest one with that pid, and the one with it before `p`; NULL = none. */
struct known_process *known_of_pid(const struct known *k, uint32_t pid);
struct known_process *known_before(const struct known *k, const struct known_process *p);

struct known_process *known_of_id(const struct known *k, uint32_t id);

#endif
