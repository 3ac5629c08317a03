/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - Python frames in callchains: the interpreter of the process, and definitions of its
 * code objects in the lane.
 */
#include "tracer/core/python.h"

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/rtld_next.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/lane.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "unwind/merged.h"
#include "unwind/modules.h"
#include "unwind/python.h"
#include "unwind/registers.h"
#include "unwind/rules.h"

bool python_is_here, python_may_come;
struct python_memory python_gil;

enum state { STATE_NONE, STATE_LOOKING, STATE_FOUND, STATE_CHECKING, STATE_ON, STATE_OFF };

static uint32_t state;
static struct python_setup setup;
static struct merged_interpreter interpreter;
static int (*find_object)(void *, void *);
static const struct link_map *home; /* the module of an interpreter that was loaded later */
static uint32_t unloading;          /* calls in progress that may unload it */
static uint32_t readers;            /* threads that read its frames */
static uint32_t readers_left;       /* those that no dlclose() waits for any more */

#define WAIT_TRIES 2000u /* some 1 ms */
#define LOOKED_MAX 64u
/* Modules of a generation of the map that have no interpreter, by their link_map. */
static struct {
	uint64_t map[LOOKED_MAX];
	uint32_t generation;
} looked;

/* Memory of a thread, reused by the next thread of its lane. */
struct memory {
	struct python_thread python;
	struct merged_thread merged;
};
static struct memory *memory_of_lane[SPOOL_LANES_MAX];
static struct memory *memory_of_samples[SPOOL_LANES_MAX]; /* likewise, for interrupted code */

/* ---- the interpreter ---- */

static void switch_off(const char *reason)
{
	python_is_here = false;
	python_gil.bytes = 0;
	python_gil.may_be_own = false;
	__atomic_store_n(&state, STATE_OFF, __ATOMIC_RELEASE);
	diagnostic_note_about("callchains have no Python frames", reason);
}

/* Store a text of a definition in the spool's table of names. Return its reference; 0 = none. */
static uint32_t ref_of(const char *text, uint32_t bytes, bool is_cut)
{
	return bytes ? names_ref(names_intern_long(text, bytes, is_cut)) : 0;
}

static bool define(void *arg, const struct python_code *code)
{
	uint32_t file = ref_of(code->file, code->file_bytes, false),
		 name = ref_of(code->name, code->name_bytes, false);
	uint64_t a = (uint64_t)code->id << 32 | code->first_line, b = (uint64_t)file << 32 | name;
	if ((code->file_bytes && !file) || (code->name_bytes && !name))
		return false;
	const struct python_definition definition = {
		ref_of(code->table, code->table_bytes, code->is_cut), setup.layout.lines};
	return lane_put(arg, clock_ticks(), REC_PYTHON_CODE, a, b, &definition, sizeof(definition));
}

static uint64_t found_bytes(const char *name, uint64_t *ret_bytes)
{
	return home ? rtld_find_in(home, name, ret_bytes) : rtld_find_global(name, ret_bytes);
}

uint64_t python_symbol(const char *name)
{
	uint64_t bytes;
	return found_bytes(name, &bytes);
}

static uint32_t number_take(const char **text)
{
	uint32_t number = 0;
	for (; **text >= '0' && **text <= '9' && number < 256; ++*text)
		number = number * 10 + (uint32_t)(**text - '0');
	return number;
}

/* Return the version, such as 0x030b; 0 = not known. Call only after the interpreter has
 * started. */
static uint32_t version_now(void)
{
	uint64_t word = python_symbol("Py_Version"), call = python_symbol("Py_GetVersion");
	if (word)
		return *(const uint32_t *)(uintptr_t)word >> 16;
	const char *text = call ? ((const char *(*)(void))(uintptr_t)call)() : "";
	uint32_t major = number_take(&text);
	if (*text++ != '.')
		return 0;
	return major << 8 | number_take(&text);
}

/* Python 3.6 has a variable in place of the function. */
static const uint64_t *last_state;

static int is_finalizing_36(void)
{
	return __atomic_load_n(last_state, __ATOMIC_RELAXED) != 0;
}

