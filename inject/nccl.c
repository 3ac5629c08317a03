/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - the entry of the source `nccl`: NCCL asks NCCL_PROFILER_PLUGIN for a profiler plug-in,
 * loads it and takes the newest ncclProfiler_vN that both know.
 *
 * Our symbols are of type STT_GNU_IFUNC, so dlsym gets what these functions here return: our
 * plug-in once NCCL has been given our path, otherwise the next image's. Who looks for plug-ins in
 * the program itself (STATIC_PLUGIN) finds what it would have found without us.
 *
 * The plug-in that NCCL would have loaded without us is loaded here, and called in front of us.
 * Events of versions older than 4 differ from those of all other versions. So where NCCL would have
 * used such a version, only this one is offered. If the plug-in has no version that can be
 * forwarded, NCCL gets that plug-in, and the report says so.
 */
#define _GNU_SOURCE
#include "inject/environment.h"

#include "inject/fn.h"

#include <dlfcn.h>

#include "common/text.h"
#include "inject/own_file.h"
#include "tracer/base/libc.h"
#include "tracer/core/diagnostic.h"
#include "tracer/nccl/nccl.h"

#define EXPORTED __attribute__((visibility("default")))
#define NAME_BYTES 1024u

#define PLUGIN(member, function)                                                                   \
	{                                                                                          \
		"libtrace", {.member = function}, nccl_start, nccl_stop, nccl_state, nccl_finalize \
	}
static struct nccl_plugin ours[NCCL_VERSION_LAST + 1] = {[1] = PLUGIN(init_1, nccl_context_1),
	[2] = PLUGIN(init_1, nccl_context_2),
	[3] = PLUGIN(init_1, nccl_context_3),
	[4] = PLUGIN(init_4, nccl_context_4),
	[5] = PLUGIN(init_5, nccl_context_5),
	[6] = PLUGIN(init_5, nccl_context_6),
	[7] = PLUGIN(init_5, nccl_context_7)};

static enum { UNDECIDED, OURS, THEIRS } decided;

/* NCCL takes the newest version that it knows. One of ours is offered unless NCCL would have used
 * an older one of the user's plug-in that events of ours cannot be forwarded to. */
static bool is_offered(int version)
{
	int theirs = version;
	while (theirs >= NCCL_VERSION_FIRST && !nccl_user[theirs])
		theirs--;
	return theirs < NCCL_VERSION_FIRST || theirs == version || theirs >= NCCL_VERSION_NEW;
}

/* Return what dlsym returns for one of our symbols. */
static void *symbol_of(int version)
{
	char name[] = "ncclProfiler_v0";
	relocate_check();
	name[sizeof(name) - 2] = (char)('0' + version);
	bool is_ours = __atomic_load_n(&decided, __ATOMIC_ACQUIRE) == OURS && is_offered(version);
	return is_ours ? &ours[version] : real_next(name);
}

typedef void variable(void); /* the language has the attribute for functions only */

#define SYMBOL(version)                                               \
	static __attribute__((used)) variable *symbol_##version(void) \
	{                                                             \
		return (variable *)(uintptr_t)symbol_of(version);     \
	}                                                             \
	EXPORTED variable ncclProfiler_v##version;                    \
	__attribute__((ifunc("symbol_" #version))) variable ncclProfiler_v##version;
SYMBOL(1)
SYMBOL(2)
SYMBOL(3)
SYMBOL(4)
SYMBOL(5)
SYMBOL(6)
SYMBOL(7)

/* Load the plug-in that NCCL would load: the file, or that of a short name. NULL = none. */
static void *user_library(const char *name)
{
	char path[NAME_BYTES];
	void *(*load)(const char *, int) = libc_dlopen();
	const char *wanted = name && *name ? name : "libnccl-profiler.so";
	bool is_program = name && text_equal(name, "STATIC_PLUGIN");
	void *library = load(is_program ? NULL : wanted, RTLD_NOW | RTLD_LOCAL);
	if (library || !name || text_length(name) > sizeof(path) - 32)
		return library;
	size_t at = text_append(path, sizeof(path), 0, "libnccl-profiler-");
	at = text_append(path, sizeof(path), at, name);
	text_append(path, sizeof(path), at, ".so");
	return load(path, RTLD_NOW | RTLD_LOCAL);
}

/* Find the versions of the user's plug-in that we can call. Return false if it has only others. */
static bool user_find(void *library)
{
	char name[] = "ncclProfiler_v0";
	bool is_found = false;
	for (int version = NCCL_VERSION_FIRST; version <= NCCL_VERSION_LAST; version++) {
		name[sizeof(name) - 2] = (char)('0' + version);
		void *symbol = libc.dlsym(library, name);
		nccl_user[version] = symbol == &ours[version] ? real_next(name) : symbol;
		is_found |= nccl_user[version] != NULL;
	}
	return is_found;
}

/* Whoever asks is answered: NCCL may be part of any library, or of the program. */
char *nccl_tool_path(char *theirs, const void *caller)
{
	(void)caller;
	if (session.state != SESSION_ON || !session.config.nccl)
		return theirs;
	int was = (int)__atomic_load_n(&decided, __ATOMIC_ACQUIRE);
	if (!was) {
		void *library = user_library(theirs);
		bool is_ours = !library || user_find(library);
		if (!is_ours)
			diagnostic_line(
				"NCCL's collectives are not recorded in a process, only its "
				"calls: its profiler plug-in has no version 1 to 7 of the "
				"interface");
		was = is_ours ? OURS : THEIRS;
		__atomic_store_n(&decided, was, __ATOMIC_RELEASE);
	}
	return was == OURS ? own_file() : theirs;
}
