#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what Python frames add to a callchain, in the interpreter that runs this script.

    python_chains.py [DEPTH]

The callchain has DEPTH Python frames (29 by default), each of another function. Four ways to take it are measured, each 200,000 times in batches
of 50: the native chain alone; the Python frames alone; the Python frames if each is at another instruction than in the chain before; and both
as one chain. Prints the least and the median time of a chain, over the 4,000 batches, in ns. Needs cc.
"""
import ctypes
import os
import subprocess
import sys
import tempfile

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = r"""
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include "unwind/merged.h"
#include "unwind/modules.h"
#include "unwind/rules.h"
static struct callchain_thread *native;
static struct python_thread *python;
static struct merged_thread *merged;
static struct merged_interpreter interpreter;
static uint32_t frames;
static void *more(void *arg, uint32_t number) { (void)arg; (void)number; return calloc(1, NODES_CHUNK_BYTES); }
static bool define(void *arg, const struct python_code *code) { (void)arg; (void)code; return true; }
const char *begin(uint32_t version, void *state, void *finalizing, void *runtime, void *code, void *text, void *bytes, void *eval, void *find)
{
	struct callchain_setup c = {.more = more, .main_top = getauxval(AT_RANDOM)};
	*(void **)&c.find_object = find;
	struct python_setup s = {.code_type = (uint64_t)code, .text_type = (uint64_t)text, .bytes_type = (uint64_t)bytes, .define = define};
	*(void **)&s.thread_state = state;
	*(void **)&s.is_finalizing = finalizing;
	const struct python_layout *l = python_layout_of(version);
	const char *reason = l ? NULL : python_layout_read(runtime, 4096, version, &s.layout);
	if (reason)
		return reason;
	if (l)
		s.layout = *l;
	struct cfi_object module;
	callchain_init(&c);
	rules_init(c.find_object);
	python_init(&s);
	if (rules_object((uint64_t)state, &module))
		interpreter = (struct merged_interpreter){module.begin, module.end, (uint64_t)eval, (uint64_t)eval + 65536};
	native = calloc(1, sizeof(*native));
	python = calloc(1, sizeof(*python));
	merged = calloc(1, sizeof(*merged));
	return NULL;
}
static uint32_t once(int what)
{
	struct callchain_result result;
	if (what == 0)
		return callchain_take(native, 128, 0, &result);
	uint32_t known = merged_begin(merged);
	if (what == 2)
		for (uint32_t i = 0; i < python->count; i++)
			python->steps[i].instr = 1;
	enum python_answer answer = python_walk(python, 128, false, NULL);
	frames = python->steps[python->count - 1].frames;
	if (what < 3)
		return frames;
	callchain_take(native, 128, CALLCHAIN_NAMELESS, &result);
	return merged_take(merged, known, &interpreter, native, &result, python, answer == PYTHON_CUT);
}
static int ascending(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}
double median;
double measure(int what)
{
	static double batch[4000];
	for (int i = 0; i < 4000; i++) {
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int n = 0; n < 50; n++)
			if (!once(what))
				return -1;
		clock_gettime(CLOCK_MONOTONIC, &b);
		batch[i] = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 50;
	}
	qsort(batch, 4000, sizeof(batch[0]), ascending);
	median = batch[2000];
	return batch[0];
}
uint32_t frames_of_last(void) { return frames; }
"""


def built(place):
    library = os.path.join(place, "libpython_chains.so")
    unwind = [os.path.join(SRC, "unwind", name) for name in sorted(os.listdir(os.path.join(SRC, "unwind"))) if name.endswith(".c")]
    subprocess.run(["cc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-w", "-fvisibility=default", f"-I{SRC}", "-o", library, "-x", "c", "-", *unwind,
                    os.path.join(SRC, "common/sys.c")], input=CODE.encode(), check=True)
    return ctypes.CDLL(library)


def address(name):
    try:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
    except AttributeError:
        return None


def functions(depth):
    """Return the outermost of `depth` functions, all different, that call each other; the innermost calls its argument."""
    space = {}
    for number in range(depth):
        lines = "".join(f"    v{i} = {i}\n" for i in range(number % 7))
        exec(f"def f{number}(action):\n{lines}    return {f'f{number - 1}(action)' if number else 'action()'}\n", space)
    return space[f"f{depth - 1}"]


def main():
    depth = int(sys.argv[1]) if len(sys.argv) > 1 else 29
    with tempfile.TemporaryDirectory() as place:
        library = built(place)
    library.begin.restype = ctypes.c_char_p
    library.measure.restype = ctypes.c_double
    names = ["_PyRuntime", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type", "_PyEval_EvalFrameDefault"]
    reason = library.begin(sys.version_info[0] << 8 | sys.version_info[1], address("PyGILState_GetThisThreadState"),
                           address("Py_IsFinalizing") or address("_Py_IsFinalizing"), *(address(name) for name in names),
                           ctypes.cast(getattr(ctypes.CDLL(None), "_dl_find_object"), ctypes.c_void_p))
    if reason:
        sys.exit(reason.decode())
    print("python", ".".join(map(str, sys.version_info[:3])))
    descend = functions(depth - 2)
    for what, title in enumerate(("native chain", "Python frames", "all frames moved", "both as one chain")):
        least = descend(lambda what=what: library.measure(what))
        print(f"{title:20} {least:8.1f} {ctypes.c_double.in_dll(library, 'median').value:8.1f} ns, {library.frames_of_last() if what else 0} Python frames")


if __name__ == "__main__":
    main()
