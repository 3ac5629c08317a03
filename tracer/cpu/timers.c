/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers.c - the CPU timer of each thread: creation, pause, deletion, and when sampling is off.
 */
#define _GNU_SOURCE
#include "tracer/cpu/cpu.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"
#include "tracer/cpu/event.h"
#include "tracer/cpu/hooks.h"
#include "unwind/callchain.h"

static enum cpu_off reason_off; /* why cpu_is_on is false */

/* Memory for the samples of a lane's thread, reused by the next thread of that lane: a guard page,
 * the handler's stack, struct samples. */
#define GUARD_BYTES 4096u
#define STACK_BYTES 32768u
#define MEMORY_BYTES (GUARD_BYTES + STACK_BYTES + sizeof(struct samples))
static char *memory_of_lane[SPOOL_LANES_MAX];

static uint32_t timer_of_lane[SPOOL_LANES_MAX]; /* 1 + the kernel's number; 0 = none */
static void *event_of_lane[SPOOL_LANES_MAX];    /* in its place; NULL = none */
static uint32_t timers, timers_most;
static uint64_t process_ns_before; /* processor time of the process when the program began */

/* ---- the handler ---- */

/* The kernel's own struct sigaction. */
struct action {
	void (*handler)(int, void *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};
#define FLAG_RESTORER 0x04000000u
void cpu_return(void) __attribute__((visibility("hidden")));

bool cpu_install(void)
{
	/* The mask blocks all signals, also those that the C library uses itself. */
	const struct action action = {cpu_entry,
		SA_SIGINFO | SA_RESTART | SA_ONSTACK | FLAG_RESTORER, cpu_return, UINT64_MAX};
	return SYS4(SYS_rt_sigaction, SIGURG, &action, NULL, sizeof(action.mask)) == 0;
}

static bool action_is(void (*handler)(int, void *, void *))
{
	struct action action = {0};
	return SYS4(SYS_rt_sigaction, SIGURG, NULL, &action, sizeof(action.mask)) == 0 &&
		action.handler == handler;
}

/* Return true if the kernel sends the signals of CPU timers on the return to user mode. Before
 * Linux 5.11 they interrupt system calls. */
static bool kernel_is_new(void)
{
	struct utsname name = {0};
	unsigned major = 0, minor = 0;
	const char *s = name.release;
	if (SYS1(SYS_uname, &name) != 0)
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		major = major * 10 + (unsigned)(*s - '0');
	for (s += *s == '.'; *s >= '0' && *s <= '9'; s++)
		minor = minor * 10 + (unsigned)(*s - '0');
	return major > 5 || (major == 5 && minor >= 11);
}

static enum cpu_off reason_at_start(void)
{
	if (!session.config.sample_by_event && !kernel_is_new())
		return CPU_OFF_KERNEL;
	if (!action_is(NULL))
		return CPU_OFF_ACTION;
	return cpu_install() ? CPU_ON : CPU_OFF_REFUSED;
}

/* Return how many signals of the user are pending; each timer counts as one. 0 = not known. */
static uint64_t signals_pending(void)
{
	char text[4096];
	uint64_t number = 0;
	if (sys_read_file("/proc/self/status", text, sizeof(text)) <= 0)
		return 0;
	for (const char *s = text; *s; s++) {
		if (!text_begins(s, "\nSigQ:\t"))
			continue;
		for (s += 7; *s >= '0' && *s <= '9'; s++)
			number = number * 10 + (uint64_t)(*s - '0');
		break;
	}
	return number;
}

/* Each timer counts toward the user's limit of pending signals: take at most half of what is
 * left. */
static uint32_t timers_allowed(void)
{
	struct rlimit limit = {0};
	if (SYS4(SYS_prlimit64, 0, RLIMIT_SIGPENDING, NULL, &limit) != 0)
		return 0;
	uint64_t pending = limit.rlim_cur == RLIM_INFINITY ? 0 : signals_pending();
	uint64_t half = limit.rlim_cur > pending ? (limit.rlim_cur - pending) / 2 : 0;
	return half < SPOOL_LANES_MAX ? (uint32_t)half : SPOOL_LANES_MAX;
}

void cpu_start(void)
{
	if (!session.config.cpu)
		return;
	timers_most = timers_allowed();
	/* A program that this process executed before has had its own receipt. */
	process_ns_before = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	cpu_period_ns = 1000000000u / session.config.sample_hz;
	reason_off = reason_at_start();
	session.spool->cpu.off = reason_off;
	cpu_is_on = reason_off == CPU_ON;
}

void cpu_describe(struct spool_header *spool)
{
	if (!session.config.cpu)
		return;
	spool->cpu.hz = session.config.sample_hz;
	spool->cpu.off = reason_off;
	spool->cpu.trigger = session.config.sample_by_event;
}

/* ---- timers ---- */

static bool timer_set(uint32_t timer, uint64_t first_ns, struct itimerspec *ret_before)
{
	const struct itimerspec when = {.it_interval = {(time_t)(cpu_period_ns / 1000000000u),
						(long)(cpu_period_ns % 1000000000u)},
		.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)}};
	return SYS4(SYS_timer_settime, timer - 1, 0, &when, ret_before) == 0;
}

