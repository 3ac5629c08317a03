/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - when events are recorded: the gate of a tree, and what opens and closes it.
 *
 * The gate is one word of the control page (tree.h), which every process of the tree reads before
 * it records anything. It is open while two things hold: the time is right (--delay, --duration;
 * the writer works that), and there is no capture range or one is open. A capture range is an NVTX
 * range of that name, the time between two calls of an API, or that between two signals; the gate
 * is the whole tree's, so that one process may open a window in which another one works. Several
 * ranges that overlap, of whatever processes, make one window.
 *
 * Each time in which the gate was open is a window; they are told to the writer in a ring. All
 * functions but capture_parse(): any thread and process of the tree, async-signal-safe, no system
 * call, wait-free but for retries, errno kept.
 */
#ifndef COMMON_CAPTURE_H
#define COMMON_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct tree_control;

enum capture_kind {
	CAPTURE_NONE = 0,      /* always, as far as the time allows */
	CAPTURE_NVTX,          /* while an NVTX range of that name is open */
	CAPTURE_CUDA_PROFILER, /* from cudaProfilerStart to cudaProfilerStop */
	CAPTURE_LIBTRACE_API,  /* from libtrace_start to libtrace_stop */
	CAPTURE_SIGNAL         /* from one signal to the next */
};

#define CAPTURE_NAME_BYTES 200u
#define CAPTURE_UNLIMITED UINT32_MAX
#define CAPTURE_WINDOWS_MAX 32000u /* of repeat:N */

struct capture_spec {
	uint32_t kind; /* enum capture_kind */
	uint32_t signal;
	uint32_t windows_max; /* after so many the gate stays closed; CAPTURE_UNLIMITED = never;
				 0 = the first one does not end */
	uint32_t is_any_domain;
	char range[CAPTURE_NAME_BYTES];  /* text of the NVTX range */
	char domain[CAPTURE_NAME_BYTES]; /* name of its domain; empty = the default one */
};

/*
 * Reads LIBTRACE_CAPTURE_RANGE, LIBTRACE_NVTX_CAPTURE and LIBTRACE_CAPTURE_RANGE_END; each may be
 * NULL or empty: its default. False: *ret_why says what is wrong, *ret_spec captures everything.
 */
bool capture_parse(const char *range, const char *nvtx_capture, const char *end,
	struct capture_spec *ret_spec, const char **ret_why);

/* A window of the gate, as the control page keeps it. */
struct capture_window {
	uint64_t begin_tick, end_tick;
	uint64_t number; /* from 1; stored last */
};
#define CAPTURE_WINDOWS_KEPT 64u

/* The gate and its windows; atomics. The control page has two: which one is in force is told by the
 * kind of its capture ranges. */
struct capture_state {
	union {
		uint32_t gate;       /* 1 = calls are being recorded; every wrapper reads it */
		uint64_t gate_state; /* the gate in its lower half; see capture.c */
	};
	uint64_t window_begin_tick; /* of the open window; 0 = none, or not known yet */
	uint64_t window_count;      /* windows ended, ever */
	uint64_t toggled_ns;        /* time of the last signal */
	struct capture_window windows[CAPTURE_WINDOWS_KEPT]; /* the last ones, by number */
};

/* The gate that is in force. Without capture ranges only the writer changes it, in its own part of
 * the page; with them every process does. */
const uint32_t *capture_gate(const struct tree_control *control);

/* Sets up the gate of a new tree: closed when `delayed` or until a capture range begins. */
void capture_init(
	struct tree_control *control, const struct capture_spec *spec, bool delayed, bool limited);

/* The time is right from now on, or is over. */
void capture_set_time(struct tree_control *control, bool is_right);

/* Will the gate never open again: --duration has passed, or all windows of the ranges have been? */
bool capture_is_over(const struct tree_control *control);

/* A capture range begins. False when too many are open: then its end is not to be told. */
bool capture_begin(struct tree_control *control);

/* `count` capture ranges have ended, at `tick` (0 = now). */
void capture_end(struct tree_control *control, uint32_t count, uint64_t tick);

/* The signal: begins a range, or ends it. Two within CAPTURE_SIGNAL_NS are one, since what is sent
 * to a process group comes once to each process. */
void capture_toggle(struct tree_control *control);
#define CAPTURE_SIGNAL_NS UINT64_C(50000000)

/* Windows ended so far. */
uint64_t capture_windows(const struct tree_control *control);

/* Window `number` (from 1), if it is still kept. */
bool capture_window_get(
	const struct tree_control *control, uint64_t number, struct capture_window *ret_window);

/* Is the gate open, and since when? Ticks; 0 = that is not known yet. */
bool capture_is_open(const struct tree_control *control, uint64_t *ret_begin_tick);

#endif
