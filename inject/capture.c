/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - how the program, or whoever sends it a signal, opens and closes the gate.
 *
 * The signal (--capture-range=signal:NAME) needs a handler in the program, or it would be ended. It
 * is there only where the program starts with the default action, and only until the program sets
 * an action of its own; asked for the action, the program reads the default one.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/window.h"

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

static void on_signal(int number)
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
	/* Calls that it interrupts go on, as far as the kernel can; the program's own signal stack
	 * is used where it has one. */
	struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	for (size_t i = 0; i < sizeof(ours.sa_mask.__val) / sizeof(ours.sa_mask.__val[0]); i++)
		ours.sa_mask.__val[i] = ~0ul;
	if (REAL(sigaction)(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		REAL(sigaction)(number, &ours, NULL);
	else
		session_note("the signal of the capture range is ignored here, or has a handler: "
			     "this process does not hear it");
}

static bool is_ours(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == on_signal;
}

WRAPPER(int, sigaction,
	(int t_signal, const struct sigaction *t_action, struct sigaction *t_before))
{
	struct call call = {0};
	bool traced = call_begin(&call, FN_sigaction);
	int result = REAL(sigaction)(t_signal, t_action, t_before);
	if (result == 0 && t_before && is_ours(t_before))
		*t_before = (struct sigaction){.sa_handler = SIG_DFL};
	if (traced)
		osrt_end(&call, FN_sigaction, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	return result;
}

/* signal() and its kin: the action that was there before. */
#define SIGNAL_WRAPPER(name)                                                    \
	WRAPPER(sighandler_t, name, (int t_signal, sighandler_t t_handler))     \
	{                                                                       \
		struct call call = {0};                                         \
		bool traced = call_begin(&call, FN_##name);                     \
		sighandler_t before = REAL(name)(t_signal, t_handler);          \
		if (before == on_signal)                                        \
			before = SIG_DFL;                                       \
		if (traced)                                                     \
			osrt_end(&call, FN_##name, FN_BITS(before),             \
				osrt_object(0, before == SIG_ERR ? errno : 0)); \
		return before;                                                  \
	}
SIGNAL_WRAPPER(signal)
SIGNAL_WRAPPER(ssignal)
SIGNAL_WRAPPER(sysv_signal)
SIGNAL_WRAPPER(__sysv_signal)
SIGNAL_WRAPPER(sigset)
