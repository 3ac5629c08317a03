/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_signals.c - functions that set the action of a signal: if the handler of the capture range
 * was set before, the program reads the default action.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "inject/capture.h"

static bool is_ours(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == capture_on_signal;
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

/* signal() and its variants, which return the previous action. */
#define SIGNAL_WRAPPER(name)                                                    \
	WRAPPER(sighandler_t, name, (int t_signal, sighandler_t t_handler))     \
	{                                                                       \
		struct call call = {0};                                         \
		bool traced = call_begin(&call, FN_##name);                     \
		sighandler_t before = REAL(name)(t_signal, t_handler);          \
		if (before == capture_on_signal)                                \
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
