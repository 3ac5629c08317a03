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
#include "unwind/python.h"
#include "unwind/registers.h"
#include "unwind/rules.h"

bool python_is_here;

enum state { STATE_NONE, STATE_FOUND, STATE_CHECKING, STATE_ON, STATE_OFF };

static uint32_t state;
static struct python_setup setup;
static struct merged_interpreter interpreter;

/* Memory of a thread, reused by the next thread of its lane. */
struct memory {
	struct python_thread python;
	struct merged_thread merged;
};
static struct memory *memory_of_lane[SPOOL_LANES_MAX];

/* ---- the interpreter ---- */

static void switch_off(const char *reason)
{
	python_is_here = false;
	__atomic_store_n(&state, STATE_OFF, __ATOMIC_RELEASE);
	diagnostic_note_about("callchains have no Python frames", reason);
}

/* Store a text of a definition in the spool's table of names. Returns its reference; 0 = none. */
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

static uint64_t found(const char *name)
{
	uint64_t bytes;
	return rtld_find_global(name, &bytes);
}

static uint32_t number_take(const char **text)
{
	uint32_t number = 0;
	for (; **text >= '0' && **text <= '9' && number < 256; ++*text)
		number = number * 10 + (uint32_t)(**text - '0');
	return number;
}

/* Return the version, such as 0x030b; 0 = not known. Called once the interpreter runs. */
static uint32_t version_now(void)
{
	uint64_t word = found("Py_Version"), call = found("Py_GetVersion");
	if (word)
		return *(const uint32_t *)(uintptr_t)word >> 16;
	const char *text = call ? ((const char *(*)(void))(uintptr_t)call)() : "";
	uint32_t major = number_take(&text);
	if (*text++ != '.')
		return 0;
	return major << 8 | number_take(&text);
}

/* Fill `setup`. Returns NULL, or the reason why it cannot. */
static const char *setup_fill(void)
{
	uint64_t bytes = 0, runtime = rtld_find_global("_PyRuntime", &bytes);
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
	uint64_t finalizing = found("Py_IsFinalizing");
	if (!finalizing)
		finalizing = found("_Py_IsFinalizing");
	setup.code_type = found("PyCode_Type");
	setup.text_type = found("PyUnicode_Type");
	setup.bytes_type = found("PyBytes_Type");
	setup.is_finalizing = (int (*)(void))(uintptr_t)finalizing;
	setup.define = define;
	return finalizing && setup.code_type && setup.text_type && setup.bytes_type
		? NULL
		: "its symbols are not complete";
}

void python_start(void)
{
	struct cfi_object module;
	uint64_t bytes;
	if (session.config.python_backtrace != PYTHON_BACKTRACE_AUTO || session.restricted)
		return;
	uint64_t call = found("PyGILState_GetThisThreadState");
	if (!call || !rules_object(call, &module))
		return;
	setup.thread_state = (uint64_t(*)(void))(uintptr_t)call;
	interpreter.begin = module.begin;
	interpreter.end = module.end;
	interpreter.eval_begin = rtld_find_global("_PyEval_EvalFrameDefault", &bytes);
	interpreter.eval_end = interpreter.eval_begin + bytes;
	state = STATE_FOUND;
	python_is_here = true;
}

/* Complete the setup on the first thread that runs Python code. Returns true if frames can be
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
	__atomic_store_n(&state, STATE_ON, __ATOMIC_RELEASE);
	return true;
}

void python_start_forked(void)
{
	python_forked();
	merged_forked();
	if (state == STATE_CHECKING) /* the thread that checked is not in the child */
		state = STATE_FOUND;
}

/* ---- chains ---- */

static struct memory *memory_for(const struct thread *t)
{
	struct memory **kept = &memory_of_lane[t->lane->index];
	if (!*kept)
		*kept = sys_mmap_private(sizeof(**kept));
	return *kept;
}

bool python_take(struct thread *t, struct callchain_thread *native, uint32_t flags,
	struct callchain_result *ret_result, uint32_t *ret_id)
{
	uint32_t depth = (uint32_t)session.config.backtrace_depth;
	if (!callchain_has_room(native))
		return false;
	if (__builtin_expect(__atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_ON, 0) && !check())
		return false;
	struct memory *memory = memory_for(t);
	if (!memory)
		return false;
	uint32_t known = merged_begin(&memory->merged);
	bool unmapped = t->unmapped;
	enum python_answer answer = python_walk(&memory->python, depth, unmapped, t);
	if (__builtin_expect(answer == PYTHON_WRONG, 0)) {
		/* A handler may have interrupted the interpreter while it changed its frames. */
		if (!unmapped && !registers_in_handler())
			switch_off("what its memory holds is not what its version says");
		return false;
	}
	if (answer == PYTHON_NOTHING)
		return false;
	callchain_take(native, depth, flags | CALLCHAIN_NAMELESS, ret_result);
	*ret_id = merged_take(&memory->merged, known, &interpreter, native, ret_result,
		&memory->python, answer == PYTHON_CUT);
	if (answer == PYTHON_CUT && ret_result->end == CALLCHAIN_WHOLE)
		ret_result->end = CALLCHAIN_CUT;
	return true;
}
