/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - CPU samples: a timer on the CPU clock of each thread, and the thread's own handler.
 *
 * The kernel makes the signal of such a timer (SIGURG) when the thread returns to user mode, so it
 * interrupts no system call. The handler runs on a stack of ours, with all signals blocked, and
 * writes a record to the thread's lane. What the program must not notice is in
 * inject/wrap_signals.c: there it reads SIGURG's action as if there were no handler, and a thread
 * that blocks SIGURG is not sampled meanwhile. All functions: any thread, async-signal-safe, raw
 * system calls only.
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

/* What is known of a thread with samples, at the outer end of the stack that they run on:
 * thread-local memory is scarce. */
struct samples {
	uint64_t mark;  /* processor time of the thread, in ns, at its last sample */
	uint64_t left;  /* ns to the next sample while SIGURG is blocked; 0 = it is not */
	uint32_t owed;  /* periods of ticks that found no place for a record */
	uint32_t timer; /* 1 + the kernel's number of the timer; 0 = none */
	struct callchain_thread chain;
};

/* True while threads get timers. Once false, it stays so in this process and its forked
 * children. */
extern bool cpu_is_on __attribute__((visibility("hidden")));

/* Length of a period, in ns of processor time. */
extern uint64_t cpu_period_ns __attribute__((visibility("hidden")));

/* The program itself has blocked SIGURG somewhere. Otherwise a mask has it because a handler on a
 * signal stack runs, and the program does not see it. */
extern bool cpu_signal_is_named __attribute__((visibility("hidden")));

/* The handler of SIGURG, as the kernel has it. */
void cpu_entry(int number, void *info, void *context) __attribute__((visibility("hidden")));

/* Install the handler, again after the program has set the default action. Return false if the
 * kernel refuses. */
bool cpu_install(void);

/* Delete all timers of the process: no sample is taken any more. The reason is in the receipt. */
void cpu_switch_off(enum cpu_off reason);

/*
 * Stop the timer of the calling thread, which is about to block SIGURG: a signal of ours that waits
 * would be seen by sigpending(), and received by sigwait(). Start it again, or for the first time,
 * with what was left of its period. Nothing happens if the calling code may not touch the thread's
 * timer: a vfork child, or a forked one that does not know it yet.
 */
void cpu_pause(struct thread *t);
void cpu_resume(struct thread *t);

/* Add to a count of the process. Needs a spool. */
#define SAMPLES_ADD(member, n) __atomic_add_fetch(&session.spool->cpu.member, (n), __ATOMIC_RELAXED)

/* Record a sample of the calling thread, whose code was interrupted at `from`; `periods` is at
 * least 1. In the handler, on the stack of samples. */
void cpu_sample(struct thread *t, const struct registers_all *from, uint64_t periods);

#endif
