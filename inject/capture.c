/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - opening and closing of the gate by the program's calls, and by a signal.
 *
 * The signal (--capture-range=signal:NAME) needs a handler in the program, or it would kill the
 * process. The handler is installed only if the program starts with the default action, and only
 * until the program sets an action of its own; a program that reads the action gets the default
 * one.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "inject/capture.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/window.h"
#include "tracer/session/window_calls.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void libtrace_capture_start(void);
EXPORTED void libtrace_capture_stop(void);

void libtrace_capture_start(void)
{
	relocate_check();
	int error = errno;
	window_api_start(CAPTURE_LIBTRACE_API);
	errno = error;
}

void libtrace_capture_stop(void)
{
	relocate_check();
	int error = errno;
	window_api_stop(CAPTURE_LIBTRACE_API);
	errno = error;
}

/* ---- the signal ---- */

void capture_on_signal(int number)
{
	int error = errno;
	(void)number;
	window_signal();
	errno = error;
}

void capture_listen(void)
{
	const struct capture_spec *spec = window_in_force();
	struct sigaction before = {.sa_handler = SIG_DFL};
	if (!spec || spec->kind != CAPTURE_SIGNAL)
		return;
	int number = (int)spec->signal;
	/* The kernel restarts the calls that it interrupts, as far as it can; the program's own
	 * signal stack is used if there is one. */
	struct sigaction ours = {
		.sa_handler = capture_on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	for (size_t i = 0; i < sizeof(ours.sa_mask.__val) / sizeof(ours.sa_mask.__val[0]); i++)
		ours.sa_mask.__val[i] = ~0ul;
	if (REAL(sigaction)(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		REAL(sigaction)(number, &ours, NULL);
	else
		diagnostic_line("this process does not react to the signal of the capture range, "
				"which it ignores or handles itself");
}
