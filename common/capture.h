/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - when events are recorded: the capture gate of a tree, and what opens and closes it.
 *
 * The gate is one word of the control page (tree.h), which every process of the tree reads before
 * it records anything. It is open while both are true: --delay has passed and --duration has not,
 * which the writer watches; and a capture range is open, or the options ask for none. A capture
 * range is an NVTX range of that name, the time between two calls of an API, or the time between
 * two signals; there is one gate for the whole tree, so that one process may open a window in which
 * another process works. Ranges that overlap, of any processes, are one window.
 *
 * Each span of time in which the gate was open is a window; a ring passes windows to the writer.
 * All functions but capture_parse(): any thread and process of the tree, async-signal-safe, no
 * system call, lock-free, errno kept.
 */
#ifndef COMMON_CAPTURE_H
#define COMMON_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct tree_control;

enum capture_kind {
	CAPTURE_NONE = 0,      /* always, from --delay until --duration */
	CAPTURE_NVTX,          /* while an NVTX range of that name is open */
	CAPTURE_CUDA_PROFILER, /* from cudaProfilerStart to cudaProfilerStop */
	CAPTURE_LIBTRACE_API,  /* from libtrace_start to libtrace_stop */
	CAPTURE_SIGNAL         /* from one signal to the next */
};

#define CAPTURE_NAME_BYTES 200u
#define CAPTURE_UNLIMITED UINT32_MAX
#define CAPTURE_WINDOWS_MAX 32000u /* maximum of repeat:N */

struct capture_spec {
	uint32_t kind; /* enum capture_kind */
	uint32_t signal;
	uint32_t windows_max; /* number of windows after which the gate stays closed;
				 CAPTURE_UNLIMITED = never; 0 = the first window does not end */
	uint32_t is_any_domain;
	char range[CAPTURE_NAME_BYTES];  /* text of the NVTX range */
	char domain[CAPTURE_NAME_BYTES]; /* name of its domain; empty = the default one */
};

/*
 * Parse LIBTRACE_CAPTURE_RANGE, LIBTRACE_NVTX_CAPTURE and LIBTRACE_CAPTURE_RANGE_END. NULL or empty
 * = the default. Return false on an error: *ret_why has the reason, *ret_spec captures everything.
 */
bool capture_parse(const char *range, const char *nvtx_capture, const char *end,
	struct capture_spec *ret_spec, const char **ret_why);

/* A window of the gate, in the control page. */
struct capture_window {
	uint64_t begin_tick, end_tick;
	uint64_t number; /* number of the window, from 1; stored last */
};
#define CAPTURE_WINDOWS_KEPT 64u

/* The gate and its windows; atomics. The control page has two of them: the kind of the capture
 * ranges says which one is in force. */
struct capture_state {
	union {
		uint32_t gate;       /* 1 = calls are being recorded; every wrapper reads it */
		uint64_t gate_state; /* the gate in its lower half; see capture.c */
	};
	uint64_t window_begin_tick; /* start of the open window; 0 = none, or not known yet */
	uint64_t window_count;      /* windows ended, ever */
	uint64_t toggled_ns;        /* time of the last signal */
	struct capture_window windows[CAPTURE_WINDOWS_KEPT]; /* the latest windows, by number */
};

/* Return the gate that is in force. Without capture ranges only the writer changes it, in its own
 * part of the page; with them every process does. */
const uint32_t *capture_gate(const struct tree_control *control);

/* Initialize the gate of a new tree: closed if `delayed`, or until a capture range begins. */
void capture_init(
	struct tree_control *control, const struct capture_spec *spec, bool delayed, bool limited);

/* Record that --delay has passed (`is_right`), or that --duration has passed (not `is_right`). */
void capture_set_time(struct tree_control *control, bool is_right);

/* Return true if the gate never opens again: --duration has passed, or all windows have been
 * used. */
bool capture_is_over(const struct tree_control *control);

/* Begin a capture range. Return false if too many are open: do not end it then. */
bool capture_begin(struct tree_control *control);

/* End `count` capture ranges, at `tick` (0 = now). */
void capture_end(struct tree_control *control, uint32_t count, uint64_t tick);

/* Begin a range on the signal, or end it. Two signals within CAPTURE_SIGNAL_NS count as one, since
 * each process of a group gets the signal. */
void capture_toggle(struct tree_control *control);
#define CAPTURE_SIGNAL_NS UINT64_C(50000000)

/* Return the number of windows that have ended. */
uint64_t capture_windows(const struct tree_control *control);

/* Get window `number` (from 1). Return false if it is no longer kept, or not stored yet. */
bool capture_window_get(
	const struct tree_control *control, uint64_t number, struct capture_window *ret_window);

/* Return true if the gate is open. *ret_begin_tick receives the time at which it opened; 0 = not
 * known yet. */
bool capture_is_open(const struct tree_control *control, uint64_t *ret_begin_tick);

#endif
