/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openacc.c - the entry of the source `openacc`: a runtime of OpenACC looks into ACC_PROFLIB for
 * profiling libraries, loads them and calls their acc_register_library().
 *
 * GNU's libgomp asks in its constructor, by secure_getenv(), and never calls an
 * acc_register_library() that is only exported. A runtime that does, too, calls ours once more:
 * that call is for the next library that has one, which the runtime would have called without us.
 */
#define _GNU_SOURCE
#include "inject/environment.h"

#include "inject/fn.h"

#include <dlfcn.h>

#include "common/sys.h"
#include "common/text.h"
#include "inject/own_file.h"
#include "tracer/base/libc.h"
#include "tracer/core/diagnostic.h"
#include "tracer/openacc/openacc.h"

typedef void register_library(acc_register *add, acc_register *remove, void *lookup);

__attribute__((visibility("default"))) register_library acc_register_library;

static bool is_wanted(void)
{
	return session.state == SESSION_ON && session.config.openacc;
}

/* Return the list "theirs;ours", NULL without memory. Callers may keep it: it never changes, and a
 * new one is made only for a new value. */
static char *list_of(const char *theirs, const char *ours)
{
	static char *last;
	char *list = __atomic_load_n(&last, __ATOMIC_ACQUIRE);
	const size_t length = text_length(theirs), bytes = length + text_length(ours) + 2;
	if (list && text_begins(list, theirs) && list[length] == ';' &&
		text_equal(&list[length + 1], ours))
		return list;
	list = sys_mmap_private(bytes);
	if (!list)
		return NULL;
	size_t at = text_append(list, bytes, 0, theirs);
	at = text_append(list, bytes, at, ";");
	text_append(list, bytes, at, ours);
	__atomic_store_n(&last, list, __ATOMIC_RELEASE);
	return list;
}

/* Append our path to the list, whose elements are separated by semicolons. Whoever asks is
 * answered: a runtime may be part of any library, or of the program. */
char *openacc_tool_paths(char *theirs, const void *caller)
{
	char *ours = is_wanted() ? own_file() : NULL;
	(void)caller;
	if (!ours)
		return theirs;
	if (!theirs || !*theirs)
		return ours;
	char *list = list_of(theirs, ours);
	if (!list)
		diagnostic_line("OpenACC is not recorded in a process: no memory");
	return list ? list : theirs;
}

/* Call the next acc_register_library(), unless it is that of the runtime that calls. */
static void next_register(acc_register *add, acc_register *remove, void *lookup)
{
	register_library *next = (register_library *)(uintptr_t)real_next("acc_register_library");
	Dl_info runtime, library;
	if (next && libc.dladdr((void *)(uintptr_t)add, &runtime) &&
		libc.dladdr((void *)(uintptr_t)next, &library) &&
		runtime.dli_fbase != library.dli_fbase)
		next(add, remove, lookup);
}

void acc_register_library(acc_register *add, acc_register *remove, void *lookup)
{
	static uint32_t done;
	relocate_check();
	int error = errno;
	if (session.state == SESSION_NEW)
		preload_early();
	if (!is_wanted() || __atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
		next_register(add, remove, lookup);
	else if (!openacc_listen(add))
		diagnostic_line("OpenACC is not recorded in a process: no memory");
	errno = error;
}
