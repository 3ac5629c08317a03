/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_signals.c - wrappers of functions that set the action of a signal or the signal mask. They
 * hide the handlers of the capture range and of CPU samples from the program.
 *
 * CPU samples use SIGURG. While our handler is installed, the program reads the default action.
 * Once the program ignores or handles SIGURG, the signal belongs to it, and sampling stops. While a
 * thread blocks SIGURG, its timer is stopped. SIGURG is added to the mask of handlers on a signal
 * stack, which may have no room for another frame; the program does not see it in that mask.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <sys/signalfd.h>

#include "inject/capture.h"
#include "tracer/cpu/cpu.h"

#define EXPORTED(ret, name, params)                                                   \
	ret wrap_##name params __asm__(#name) __attribute__((visibility("default"))); \
	ret wrap_##name params

/* ---- hiding the handler of CPU samples ---- */

static struct sigaction urgent;    /* SIGURG's action as the program set it; ours has replaced it */
static bool urgent_known;          /* `urgent` has been read */
static uint8_t urgent_added[NSIG]; /* SIGURG was added to the mask of this signal's handler */

/* sigismember() is not used, because this library avoids calls of the C library. */
#define URGENT_BIT (1ul << (SIGURG - 1))
static bool set_has(const sigset_t *set)
{
	return set->__val[0] & URGENT_BIT;
}

static bool is_sampler(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO &&
		(void *)(uintptr_t)action->sa_sigaction == (void *)(uintptr_t)cpu_entry;
}

static bool is_handler(sighandler_t handler)
{
	return handler != SIG_DFL && handler != SIG_IGN;
}

/* Call before the program sets an action. Return true if ours must be installed again afterwards;
 * stops sampling if the program takes SIGURG for itself. */
static bool urgent_before(int number, sighandler_t handler)
{
	if (number != SIGURG || !cpu_is_on)
		return false;
	if (handler == SIG_DFL)
		return true;
	cpu_switch_off(CPU_OFF_ACTION);
	return false;
}

/* Call after the program has set the default action: store what the program is to read, and install
 * our handler again. */
static void urgent_after(bool again)
{
	if (!again || REAL(sigaction)(SIGURG, NULL, &urgent) != 0)
		return;
	urgent_known = true;
	if (!cpu_install())
		cpu_switch_off(CPU_OFF_REFUSED);
}

static void urgent_hide(struct sigaction *action)
{
	if (urgent_known)
		*action = urgent;
	else
		*action = (struct sigaction){.sa_handler = SIG_DFL};
}

/* Return the action to set: a copy with SIGURG blocked, for a handler on a signal stack. */
static const struct sigaction *with_room(
	int number, const struct sigaction *action, struct sigaction *copy)
{
	if (!cpu_is_on || !action || number <= 0 || number >= NSIG || number == SIGURG)
		return action;
	bool names = is_handler(action->sa_handler) && set_has(&action->sa_mask);
	bool adds = is_handler(action->sa_handler) && action->sa_flags & SA_ONSTACK && !names;
	cpu_signal_is_named |= names;
	urgent_added[number] = adds;
	if (!adds)
		return action;
	*copy = *action;
	copy->sa_mask.__val[0] |= URGENT_BIT;
	return copy;
}

/* ---- actions ---- */

static bool is_ours(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == capture_on_signal;
}

static void hide(struct sigaction *before, bool added)
{
	if (is_ours(before))
		*before = (struct sigaction){.sa_handler = SIG_DFL};
	else if (is_sampler(before))
		urgent_hide(before);
	else if (added && is_handler(before->sa_handler))
		before->sa_mask.__val[0] &= ~URGENT_BIT;
}

