/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - CPU samples: a timer on the CPU clock of each thread, and the thread's own handler.
 *
 * The kernel sends the timer's signal, SIGURG, when the thread is about to return to user mode, so
 * it interrupts no system call. By option, an event of perf takes the timer's place (event.h). The
 * handler runs on a stack of its own, with all signals blocked, and writes a record to the thread's
 * lane. inject/wrap_signals.c hides the handler from the program: SIGURG's action reads as if no
 * handler were installed. A thread is not sampled while it blocks SIGURG. All functions: any
 * thread, async-signal-safe, raw system calls only.
 */
#ifndef TRACER_CPU_CPU_H
#define TRACER_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"
#include "unwind/callchain.h"

struct registers_all; /* unwind/registers.h */

/* State of a thread that is sampled. It is stored above the handler's stack, since thread-local
 * memory is scarce. */
struct samples {
	uint64_t mark;  /* processor time of the thread, in ns, at its last sample */
	uint64_t left;  /* ns to the next sample while SIGURG is blocked; 0 = it is not */
	uint32_t owed;  /* periods without a record, for the next sample */
	uint32_t timer; /* 1 + the kernel's number of the timer, or 1 = an event; 0 = none */
	uint64_t awake; /* lower bound of ticks outside of long calls since `mark` was last compared
			 */
	uint64_t slept; /* tick at the end of the last long call */
	uint64_t overdue; /* ticks after which the timer is overdue: see cpu_long_call() */
	uint32_t ahead;   /* periods of samples that were taken before the timer counts them */
	uint32_t pad;
	uint64_t begun;   /* processor time, in ns, when the event was opened; 0 = a timer */
	uint64_t counted; /* periods since then that samples stand for */
	struct callchain_thread chain;
};

/* True while threads get timers. Once false, it stays so in this process and its forked
 * children. */
extern bool cpu_is_on __attribute__((visibility("hidden")));

/* Length of a period, in ns of processor time. */
extern uint64_t cpu_period_ns __attribute__((visibility("hidden")));

/* True once the program itself has blocked SIGURG. Before that, a mask contains SIGURG only while a
 * handler on a signal stack runs, and that is hidden from the program. */
extern bool cpu_signal_is_named __attribute__((visibility("hidden")));

/* The handler of SIGURG that the kernel calls. */
void cpu_entry(int number, void *info, void *context) __attribute__((visibility("hidden")));

/* Install the handler; also called when the program has set the default action. Return false if
 * the kernel refuses. */
bool cpu_install(void);

/* Delete all timers of the process: no more samples are taken. The receipt reports `reason`. */
void cpu_switch_off(enum cpu_off reason);

/*
 * cpu_pause() stops the timer of the calling thread, which is about to block SIGURG: a pending
 * signal of the timer would be seen by sigpending() and received by sigwait(). cpu_resume() starts
 * it for the rest of its period, or for the first time. Both do nothing where the calling code may
 * not touch the thread's timer: in a vfork child, and in a forked child that has not yet detected
 * the fork.
 */
void cpu_pause(struct thread *t);
void cpu_resume(struct thread *t);

/* Add to a count of the process. Needs a spool. */
#define SAMPLES_ADD(member, n) __atomic_add_fetch(&session.spool->cpu.member, (n), __ATOMIC_RELAXED)

/* Processor time after which a sample is overdue, in ns. */
uint64_t cpu_overdue_ns(void);

/* Record a sample of the calling thread, whose code was interrupted at `from`; `periods` is at
 * least 1. Called in the handler, on its stack. */
void cpu_sample(struct thread *t, const struct registers_all *from, uint64_t periods);

#endif
