/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.c - the spool of this process: its header, its name, and its announcement.
 */
#define _GNU_SOURCE
#include "tracer/session/spool.h"

#include <errno.h>

#include "common/clock.h"
#include "common/schema/functions.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"
#include "tracer/producers.h"

static uint64_t pid_namespace(void)
{
	char link[64];
	long length = sys_readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
	uint64_t number = 0;
	for (long i = 0; i < length; i++)
		if (link[i] >= '0' && link[i] <= '9')
			number = number * 10 + (uint64_t)(link[i] - '0');
	return number;
}

/* Fill in exe (at most 1 KiB), cwd (the rest of the first half) and the arguments (the second
 * half). */
static void spool_fill_text(struct spool_header *spool)
{
	char *text = spool->text;
	size_t at = text_append(text, SPOOL_TEXT_BYTES, 0, session.exe) + 1;
	spool->exe_bytes = (uint32_t)at;
	long cwd = SYS2(SYS_getcwd, text + at, SPOOL_TEXT_BYTES / 2 - at);
	spool->cwd_bytes = cwd > 0 ? (uint32_t)cwd : 0;
	at += spool->cwd_bytes;
	bytes_copy(text + at, session.arguments, session.arguments_bytes);
	spool->argv_bytes = session.arguments_bytes;
	spool->argv_truncated = session.arguments_truncated;
}

static void spool_fill(struct spool_header *spool)
{
	spool->version = SPOOL_VERSION;
	spool->fn_count = fn_count();
	spool->fn_hash = fn_hash();
	spool->pid = session.pid;
	spool->ppid = (uint32_t)sys_getppid();
	spool->state = SPOOL_RUNNING;
	spool->pid_namespace = pid_namespace();
	spool->clock_kind = clock_is_tsc ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
	spool->forked = session.state == SESSION_FORKED;
	spool->uid = (uint32_t)sys_getuid();
	clock_point_take(&spool->first);
	spool->last = spool->first;
	spool->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	spool->threshold_ns = session.config.threshold_ns;
	producers_describe(spool);
	spool->limit_bytes = session.config.memory_bytes;
	spool_fill_text(spool);
	__atomic_store_n(&spool->magic, SPOOL_MAGIC, __ATOMIC_RELEASE);
}

/* Count the spool, and wake the writer, so that it watches for the end of this process. */
static void announce(void)
{
	__atomic_add_fetch(&session.control->spools, 1, __ATOMIC_RELEASE);
	lane_wake_writer();
}

/* Create the spool. Returns 0 or a negative errno. */
static int create(void)
{
	char *path = session.spool_path;
	size_t bytes = sizeof(session.spool_path);
	size_t at = text_append(path, bytes, 0, session.tree);
	at = text_append(path, bytes, at, "/");
	at = text_append_number(path, bytes, at, session.pid, 10);
	at = text_append(path, bytes, at, "-");
	at = text_append_number(path, bytes, at, clock_ticks(), 16);
	text_append(path, bytes, at, ".spool");
	int error;
	struct spool_header *spool = spool_file_create(path, session.config.memory_bytes, &error);
	if (!spool)
		return error;
	spool_fill(spool);
	session.spool = spool;
	error = spool_file_publish(path);
	announce();
	return error;
}

static const char *cause_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "no permission";
	case -ENOSPC:
	case -EDQUOT:
		return "no space";
	case -ENOMEM:
		return "no memory";
	case -ENOENT:
		return "its folder is not visible there";
	case -EROFS:
		return "its file system is read-only";
	case -EFBIG:
		return "larger than the limit of the size of a file";
	case -EMFILE:
	case -ENFILE:
		return "no free file descriptor";
	default:
		return NULL;
	}
}

/* Report that the process is not traced, with the path of the spool. */
static void note_failure(int error)
{
	const char *cause = cause_of(error);
	char text[sizeof(session.spool_path) + 128];
	size_t at = text_append(text, sizeof(text), 0, "cannot create its spool: ");
	at = text_append(text, sizeof(text), at, cause ? cause : "error ");
	at = cause ? at : text_append_number(text, sizeof(text), at, (uint64_t)-error, 10);
	at = text_append(text, sizeof(text), at, ": ");
	text_append(text, sizeof(text), at, session.spool_path);
	diagnostic_note(TREE_NOTE_UNTRACED, text);
}

bool session_spool_begin(void)
{
	const int error = create();
	if (!error)
		return true;
	note_failure(error);
	session.spool = NULL;
	return false;
}
