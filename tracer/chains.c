/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/chains.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/lane.h"
#include "tracer/libc.h"
#include "tracer/osrt.h"
#include "tracer/session.h"
#include "tracer/spool_file.h"
#include "unwind/callchain.h"
#include "unwind/fallback.h"
#include "unwind/modules.h"
#include "unwind/rules.h"

bool chains_ask_libunwind;

/* By lane: the next thread of a lane finds it in the cache. */
static struct callchain_thread *memory_of_lane[SPOOL_LANES_MAX];
static bool is_on;                     /* some class has a threshold */
static uint64_t limits[CHAIN_CLASSES]; /* what own_words.chains_ticks is to be */
static uint32_t flags;
static bool telling;  /* from the first chain on */
static uint64_t *met; /* bit per node: its module and those further out are known */
#define MET_BYTES (NODES_MAX / 8)
static uint32_t most_met; /* words of it in use */

static void *chunk_more(void *unused, uint32_t number)
{
	uint64_t *kept = &session.spool->callchain_chunk[number], none = 0;
	void *place;
	(void)unused;
	uint64_t offset = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
	if (offset)
		return spool_file_at(offset);
	offset = spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place);
	if (!offset)
		return NULL;
	if (!__atomic_compare_exchange_n(
		    kept, &none, offset, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return spool_file_at(none);
	return place;
}

/* ---- modules ---- */

/* Into the lane of the thread at work, once that thread has one. */
static bool module_loaded(void *unused, const struct module *m)
{
	struct {
		struct module_load load;
		char path[MODULE_PATH_BYTES];
	} payload = {.load = {.bias = m->bias, .build_id_bytes = m->build_id_bytes}};
	struct thread *t = &thread_self;
	(void)unused;
	if (!telling || !t->lane)
		return false;
	bytes_copy(payload.load.build_id, m->build_id, sizeof(payload.load.build_id));
	text_append(payload.path, sizeof(payload.path), 0, m->path);
	return lane_put(t, clock_ticks(), REC_MODULE_LOAD, m->begin, m->end, &payload,
		offsetof(typeof(payload), path) + text_length(payload.path));
}

static void module_unloaded(void *unused, const struct module *m)
{
	(void)unused;
	if (thread_self.lane)
		lane_put(&thread_self, clock_ticks(), REC_MODULE_UNLOAD, m->begin, 0, NULL, 0);
}

static bool is_met(uint32_t id)
{
	return __atomic_load_n(&met[id / 64], __ATOMIC_RELAXED) >> id % 64 & 1;
}

/* New nodes: are the modules known that they lead through? Those further out first, so that one
 * that is met stands for all. */
static void modules_meet(uint32_t innermost)
{
	uint32_t fresh[CALLCHAIN_DEPTH_MAX], count = 0;
	struct callchain_node node;
	bool known = true;
	for (uint32_t id = innermost;
		id && !is_met(id) && count < CALLCHAIN_DEPTH_MAX && callchain_node(id, &node);
		id = node.parent) {
		known &= modules_learn(node.address - 1);
		fresh[count++] = id;
	}
	telling = true;
	if (!modules_tell() || !known)
		return; /* another thread is at the map: at the next call */
	for (uint32_t i = count; i > 0; i--) {
		uint32_t id = fresh[i - 1], word = id / 64;
		__atomic_or_fetch(&met[word], UINT64_C(1) << id % 64, __ATOMIC_RELAXED);
		if (word >= most_met)
			most_met = word + 1;
	}
}

void chains_tell_modules(void)
{
	if (!is_on)
		return;
	telling = true;
	modules_tell();
}

/* What a node led through may have gone, and something else be there. */
static void meet_again(void)
{
	for (uint32_t i = 0; i < most_met; i++)
		__atomic_store_n(&met[i], 0, __ATOMIC_RELAXED);
}

void chains_refresh(void)
{
	struct thread *t = &thread_self;
	if (!is_on || session.restricted || t->vfork_pid || t->busy ||
		(!t->lane && !thread_attach(t)))
		return;
	thread_enter(t);
	uint32_t before = modules_generation();
	modules_refresh();
	if (modules_generation() != before)
		meet_again();
	thread_leave(t);
}

int chains_iterate_modules(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	return modules_iterate(callback, data);
}

/* ---- start ---- */

static void own_range(struct callchain_setup *setup)
{
	extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
	uint64_t base = (uint64_t)(uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *segment = (const void *)(uintptr_t)(base + __ehdr_start.e_phoff);
	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && segment[i].p_flags & PF_X) {
			setup->own_begin = base + segment[i].p_vaddr;
			setup->own_end = setup->own_begin + segment[i].p_memsz;
		}
}

static void load_libunwind(void)
{
	const struct fallback_setup setup = {session.home, dlopen, libc.dlsym};
	chains_ask_libunwind = fallback_load(&setup) == 0;
	if (!chains_ask_libunwind)
		session_note("libunwind could not be loaded from the library's folder, or the "
			     "program has its own");
}

static bool any_wanted(const struct config *c)
{
	for (unsigned i = 0; i < CHAIN_CLASSES; i++)
		if (c->backtrace_ns[i] != UINT64_MAX)
			return true;
	return false;
}

static void limits_use(void)
{
	for (unsigned i = 0; i < CHAIN_CLASSES; i++)
		own_words.chains_ticks[i] = limits[i];
}

void chains_start(void)
{
	const struct config *c = &session.config;
	struct callchain_setup setup = {
		.more = chunk_more, .main_top = (uint64_t)getauxval(AT_RANDOM)};
	*(void **)(void *)&setup.find_object = libc.dlsym(RTLD_DEFAULT, "_dl_find_object");
	for (unsigned i = 0; i < CHAIN_CLASSES; i++)
		limits[i] = UINT64_MAX;
	limits_use();
	rules_init(setup.find_object); /* for registers_in_handler(), whatever chains are wanted */
	if (!c->backtrace_depth || c->backtrace == BACKTRACE_NONE || !any_wanted(c))
		return;
	own_range(&setup);
	callchain_init(&setup);
	const struct modules_setup modules = {.iterate = session.iterate_phdr,
		.find_object = setup.find_object,
		.loaded = module_loaded,
		.unloaded = module_unloaded};
	modules_init(&modules);
	modules_refresh();
	flags = c->backtrace == BACKTRACE_FRAME_POINTERS ? CALLCHAIN_FRAME_POINTERS
		: c->backtrace == BACKTRACE_CHECK        ? CALLCHAIN_CHECK
							 : 0;
	if (c->backtrace == BACKTRACE_CHECK || c->backtrace == BACKTRACE_LIBUNWIND)
		load_libunwind();
	for (unsigned i = 0; i < CHAIN_CLASSES; i++)
		if (c->backtrace_ns[i] != UINT64_MAX)
			limits[i] = osrt_ticks(c->backtrace_ns[i]);
	limits_use();
	is_on = true;
}

void chains_forked(void)
{
	limits_use();
	callchain_forked();
	modules_forked();
	fallback_forked();
	meet_again();
	most_met = 0;
	telling = false;
}

void chains_end(void)
{
	char text[200];
	if (!(flags & CALLCHAIN_CHECK) || session.restricted)
		return;
	struct callchain_counts counts = callchain_counts();
	size_t at = text_append(text, sizeof(text), 0, "callchains compared with libunwind: ");
	at = text_append_number(text, sizeof(text), at, counts.checked, 10);
	at = text_append(text, sizeof(text), at, ", different: ");
	at = text_append_number(text, sizeof(text), at, counts.different, 10);
	at = text_append(text, sizeof(text), at, ", frames without a way on: ");
	at = text_append_number(text, sizeof(text), at, counts.lost, 10);
	at = text_append(text, sizeof(text), at, ", where libunwind gave up: ");
	text_append_number(text, sizeof(text), at, counts.shorter, 10);
	session_note(text);
}

/* ---- taking one ---- */

static struct callchain_thread *memory_for(struct thread *t)
{
	struct callchain_thread **kept = &memory_of_lane[t->lane->index];
	if (!met && !sys_mmap_table((void **)(void *)&met, MET_BYTES))
		return NULL;
	if (!*kept)
		*kept = sys_mmap_private(sizeof(**kept));
	if (*kept && !t->chains_begun) /* another thread's stack was remembered */
		callchain_forget(*kept);
	t->chains_begun = 1;
	return *kept;
}

/* libunwind calls libc by our wrappers, which must not take that for the application. Handlers
 * would be taken for libunwind, so they wait. */
static uint32_t take_muted(struct thread *t, struct callchain_thread *memory, uint32_t how,
	struct callchain_result *ret_result)
{
	uint64_t all = UINT64_MAX, before;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	struct lane *lane = thread_mute(t);
	uint32_t id = callchain_take(memory, session.config.backtrace_depth, how, ret_result);
	thread_unmute(t, lane);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return id;
}

/* Is each module of the chain in the map now? One that was met may have gone and come back since,
 * at its old address. */
static bool sees_all(uint32_t id)
{
	struct callchain_node node;
	bool all = true;
	for (; all && id && callchain_node(id, &node); id = node.parent)
		all = modules_learn(node.address - 1);
	return all;
}

/* libunwind sees the modules that we know: those of a new chain are learned before it counts. */
static uint32_t take_with_libunwind(
	struct thread *t, struct callchain_thread *memory, struct callchain_result *ret_result)
{
	uint32_t id = take_muted(t, memory, flags & ~(uint32_t)CALLCHAIN_CHECK, ret_result);
	bool again = flags & CALLCHAIN_CHECK;
	if (id && !is_met(id)) {
		modules_meet(id);
		again |= ret_result->end == CALLCHAIN_LOST;
	}
	again = again && id && is_met(id) && sees_all(id);
	return again ? take_muted(t, memory, flags, ret_result) : id;
}

static uint32_t method_of(const struct callchain_result *result)
{
	static const uint32_t ends[] = {[CALLCHAIN_WHOLE] = 0,
		[CALLCHAIN_CUT] = CALLCHAIN_IS_CUT,
		[CALLCHAIN_LOST] = CALLCHAIN_IS_LOST};
	return result->method | ends[result->end];
}

/*
 * A vfork child, on its parent's memory: its chains lead through its parent's nodes and modules.
 * Modules are left to the parent to tell, when it goes on. libunwind would open a pipe, so it is
 * not asked.
 */
static uint32_t take_of_child(
	struct thread *t, struct callchain_thread *memory, uint32_t *ret_method)
{
	struct callchain_result result;
	if (chains_ask_libunwind)
		return 0;
	uint32_t id = callchain_take(memory, session.config.backtrace_depth, flags, &result);
	t->vfork_chain = id;
	*ret_method = method_of(&result);
	return id;
}

/* The child may have been killed at it. */
void chains_vfork_parent(struct thread *t)
{
	uint32_t id = t->vfork_chain;
	t->vfork_chain = 0;
	t->chains_begun = 0;
	if (id && !is_met(id))
		modules_meet(id);
}

/* The id of its innermost node, 0 = none. *ret_method is for REC_CALLCHAIN. */
static uint32_t take(struct thread *t, uint32_t *ret_method)
{
	struct callchain_result result;
	if (session.restricted)
		__atomic_add_fetch(&session.spool->chains_forbidden, 1, __ATOMIC_RELAXED);
	struct callchain_thread *memory = session.restricted ? NULL : memory_for(t);
	if (!memory)
		return 0;
	if (t->vfork_pid)
		return take_of_child(t, memory, ret_method);
	uint32_t id = chains_ask_libunwind
		? take_with_libunwind(t, memory, &result)
		: callchain_take(memory, session.config.backtrace_depth, flags, &result);
	if (id && !is_met(id))
		modules_meet(id);
	*ret_method = method_of(&result);
	return id;
}

struct record *chains_room(struct thread *t, uint64_t tick, unsigned *slots)
{
	uint32_t method = 0, chain = t->lane ? take(t, &method) : 0;
	*slots += chain != 0;
	struct record *r = lane_room(t, *slots);
	if (r && chain)
		*r++ = (struct record){tick, REC_CALLCHAIN, chain, method};
	return r;
}