/* Return the length of a thread's first period. It is random, so that threads that live for less
 * than a period have their share of samples. */
static uint64_t first_ns(void)
{
	uint64_t hash = (clock_ticks() ^ (uint64_t)sys_gettid()) * UINT64_C(0x9e3779b97f4a7c15);
	return 1 + (hash >> 32) % cpu_period_ns;
}

static bool memory_get(struct thread *t)
{
	char **memory = &memory_of_lane[t->lane->index];
	if (!*memory) {
		char *got = sys_mmap_beyond_data(MEMORY_BYTES);
		if (!got)
			return false;
		SYS3(SYS_mprotect, got, GUARD_BYTES, PROT_NONE);
		*memory = got;
	}
	struct samples *s = (struct samples *)(void *)(*memory + GUARD_BYTES + STACK_BYTES);
	s->left = s->mark = s->awake = s->slept = 0;
	s->begun = s->counted = 0;
	s->owed = s->timer = s->ahead = 0;
	s->overdue = session_ticks(cpu_overdue_ns());
	callchain_forget(&s->chain);
	t->samples = s;
	return true;
}

static bool timer_create_for(struct thread *t)
{
	struct sigevent event = {
		.sigev_value.sival_ptr = t, .sigev_signo = SIGURG, .sigev_notify = SIGEV_THREAD_ID};
	int number = -1;
	event._sigev_un._tid = (pid_t)t->tid;
	if (__atomic_add_fetch(&timers, 1, __ATOMIC_RELAXED) > timers_most ||
		SYS3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &number) != 0) {
		__atomic_sub_fetch(&timers, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->samples->timer = (uint32_t)number + 1;
	__atomic_store_n(&timer_of_lane[t->lane->index], t->samples->timer, __ATOMIC_SEQ_CST);
	return true;
}

/* Open the thread's event in place of a timer. Sampling of the process ends if the system does not
 * permit events at all: that fails in the first thread, with much memory left to lock. */
static bool event_open_for(struct thread *t)
{
	struct samples *s = t->samples;
	int error = 0;
	void *event = cpu_event_open(t->tid, cpu_period_ns, &error);
	bool is_first = !__atomic_load_n(&session.spool->cpu.threads, __ATOMIC_RELAXED);
	if (!event && is_first && error != -EAGAIN)
		cpu_switch_off(CPU_OFF_EVENT);
	if (!event)
		return false;
	s->begun = s->mark;
	s->counted = 0;
	s->timer = 1;
	__atomic_store_n(&event_of_lane[t->lane->index], event, __ATOMIC_SEQ_CST);
	return true;
}

/* End the event of a lane, if it has one. */
static void event_close_of(uint32_t lane)
{
	void *event = __atomic_exchange_n(&event_of_lane[lane], NULL, __ATOMIC_SEQ_CST);
	if (event)
		cpu_event_close(event);
}

static void timer_delete_of(struct thread *t)
{
	uint32_t timer = t->samples ? t->samples->timer : 0;
	bool is_event = timer && t->samples->begun;
	t->samples = NULL;
	if (is_event)
		event_close_of(t->lane->index);
	else if (timer &&
		__atomic_exchange_n(&timer_of_lane[t->lane->index], 0, __ATOMIC_SEQ_CST)) {
		SYS1(SYS_timer_delete, timer - 1);
		__atomic_sub_fetch(&timers, 1, __ATOMIC_RELAXED);
	}
}

/* Start the thread's timer, unless a raw system call has installed another handler. */
static void arm(struct thread *t)
{
	if (!action_is(cpu_entry)) {
		t->samples = NULL;
		SAMPLES_ADD(threads_refused, 1);
		return;
	}
	t->samples->mark = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool by_event = session.config.sample_by_event;
	if (!(by_event ? event_open_for(t) : timer_create_for(t))) {
		t->samples = NULL;
		SAMPLES_ADD(threads_refused, 1);
		return;
	}
	if (!by_event)
		timer_set(t->samples->timer, first_ns(), NULL);
	SAMPLES_ADD(threads, 1);
	if (!__atomic_load_n(&cpu_is_on, __ATOMIC_SEQ_CST)) /* switched off meanwhile */
		timer_delete_of(t);
}

void cpu_switch_off(enum cpu_off reason)
{
	if (!__atomic_exchange_n(&cpu_is_on, false, __ATOMIC_SEQ_CST))
		return;
	for (uint32_t i = 0; i < SPOOL_LANES_MAX; i++) {
		uint32_t timer = __atomic_exchange_n(&timer_of_lane[i], 0, __ATOMIC_SEQ_CST);
		if (timer)
			SYS1(SYS_timer_delete, timer - 1);
		event_close_of(i);
	}
	reason_off = reason;
	if (session.spool)
		session.spool->cpu.off = reason;
}

#define SIGURG_BIT (UINT64_C(1) << (SIGURG - 1))

static void process_time_note(void)
{
	if (session.spool && session.spool->cpu.hz && !session.restricted)
		session.spool->cpu.process_ns =
			sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns_before;
}

/* Unblock before exec: the new program would inherit the mask of a handler that never returns. */
void cpu_flush(bool is_last)
{
	const uint64_t urgent = SIGURG_BIT;
	process_time_note();
	if (!is_last && cpu_is_on && !cpu_signal_is_named && !session.restricted)
		SYS4(SYS_rt_sigprocmask, SIG_UNBLOCK, &urgent, NULL, sizeof(urgent));
}

/* Called by thread_attach(). A second lane gets no timer, nor does a thread whose end hook has
 * already run: nothing would delete that timer. */
void cpu_thread_start(struct thread *t, uint64_t blocked)
{
	if (!cpu_is_on || t != &thread_self || t->gone || session.restricted)
		return;
	if (!memory_get(t)) {
		SAMPLES_ADD(threads_refused, 1);
		return;
	}
	if (blocked & SIGURG_BIT) {
		t->samples->left = first_ns();
		cpu_signal_is_named = true;
		SAMPLES_ADD(blocked, 1);
		return;
	}
	arm(t);
}

void cpu_thread_end(struct thread *t)
{
	timer_delete_of(t);
	process_time_note();
}

/* Forget timers and events: a child does not inherit them. */
void cpu_forked(void)
{
	for (uint32_t i = 0; i < SPOOL_LANES_MAX; i++) {
		if (timer_of_lane[i])
			timer_of_lane[i] = 0;
		if (event_of_lane[i])
			event_of_lane[i] = NULL;
	}
	timers = 0;
	process_ns_before = 0;
}

static bool may_touch(const struct thread *t)
{
	return cpu_is_on && t->samples && t->lane && own_words.alive && !t->vfork_pid &&
		!t->shared && !t->gone && !session.restricted;
}

void cpu_pause(struct thread *t)
{
	struct itimerspec left = {{0, 0}, {0, 0}};
	if (!may_touch(t) || t->samples->left)
		return;
	if (t->samples->begun) { /* without its descriptor it cannot be stopped, but ended */
		event_close_of(t->lane->index);
		t->samples->timer = 0;
		t->samples->begun = 0;
		t->samples->left = 1;
		SAMPLES_ADD(blocked, 1);
		return;
	}
	timer_set(t->samples->timer, 0, &left);
	t->samples->left =
		1 + (uint64_t)left.it_value.tv_sec * 1000000000u + (uint64_t)left.it_value.tv_nsec;
	SAMPLES_ADD(blocked, 1);
}

void cpu_resume(struct thread *t)
{
	uint64_t left = may_touch(t) ? t->samples->left : 0;
	if (!left)
		return;
	t->samples->left = 0;
	if (t->samples->timer)
		timer_set(t->samples->timer, left, NULL);
	else
		arm(t);
}