WRAPPER(int, sigaction,
	(int t_signal, const struct sigaction *t_action, struct sigaction *t_before))
{
	struct call call = {0};
	struct sigaction copy;
	bool traced = call_begin(&call, FN_sigaction);
	bool again = t_action && urgent_before(t_signal, t_action->sa_handler);
	bool added = t_signal > 0 && t_signal < NSIG && urgent_added[t_signal];
	int result = REAL(sigaction)(t_signal, with_room(t_signal, t_action, &copy), t_before);
	if (result == 0 && t_before)
		hide(t_before, added);
	if (result == 0)
		urgent_after(again);
	if (traced)
		osrt_end(&call, FN_sigaction, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	return result;
}

/* signal() and its variants, which return the previous action. */
#define SIGNAL_WRAPPER(name)                                                           \
	WRAPPER(sighandler_t, name, (int t_signal, sighandler_t t_handler))            \
	{                                                                              \
		struct call call = {0};                                                \
		bool traced = call_begin(&call, FN_##name);                            \
		bool again = urgent_before(t_signal, t_handler);                       \
		sighandler_t before = REAL(name)(t_signal, t_handler);                 \
		if (before == capture_on_signal ||                                     \
			(void *)(uintptr_t)before == (void *)(uintptr_t)cpu_entry)     \
			before = SIG_DFL;                                              \
		urgent_after(again &&before != SIG_ERR);                               \
		if (before != SIG_ERR && t_signal > 0 && t_signal < NSIG && cpu_is_on) \
			urgent_added[t_signal] = 0;                                    \
		if (traced)                                                            \
			osrt_end(&call, FN_##name, FN_BITS(before),                    \
				osrt_object(0, before == SIG_ERR ? errno : 0));        \
		return before;                                                         \
	}
SIGNAL_WRAPPER(signal)
SIGNAL_WRAPPER(ssignal)
SIGNAL_WRAPPER(sysv_signal)
SIGNAL_WRAPPER(__sysv_signal)
SIGNAL_WRAPPER(sigset)

/* ---- signal masks: interposed, not recorded ---- */

typedef int (*mask_fn)(int how, const sigset_t *set, sigset_t *before);

static int set_mask(mask_fn real_mask, int how, const sigset_t *set, sigset_t *before)
{
	if (!cpu_is_on)
		return real_mask(how, set, before);
	struct thread *t = &thread_self;
	bool named = cpu_signal_is_named, has = set && set_has(set);
	bool blocks = has && how != SIG_UNBLOCK;
	bool unblocks = set && (how == SIG_SETMASK ? !has : has && how == SIG_UNBLOCK);
	if (blocks) {
		cpu_signal_is_named = true;
		cpu_pause(t);
	}
	int result = real_mask(how, set, before);
	if (result == 0 && before && !named) /* only because a handler of this thread runs */
		before->__val[0] &= ~URGENT_BIT;
	if (result == 0 ? unblocks : blocks)
		cpu_resume(t);
	return result;
}

#define MASK_WRAPPER(name)                                                               \
	EXPORTED(int, name, (int t_how, const sigset_t *t_set, sigset_t *t_before))      \
	{                                                                                \
		static mask_fn real_mask;                                                \
		if (__builtin_expect(!real_mask, 0)) {                                   \
			relocate_check();                                                \
			real_mask = (mask_fn)(uintptr_t)real_next(#name);                \
		}                                                                        \
		return real_mask ? set_mask(real_mask, t_how, t_set, t_before) : ENOSYS; \
	}
MASK_WRAPPER(sigprocmask)
MASK_WRAPPER(pthread_sigmask)

/* Stop sampling if the program reads SIGURG from a descriptor: its signals must arrive there,
 * and neither run our handler nor interrupt calls. */
EXPORTED(int, signalfd, (int t_fd, const sigset_t *t_set, int t_flags))
{
	static int (*real_signalfd)(int fd, const sigset_t *set, int flags);
	relocate_check();
	if (!real_signalfd)
		*(void **)(void *)&real_signalfd = real_next("signalfd");
	if (!real_signalfd) {
		errno = ENOSYS;
		return -1;
	}
	int result = real_signalfd(t_fd, t_set, t_flags);
	if (result >= 0 && cpu_is_on && set_has(t_set))
		cpu_switch_off(CPU_OFF_FD);
	return result;
}