/* Fill `setup`. Return NULL, or the reason why that is not possible. */
static const char *setup_fill(void)
{
	uint64_t bytes = 0, runtime = found_bytes("_PyRuntime", &bytes);
	uint32_t version = version_now();
	const struct python_layout *known = python_layout_of(version);
	if (!known && runtime) {
		const char *reason = python_layout_read((const void *)(uintptr_t)runtime,
			bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, version, &setup.layout);
		if (reason)
			return reason;
	} else if (!known) {
		return "unknown version";
	} else {
		setup.layout = *known;
	}
	uint64_t finalizing = python_symbol("Py_IsFinalizing");
	if (!finalizing)
		finalizing = python_symbol("_Py_IsFinalizing");
	last_state = (const uint64_t *)(uintptr_t)python_symbol("_Py_Finalizing");
	if (!finalizing && last_state)
		finalizing = (uint64_t)(uintptr_t)is_finalizing_36;
	setup.code_type = python_symbol("PyCode_Type");
	setup.text_type = python_symbol("PyUnicode_Type");
	setup.bytes_type = python_symbol("PyBytes_Type");
	setup.coroutine_type = python_symbol("PyCoro_Type");
	setup.is_finalizing = (int (*)(void))(uintptr_t)finalizing;
	setup.define = define;
	return finalizing && setup.code_type && setup.text_type && setup.bytes_type
		? NULL
		: "some of its symbols are missing";
}

/* 3.6 has no _PyRuntime. */
static void gil_find(void)
{
	uint64_t bytes = 0;
	python_gil.begin = found_bytes("_PyRuntime", &bytes);
	python_gil.bytes = python_gil.begin ? bytes : 0;
	python_gil.may_be_own = setup.layout.tstate_interpreter > 0;
}

/* Get ready to read frames of the interpreter that has `call`. */
static bool interpreter_use(uint64_t call)
{
	struct cfi_object module;
	uint64_t bytes;
	if (!call || !rules_object(call, &module))
		return false;
	setup.thread_state = (uint64_t(*)(void))(uintptr_t)call;
	interpreter.begin = module.begin;
	interpreter.end = module.end;
	interpreter.eval_begin = found_bytes("_PyEval_EvalFrameDefault", &bytes);
	interpreter.eval_end = interpreter.eval_begin + (interpreter.eval_begin ? bytes : 0);
	gil_find();
	__atomic_store_n(&state, STATE_FOUND, __ATOMIC_RELEASE);
	python_is_here = true;
	return true;
}

#define THREAD_STATE "PyGILState_GetThisThreadState"

void python_start(int (*given_find_object)(void *, void *))
{
	if (session.config.python_backtrace != PYTHON_BACKTRACE_AUTO || session.restricted)
		return;
	find_object = given_find_object;
	python_may_come = !interpreter_use(python_symbol(THREAD_STATE)) && find_object;
}

