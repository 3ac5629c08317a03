/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets.c - what standard output and error lead to, at the start of the program and now.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/sys.h"
#include "tracer/core/state.h"
#include "tracer/streams/hooks.h"
#include "tracer/streams/streams.h"

/* What a descriptor leads to. */
struct target {
	uint64_t device, inode, special;
};

static struct target at_start[2];
static bool redirected[2];
static uint32_t replaced; /* bit n: descriptor n + 1 may have been replaced */
static bool no_stdio;

static struct target target_of(int fd)
{
	struct stat s;
	if (SYS2(SYS_fstat, fd, &s) != 0)
		return (struct target){0};
	return (struct target){s.st_dev, s.st_ino, s.st_rdev};
}

void streams_describe(struct spool_header *spool)
{
	spool->streams.is_on = session.config.streams;
	spool->streams.no_stdio = no_stdio;
}

void streams_start(void)
{
	for (int n = 0; session.config.streams && n < 2; n++)
		at_start[n] = target_of(n + 1);
}

void streams_without_stdio(void)
{
	no_stdio = true;
	if (session.spool)
		session.spool->streams.no_stdio = true;
}

void streams_replaced(int fd)
{
	if (fd < 0)
		__atomic_store_n(&replaced, 3, __ATOMIC_RELAXED);
	else if (fd == STDOUT_FILENO || fd == STDERR_FILENO)
		__atomic_fetch_or(&replaced, 1u << (fd - 1), __ATOMIC_RELAXED);
}

bool stream_is_redirected(unsigned n)
{
	if (__atomic_load_n(&replaced, __ATOMIC_RELAXED) >> n & 1 && !session.restricted) {
		__atomic_fetch_and(&replaced, ~(1u << n), __ATOMIC_RELAXED);
		const struct target now = target_of((int)n + 1), first = at_start[n];
		redirected[n] = now.device != first.device || now.inode != first.inode ||
			now.special != first.special;
	}
	return redirected[n];
}
