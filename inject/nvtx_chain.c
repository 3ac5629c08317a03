/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_chain.c - calls of another NVTX tool, before ours.
 */
#define _GNU_SOURCE
#include "inject/nvtx_chain.h"

#include <dlfcn.h>

#include "common/text.h"
#include "tracer/nvtx/handles.h"
#include "tracer/base/libc.h"
#include "tracer/nvtx/extensions.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/thread.h"
#include "tracer/session/session.h"
#include "tracer/nvtx/spans.h"

#define PATH_BYTES 1024u

static char tool_path[PATH_BYTES];
static void *tool;
static uint32_t tool_state; /* 0 = not asked for yet, 1 = being loaded, 2 = done */
static enum chain_state decided;
static bool fate_reported, differing_reported;

/* ---- loading ---- */

/* Report `what` about the tool, once for each `reported`. */
static void note(bool *reported, const char *what)
{
	char text[PATH_BYTES + 192];
	if (__atomic_exchange_n(reported, true, __ATOMIC_RELAXED))
		return;
	size_t at =
		text_append(text, sizeof(text), 0, "NVTX_INJECTION64_PATH names another tool, '");
	at = text_append(text, sizeof(text), at, tool_path);
	at = text_append(text, sizeof(text), at, "': ");
	text_append(text, sizeof(text), at, what);
	diagnostic_line(text);
}

/* Use the first path that is asked for: a process has one such tool. */
void chain_want(const char *path)
{
	uint32_t none = 0;
	thread_self.wants_tool = path != NULL;
	if (path &&
		__atomic_compare_exchange_n(
			&tool_state, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		text_append(tool_path, sizeof(tool_path), 0, path);
		tool = dlopen(tool_path, RTLD_LAZY);
		__atomic_store_n(&tool_state, 2, __ATOMIC_RELEASE);
		if (!tool)
			note(&fate_reported, "cannot load it; NVTX is recorded");
	}
}

/* Return true if the function is our own: the tool may be this library under another name, or be
 * linked with it. */
static bool is_ours(const void *function)
{
	Dl_info theirs, ours;
	return libc.dladdr(function, &theirs) && libc.dladdr((void *)&session, &ours) &&
		theirs.dli_fbase == ours.dli_fbase;
}

chain_fn chain_symbol(const char *name)
{
	if (!thread_self.wants_tool || __atomic_load_n(&tool_state, __ATOMIC_ACQUIRE) != 2 || !tool)
		return NULL;
	void *function = libc.dlsym(tool, name);
	return function && !is_ours(function) ? (chain_fn)function : NULL;
}

void chain_decide(enum chain_state state)
{
	static const char *const texts[] = {[CHAIN_NONE] = "it refused to start; NVTX is recorded",
		[CHAIN_JOINED] = "NVTX calls are passed on to it",
		[CHAIN_LEFT] = "it handles only a part of NVTX; NVTX calls reach only it"};
	__atomic_store_n(&decided, state, __ATOMIC_RELEASE);
	note(&fate_reported, texts[state]);
}

enum chain_state chain_state(void)
{
	return thread_self.wants_tool ? __atomic_load_n(&decided, __ATOMIC_ACQUIRE) : CHAIN_NONE;
}

/* ---- calls ---- */

enum how {
	GIVES_HANDLE = 1, /* its result is a handle that maps to ours */
	TAKES_HANDLE = 2, /* its first argument is a handle: our function gets our handle */
	GIVES_ID = 4,     /* our function uses the tool's id */
	GIVES_RANGE = 8,  /* the program gets our id */
	RANGE_FIRST = 16, /* the argument is an id of a range */
	RANGE_SECOND = 32,
	EITHER = 64,      /* true if either function returns true */
	GIVES_TIME = 128, /* the result is the tool's time, which our function stores */
	DOMAIN = 256      /* the first argument is a domain */
};

/* By module and slot, as NVTX numbers them; 0 = both get the same arguments, and the tool's result
 * is returned. */
static const uint16_t hows[CHAIN_MODULES][CHAIN_SLOTS] = {
	[NVTX_CORE] = {[4] = GIVES_RANGE, [5] = GIVES_RANGE, [6] = GIVES_RANGE, [7] = RANGE_FIRST},
	[NVTX_CORE2] = {[1] = DOMAIN,
		[2] = DOMAIN | GIVES_RANGE,
		[3] = DOMAIN | RANGE_SECOND,
		[4] = DOMAIN,
		[5] = DOMAIN,
		[6] = DOMAIN | GIVES_HANDLE,
		[7] = TAKES_HANDLE,
		[8] = DOMAIN,
		[9] = DOMAIN,
		[10] = DOMAIN | GIVES_HANDLE,
		[11] = DOMAIN | GIVES_HANDLE,
		[12] = GIVES_HANDLE,
		[13] = GIVES_HANDLE,
		[14] = DOMAIN},
	[NVTX_SYNC] = {[1] = DOMAIN | GIVES_ID},
	[CHAIN_EXTENSION + NVTX_EXTENSION_PAYLOAD] = {[0] = DOMAIN | GIVES_ID,
		[1] = DOMAIN | GIVES_ID,
		[2 ... 4] = DOMAIN,
		[5] = DOMAIN | GIVES_RANGE,
		[6] = DOMAIN | RANGE_SECOND,
		[7] = DOMAIN | EITHER,
		[8] = GIVES_TIME,
		[9] = DOMAIN | GIVES_ID,
		[10 ... 11] = DOMAIN,
		[12] = DOMAIN | GIVES_ID,
		[13 ... 17] = DOMAIN},
	[CHAIN_EXTENSION + NVTX_EXTENSION_COUNTERS] = {[0] = DOMAIN | GIVES_ID, [1 ... 5] = DOMAIN},
	[CHAIN_EXTENSION + NVTX_EXTENSION_MEMORY] = {[0] = DOMAIN | GIVES_ID,
		[1 ... 7] = DOMAIN,
		[8] = DOMAIN | GIVES_ID,
		[9 ... 12] = DOMAIN,
		[13] = DOMAIN | GIVES_ID,
		[14] = DOMAIN | GIVES_ID,
		[15 ... 16] = DOMAIN}};

/* The arguments of any function of NVTX as x86-64 passes them: at most six integers or pointers,
 * and one floating-point number. A function ignores those that it does not have. */
struct arguments {
	uint64_t whole[6];
	double real;
};
typedef uint64_t (*wide_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double);

static struct chained {
	wide_fn theirs, ours;
} chained[CHAIN_MODULES][CHAIN_SLOTS];

static uint64_t call(wide_fn function, const struct arguments *a)
{
	return function(a->whole[0], a->whole[1], a->whole[2], a->whole[3], a->whole[4],
		a->whole[5], a->real);
}

/* Replace our id of an open range by the tool's. Return false if the tool does not know the
 * range. */
static bool range_translate(struct arguments *theirs, uint32_t index)
{
	return spans_other(theirs->whole[index], &theirs->whole[index]);
}

static uint64_t chain_call(const struct chained *c, uint32_t how, const struct arguments *given)
{
	struct arguments theirs = *given, ours = *given;
	wide_fn their_function = __atomic_load_n(&c->theirs, __ATOMIC_ACQUIRE);
	uint64_t result = 0, own;
	bool is_theirs = their_function != NULL;
	if (is_theirs && how & (RANGE_FIRST | RANGE_SECOND))
		is_theirs = range_translate(&theirs, how & RANGE_FIRST ? 0 : 1);
	if (how & DOMAIN)
		ours.whole[0] = (uint64_t)(uintptr_t)handles_name(ours.whole[0]);
	if (how & TAKES_HANDLE)
		ours.whole[0] = handles_ours(ours.whole[0]);
	if (is_theirs)
		result = call(their_function, &theirs);
	if (is_theirs && how & GIVES_TIME) {
		nvtx_clock_of_tool((int64_t)result);
		return result;
	}
	ext_give_id(how & GIVES_ID ? result : 0);
	own = call(__atomic_load_n(&c->ours, __ATOMIC_ACQUIRE), &ours);
	ext_give_id(0);
	if (!their_function)
		return own;
	if (how & GIVES_HANDLE)
		handles_pair(result, own);
	if (how & EITHER)
		result = (uint8_t)result | (uint8_t)own;
	bool is_ours = how & GIVES_RANGE ? spans_set_other(own, result) : how & GIVES_ID && !result;
	return is_ours ? own : result;
}

#define CALL(module, slot)                                                                        \
	static uint64_t call_##module##_##slot(                                                   \
		uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, double x) \
	{                                                                                         \
		const struct arguments given = {{a, b, c, d, e, f}, x};                           \
		return chain_call(&chained[module][slot], hows[module][slot], &given);            \
	}
