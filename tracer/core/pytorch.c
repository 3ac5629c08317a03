/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pytorch.c - turns on the NVTX ranges of PyTorch's autograd by a pending call of the interpreter.
 */
#include "tracer/core/pytorch.h"

#include <errno.h>

#include "common/clock.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/python.h"
#include "tracer/core/state.h"

#define TICKS_BETWEEN (UINT64_C(1) << 25) /* some 10 ms */
#define FILE_INPUT 257                    /* Py_file_input */

bool pytorch_may_come;

static bool is_asked;       /* the interpreter has a pending call */
static uint64_t next_ticks; /* do not ask before */

/* KeyboardInterrupt is the program's: a handler of a signal may run here. Anything else that a
 * module named torch raises, also when the error is described, ends here. */
static const char script[] =
	"said = ''\n"
	"try:\n"
	"    import sys\n"
	"    torch = sys.modules.get('torch')\n"
	"    if torch and not getattr(getattr(torch, '__spec__', None), '_initializing', False):\n"
	"        ranges = torch.autograd.profiler.emit_nvtx()\n"
	"        ranges.__enter__()\n"
	"        said = 'on'\n"
	"except KeyboardInterrupt:\n"
	"    raise\n"
	"except BaseException as error:\n"
	"    try:\n"
	"        said = '%s: %s' % (type(error).__name__, error)\n"
	"        said = said.encode('utf-8', 'backslashreplace').decode()\n"
	"    except Exception:\n"
	"        said = 'an error that cannot be described'\n";

typedef void *(*make_fn)(void);
typedef int (*set_fn)(void *, const char *, void *);
typedef void *(*get_fn)(void *, const char *);
typedef void *(*run_fn)(const char *, int, void *, void *);
typedef const char *(*text_fn)(void *);
typedef void (*release_fn)(void *);
typedef int (*add_fn)(int (*)(void *), void *);

#define FUNCTION(type, name) ((type)(uintptr_t)python_symbol(name))

static void switch_off(const char *reason)
{
	pytorch_may_come = false;
	diagnostic_note_about("PyTorch's NVTX ranges are not turned on", reason);
}

/* Act on what the script has said. */
static void answer_take(const char *said)
{
	if (!said)
		switch_off("no answer");
	else if (said[0] == 'o' && said[1] == 'n' && !said[2])
		pytorch_may_come = false;
	else if (said[0])
		switch_off(said);
}

/* Run the script: in the main thread, with the GIL. Returns -1 with an exception set if the program
 * was interrupted. */
static int look(void *unused)
{
	make_fn dict_make = FUNCTION(make_fn, "PyDict_New"),
		builtins = FUNCTION(make_fn, "PyEval_GetBuiltins");
	set_fn dict_set = FUNCTION(set_fn, "PyDict_SetItemString");
	get_fn dict_get = FUNCTION(get_fn, "PyDict_GetItemString");
	run_fn run = FUNCTION(run_fn, "PyRun_String");
	text_fn text_of = FUNCTION(text_fn, "PyUnicode_AsUTF8");
	release_fn release = FUNCTION(release_fn, "Py_DecRef");
	(void)unused;
	/* A handler that runs before this call is over must not ask: it would wait for a lock that
	 * the interpreter holds. */
	__atomic_store_n(&next_ticks, clock_ticks() + TICKS_BETWEEN, __ATOMIC_RELAXED);
	__atomic_store_n(&is_asked, false, __ATOMIC_RELEASE);
	if (!pytorch_may_come)
		return 0;
	if (!dict_make || !builtins || !dict_set || !dict_get || !run || !text_of || !release) {
		switch_off("some symbols of the interpreter are missing");
		return 0;
	}
	/* The ranges stay on as long as the dictionary has them. */
	void *names = dict_make();
	if (!names || dict_set(names, "__builtins__", builtins()) != 0)
		return -1;
	void *result = run(script, FILE_INPUT, names, names);
	if (!result)
		return -1;
	void *said = dict_get(names, "said");
	answer_take(said ? text_of(said) : NULL);
	release(result);
	if (pytorch_may_come)
		release(names);
	return 0;
}

void pytorch_start(void)
{
	pytorch_may_come = session.config.pytorch == PYTORCH_AUTOGRAD_NVTX;
	if (pytorch_may_come && session.config.python_backtrace != PYTHON_BACKTRACE_AUTO)
		switch_off("--python-backtrace is off");
}

void pytorch_look(struct thread *t)
{
	uint64_t now = clock_ticks(), state = 0;
	int error = errno;
	if (now < __atomic_load_n(&next_ticks, __ATOMIC_RELAXED) || !python_layout_now(&state) ||
		!state || __atomic_exchange_n(&is_asked, true, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&next_ticks, now + TICKS_BETWEEN, __ATOMIC_RELAXED);
	add_fn add = FUNCTION(add_fn, "Py_AddPendingCall");
	struct lane *lane = thread_mute(t);
	if (!add || add(look, NULL) != 0)
		__atomic_store_n(&is_asked, false, __ATOMIC_RELEASE);
	thread_unmute(t, lane);
	errno = error;
}