void python_look(uint64_t address, uint32_t generation)
{
	struct dl_object object;
	uint32_t none = STATE_NONE;
	uint64_t bytes;
	if (find_object((void *)(uintptr_t)address, &object) != 0 || !object.map)
		return;
	uint64_t map = (uint64_t)(uintptr_t)object.map, *place = &looked.map[map / 64 % LOOKED_MAX];
	if (looked.generation == generation && *place == map)
		return;
	for (unsigned i = 0; looked.generation != generation && i < LOOKED_MAX; i++)
		looked.map[i] = 0;
	looked.generation = generation;
	*place = map;
	uint64_t call = rtld_find_in(object.map, THREAD_STATE, &bytes);
	if (!call || __atomic_load_n(&unloading, __ATOMIC_ACQUIRE) ||
		!__atomic_compare_exchange_n(
			&state, &none, STATE_LOOKING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	home = object.map;
	python_may_come = !interpreter_use(call);
	if (python_may_come) {
		home = NULL;
		__atomic_store_n(&state, STATE_NONE, __ATOMIC_RELEASE);
	}
}

void python_before_unload(void)
{
	if (!home)
		return;
	__atomic_add_fetch(&unloading, 1, __ATOMIC_SEQ_CST);
	python_is_here = false;
	python_gil.bytes = 0;
	python_gil.may_be_own = false;
	/* A reader that left by siglongjmp() stays counted; it is waited for once. */
	const uint32_t left = __atomic_load_n(&readers_left, __ATOMIC_RELAXED);
	uint32_t now = __atomic_load_n(&readers, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < WAIT_TRIES && now > left; i++) {
		SYS0(SYS_sched_yield);
		now = __atomic_load_n(&readers, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&readers_left, now, __ATOMIC_RELAXED);
}

void python_after_unload(void)
{
	struct dl_object object;
	if (!home || __atomic_sub_fetch(&unloading, 1, __ATOMIC_ACQ_REL))
		return;
	void *at = (void *)(uintptr_t)(uint64_t)(uintptr_t)setup.thread_state;
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_OFF)
		return;
	if (find_object(at, &object) == 0 && object.map == home) {
		gil_find();
		python_is_here = true;
		return;
	}
	home = NULL;
	python_may_come = true;
	__atomic_store_n(&state, STATE_NONE, __ATOMIC_RELEASE);
}

/* Complete the setup on the first thread that runs Python code. Return true if frames can be
 * read. */
static __attribute__((noinline)) bool check(void)
{
	uint32_t expected = STATE_FOUND;
	if (!setup.thread_state())
		return false;
	if (!__atomic_compare_exchange_n(
		    &state, &expected, STATE_CHECKING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return expected == STATE_ON;
	const char *reason = setup_fill();
	if (reason) {
		switch_off(reason);
		return false;
	}
	python_init(&setup);
	python_gil.may_be_own = setup.layout.tstate_interpreter > 0;
	__atomic_store_n(&state, STATE_ON, __ATOMIC_RELEASE);
	return true;
}

const struct python_layout *python_layout_now(uint64_t *ret_state)
{
	if (!python_is_here || (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_ON && !check()))
		return NULL;
	*ret_state = setup.thread_state();
	return &setup.layout;
}

void python_start_forked(void)
{
	python_forked();
	merged_forked();
	/* Threads that looked, checked or unloaded are not in the child. */
	if (state == STATE_CHECKING)
		state = STATE_FOUND;
	if (state == STATE_LOOKING)
		state = STATE_NONE;
	readers = readers_left = 0;
	/* The child has no thread that completes the unloading. */
	struct dl_object object;
	if (unloading)
		python_is_here = (state == STATE_ON || state == STATE_FOUND) &&
			find_object((void *)(uintptr_t)setup.thread_state, &object) == 0 &&
			object.map == home;
	unloading = 0;
}

/* ---- chains ---- */

static struct memory *memory_for(const struct thread *t, bool interrupted)
{
	struct memory **kept = &(interrupted ? memory_of_samples : memory_of_lane)[t->lane->index];
	if (!*kept)
		*kept = sys_mmap_beyond_data(sizeof(**kept));
	return *kept;
}

/* Return true if frames can be read. check() calls functions of the interpreter, so a sample calls
 * it only if it has interrupted the interpreter's own code. */
static bool is_ready(const struct registers_all *from)
{
	return __builtin_expect(__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_ON, 1) ||
		((!from ||
			 from->r[CFI_IP] - interpreter.begin <
				 interpreter.end - interpreter.begin) &&
			check());
}

static bool take(struct thread *t, struct callchain_thread *native,
	const struct registers_all *from, uint32_t flags, struct callchain_result *ret_result,
	uint32_t *ret_id)
{
	uint32_t depth = from ? CALLCHAIN_DEPTH_MAX : (uint32_t)session.config.backtrace_depth;
	if (!from && !callchain_has_room(native))
		return false;
	struct memory *memory = is_ready(from) ? memory_for(t, from) : NULL;
	if (!memory)
		return false;
	uint32_t known = merged_begin(&memory->merged);
	bool unmapped = from || t->unmapped;
	enum python_answer answer = python_walk(&memory->python, depth, unmapped, t);
	if (__builtin_expect(answer == PYTHON_WRONG, 0)) {
		/* A handler may have interrupted the interpreter while it changed its frames. */
		if (!unmapped && !registers_in_handler())
			switch_off("its memory does not have the layout of its version");
		return false;
	}
	if (answer == PYTHON_NOTHING)
		return false;
	if (from)
		callchain_take_at(native, from, depth, flags | CALLCHAIN_NAMELESS, ret_result);
	else
		callchain_take(native, depth, flags | CALLCHAIN_NAMELESS, ret_result);
	*ret_id = merged_take(&memory->merged, known, &interpreter, native, ret_result,
		&memory->python, answer == PYTHON_CUT);
	if (answer == PYTHON_CUT && ret_result->end == CALLCHAIN_WHOLE)
		ret_result->end = CALLCHAIN_CUT;
	return true;
}

bool python_take(struct thread *t, struct callchain_thread *native,
	const struct registers_all *from, uint32_t flags, struct callchain_result *ret_result,
	uint32_t *ret_id)
{
	if (__builtin_expect(!home, 1))
		return take(t, native, from, flags, ret_result, ret_id);
	__atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
	bool taken = !__atomic_load_n(&unloading, __ATOMIC_SEQ_CST) &&
		take(t, native, from, flags, ret_result, ret_id);
	__atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
	return taken;
}