#define SLOTS(row, module)                                                                        \
	row(module, 0) row(module, 1) row(module, 2) row(module, 3) row(module, 4) row(module, 5) \
		row(module, 6) row(module, 7) row(module, 8) row(module, 9) row(module, 10)       \
			row(module, 11) row(module, 12) row(module, 13) row(module, 14)           \
				row(module, 15) row(module, 16) row(module, 17)
#define MODULES(row)  \
	SLOTS(row, 1) \
	SLOTS(row, 2) \
	SLOTS(row, 3) \
	SLOTS(row, 4) SLOTS(row, 5) SLOTS(row, 6) SLOTS(row, 9) SLOTS(row, 10) SLOTS(row, 12)
MODULES(CALL)

#define ENTRY(module, slot) [module][slot] = call_##module##_##slot,
static const wide_fn callers[CHAIN_MODULES][CHAIN_SLOTS] = {MODULES(ENTRY)};

chain_fn chain_function(unsigned module, size_t slot, chain_fn theirs, chain_fn ours)
{
	wide_fn none = NULL, wanted = (wide_fn)theirs;
	if (chain_state() != CHAIN_JOINED)
		return ours;
	if (module >= CHAIN_MODULES || slot >= CHAIN_SLOTS || !callers[module][slot])
		return theirs;
	struct chained *c = &chained[module][slot];
	__atomic_store_n(&c->ours, (wide_fn)ours, __ATOMIC_RELEASE);
	if (wanted &&
		!__atomic_compare_exchange_n(
			&c->theirs, &none, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		none != wanted) {
		note(&differing_reported,
			"it has different functions for different objects; calls of later objects "
			"are left to it and not recorded");
		return theirs;
	}
	return (chain_fn)callers[module][slot];
}
