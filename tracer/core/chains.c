/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.c - callchains of events: memory, thresholds, and the modules that they lead through.
 */
#define _GNU_SOURCE
#include "tracer/core/chains.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/lane.h"
#include "tracer/base/libc.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/python.h"
#include "tracer/core/pytorch.h"
#include "tracer/core/state.h"
#include "tracer/core/spool_file.h"
#include "unwind/callchain.h"
#include "unwind/fallback.h"
#include "unwind/merged.h"
#include "unwind/modules.h"
#include "unwind/rules.h"

bool chains_ask_libunwind;

/* The callchain memory of each lane: the next thread that gets the lane finds it in the processor's
 * cache. */
static struct callchain_thread *memory_of_lane[SPOOL_LANES_MAX];
static bool is_on;                     /* some class has a threshold */
static uint64_t limits[CHAIN_CLASSES]; /* values for own_words.chains_ticks */
static uint32_t flags;
static bool is_recording; /* modules are recorded, from the first chain on */
static uint64_t *marked;  /* bit n: modules of node n and further out are recorded */
#define MARKED_BYTES (NODES_MAX / 8)
static uint32_t marked_words; /* words of `marked` in use */

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

/* Record a module in the lane of the calling thread, if it has one. */
static bool module_loaded(void *unused, const struct module *m)
{
	struct {
		struct module_load load;
		char path[MODULE_PATH_BYTES];
	} payload = {.load = {.bias = m->bias, .build_id_bytes = m->build_id_bytes}};
	struct thread *t = &thread_self;
	(void)unused;
	if (!is_recording || !t->lane)
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

static bool is_marked(uint32_t id)
{
	return __atomic_load_n(&marked[id / 64], __ATOMIC_RELAXED) >> id % 64 & 1;
}

/* Learn the module of a node, if it is native. */
static bool module_learn(const struct callchain_node *node)
{
	return node->address & ADDRESS_PYTHON || modules_learn(node->address - 1);
}

/* Record the modules that new nodes lead through. Outer nodes are marked first, so that a marked
 * node implies that all nodes further out are marked. */
static void modules_record(uint32_t innermost)
{
	uint32_t fresh[MERGED_FRAMES_MAX], count = 0;
	struct callchain_node node;
	bool known = true, look = python_may_come;
	for (uint32_t id = innermost;
		id && !is_marked(id) && count < MERGED_FRAMES_MAX && callchain_node(id, &node);
		id = node.parent) {
		known &= module_learn(&node);
		if (__builtin_expect(look, 0))
			python_look(node.address - 1, modules_generation());
		fresh[count++] = id;
	}
	is_recording = true;
	if (!modules_report() || !known)
		return; /* another thread is changing the map: try again at the next call */
	for (uint32_t i = count; i > 0; i--) {
		uint32_t id = fresh[i - 1], word = id / 64;
		__atomic_or_fetch(&marked[word], UINT64_C(1) << id % 64, __ATOMIC_RELAXED);
		if (word >= marked_words)
			marked_words = word + 1;
	}
}

void chains_record_modules(void)
{
	if (!is_on)
		return;
	is_recording = true;
	modules_report();
}

/* Forget which nodes were marked: a module may have been replaced by another at its address. */
static void marks_clear(void)
{
	for (uint32_t i = 0; i < marked_words; i++)
		__atomic_store_n(&marked[i], 0, __ATOMIC_RELAXED);
}

bool chains_follow_modules(void)
{
	return is_on && !session.restricted && !thread_self.vfork_pid && !thread_self.busy;
}

void chains_before_unload(void)
{
	python_before_unload();
}

void chains_after_unload(void)
{
	struct thread *t = &thread_self;
	thread_enter(t);
	python_after_unload();
	uint32_t before = modules_generation();
	modules_refresh();
	if (modules_generation() != before)
		marks_clear();
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
	const struct fallback_setup setup = {session.home, libc_dlopen(), libc.dlsym};
	chains_ask_libunwind = fallback_load(&setup) == 0;
	if (!chains_ask_libunwind)
		diagnostic_line("libunwind is not used: it cannot be loaded from the folder of "
				"libtrace.so, or the program has its own");
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
	rules_init(setup.find_object); /* registers_in_handler() needs them, whatever chains are
					  wanted */
	bool wanted = c->backtrace_depth && c->backtrace != BACKTRACE_NONE && any_wanted(c);
	if (!wanted && !c->cpu)
		return;
	own_range(&setup);
	callchain_init(&setup);
	const struct modules_setup modules = {.iterate = session.iterate_phdr,
		.find_object = setup.find_object,
		.loaded = module_loaded,
		.unloaded = module_unloaded,
		.forget = callchain_unloaded};
	modules_init(&modules);
	modules_refresh();
	flags = c->backtrace == BACKTRACE_FRAME_POINTERS ? CALLCHAIN_FRAME_POINTERS
		: c->backtrace == BACKTRACE_CHECK        ? CALLCHAIN_CHECK
							 : 0;
	if (c->backtrace == BACKTRACE_CHECK || c->backtrace == BACKTRACE_LIBUNWIND)
		load_libunwind();
	for (unsigned i = 0; wanted && i < CHAIN_CLASSES; i++)
		if (c->backtrace_ns[i] != UINT64_MAX)
			limits[i] = session_ticks(c->backtrace_ns[i]);
	limits_use();
	python_start(setup.find_object);
	pytorch_start();
	is_on = true;
}

void chains_forked(void)
{
	limits_use();
	callchain_forked();
	python_start_forked();
	modules_forked();
	fallback_forked();
	marks_clear();
	marked_words = 0;
	is_recording = false;
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
	at = text_append(text, sizeof(text), at, ", frames without a caller: ");
	at = text_append_number(text, sizeof(text), at, counts.lost, 10);
	at = text_append(text, sizeof(text), at, ", ended early by libunwind: ");
	text_append_number(text, sizeof(text), at, counts.shorter, 10);
	diagnostic_line(text);
}

/* ---- taking a chain ---- */

static bool marks_are_there(void)
{
	return marked || sys_mmap_table((void **)(void *)&marked, MARKED_BYTES);
}

static struct callchain_thread *memory_for(struct thread *t)
{
	struct callchain_thread **kept = &memory_of_lane[t->lane->index];
	if (!marks_are_there())
		return NULL;
	if (!*kept)
		*kept = sys_mmap_beyond_data(sizeof(**kept));
	if (*kept && !t->chains_begun) /* the memory describes another thread's stack */
		callchain_forget(*kept);
	t->chains_begun = 1;
	return *kept;
}

/* Take a chain with libunwind, which calls libc through our wrappers: they must not record that.
 * Signals are blocked, since calls of handlers would be taken for libunwind's. */
static uint32_t take_muted(struct thread *t, struct callchain_thread *memory, uint32_t how,
	struct callchain_result *ret_result)
{
	uint64_t before = sys_signals_block();
	struct lane *lane = thread_mute(t);
	uint32_t id = callchain_take(memory, session.config.backtrace_depth, how, ret_result);
	thread_unmute(t, lane);
	sys_signals_set(before);
	return id;
}

/* Return true if each module of the chain is in the map now. A known one may have been unloaded and
 * loaded again at its old address. */
static bool sees_all(uint32_t id)
{
	struct callchain_node node;
	bool all = true;
	for (; all && id && callchain_node(id, &node); id = node.parent)
		all = module_learn(&node);
	return all;
}

/* Take a chain with libunwind, which sees only the modules that we know: the modules of a new chain
 * are learned before its result counts. */
static uint32_t take_with_libunwind(
	struct thread *t, struct callchain_thread *memory, struct callchain_result *ret_result)
{
	uint32_t id = take_muted(t, memory, flags & ~(uint32_t)CALLCHAIN_CHECK, ret_result);
	bool again = flags & CALLCHAIN_CHECK;
	if (id && !is_marked(id)) {
		modules_record(id);
		again |= ret_result->end == CALLCHAIN_LOST;
	}
	again = again && id && is_marked(id) && sees_all(id);
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
 * Take a chain in a vfork child, on its parent's memory. It leads through the parent's nodes and
 * modules; the parent records the modules when it continues. libunwind would open a pipe, so it is
 * not used.
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

/* Complete the chain that the child took last: it may have been killed meanwhile. */
void chains_vfork_parent(struct thread *t)
{
	uint32_t id = t->vfork_chain;
	t->vfork_chain = 0;
	t->chains_begun = 0;
	if (id && !is_marked(id))
		modules_record(id);
}

/* Return the id of the chain's innermost node, 0 = none. *ret_method is for REC_CALLCHAIN. */
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
	uint32_t id;
	if (chains_ask_libunwind)
		id = take_with_libunwind(t, memory, &result);
	else if (__builtin_expect(!python_is_here, 1) ||
		!python_take(t, memory, NULL, flags, &result, &id))
		id = callchain_take(memory, session.config.backtrace_depth, flags, &result);
	if (id && !is_marked(id))
		modules_record(id);
	*ret_method = method_of(&result);
	return id;
}

static void count_missing(void)
{
	const struct callchain_nodes *tree = callchain_tree();
	struct spool_header *spool = session.spool;
	if (nodes_are_full(tree))
		__atomic_add_fetch(&spool->chains_full, 1, __ATOMIC_RELAXED);
	else if (nodes_lack_memory(tree))
		__atomic_add_fetch(&spool->chains_without_memory, 1, __ATOMIC_RELAXED);
}

/* Make room for an event and the record of its chain, if there is one. */
static struct record *room(
	struct thread *t, uint64_t tick, uint32_t chain, uint32_t method, unsigned *slots)
{
	*slots += chain != 0;
	struct record *r = lane_room(t, *slots);
	if (r && chain)
		*r++ = (struct record){tick, REC_CALLCHAIN, chain, method};
	return r;
}

struct record *chains_room(struct thread *t, uint64_t tick, unsigned *slots)
{
	/* A forked child's thresholds read 0: a chain seems to be due, though none is taken
	 * there. */
	bool due = t->lane && is_on;
	uint32_t method = 0, chain = due ? take(t, &method) : 0;
	if (due && !chain)
		count_missing();
	return room(t, tick, chain, method, slots);
}

struct record *chains_room_at(struct thread *t, uint64_t tick, struct callchain_thread *memory,
	const struct registers_all *from, unsigned *slots)
{
	struct callchain_result result;
	uint32_t depth = session.config.backtrace == BACKTRACE_NONE ? 1 : CALLCHAIN_DEPTH_MAX;
	uint32_t how = flags & CALLCHAIN_FRAME_POINTERS, chain = 0;
	bool ready = is_on && marks_are_there();
	bool merged = ready && python_is_here && depth > 1 &&
		python_take(t, memory, from, how, &result, &chain);
	if (ready && !merged)
		chain = callchain_take_at(memory, from, depth, how, &result);
	if (ready && !chain)
		count_missing();
	if (chain && !is_marked(chain))
		modules_record(chain);
	return room(t, tick, chain, chain ? method_of(&result) : 0, slots);
}
