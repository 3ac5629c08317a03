/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.h - declarations that the parts of the hostile program share: tasks, their lines, the
 * books of calls.
 *
 * A task is one flow of control: a thread, a process, a handler, a coroutine. Its line is the text
 * that it reports, a book the counts of the calls of a process. The path of a task and the seed
 * determine what it does, so leaving out an action changes no other action. Lines and books are in
 * a file that is mapped shared, so they survive the end of a process, however it ends.
 */
#ifndef TESTS_HOSTILE_HOSTILE_H
#define TESTS_HOSTILE_HOSTILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

enum fn {
#define FN(name) FN_##name,
#include "functions.def"
#undef FN
	FN_COUNT
};

enum {
	PIDS_MAX = 16,
	BOOK_COUNT = 1024,
	SLOT_COUNT = 2048,
	PATH_BYTES = 120,
	TEXT_BYTES = 3944,
	ERRNO_KEPT = 4242, /* errno before a call; reported if the call changes it */
};

/* The calls of one address space: a process, and the tasks that share its memory. */
struct book {
	int32_t pids[PIDS_MAX];
	uint32_t pid_count;
	int32_t above;  /* the process that created this one; 0: only its path identifies it */
	uint32_t slack; /* how many calls may be done here and begun in another book */
	uint32_t begun[FN_COUNT], done[FN_COUNT];
};

/* The line of a task. */
struct slot {
	char path[PATH_BYTES];
	int32_t pid;
	uint32_t length;
	uint64_t hash; /* hash of all text reported, including what did not fit */
	uint32_t ended;
	uint32_t lost;
	char text[TEXT_BYTES];
};

struct world {
	uint32_t books_used, slots_used;
	uint64_t unused[7];
	struct book book[BOOK_COUNT];
	struct slot slot[SLOT_COUNT];
};

/* Properties of a task: what it may not do, and what surrounds it. */
enum trait {
	PURE = 1,    /* only calls that may interrupt one another: no locks, no memory, no new fd */
	MANY = 2,    /* the process has other threads */
	MUTE = 4,    /* results depend on time: nothing is reported */
	FRAGILE = 8, /* forked from a process with threads: no thread, no loader */
	FILTERED = 16, /* inside a system call filter */
	BORROWED = 32, /* the memory belongs to another task: no return, no exit handlers */
	BOUND = 64, /* in a handler or on a stack of its own: starts no more tasks of that kind */
};

struct task {
	uint64_t id;
	struct slot *slot;
	unsigned traits, step, rolls;
	int depth, budget;
};

/* One row of the tables of actions and calls. */
struct row {
	const char *name;
	unsigned weight, excluded; /* excluded: tasks with one of these traits may not do it */
	void (*run)(struct task *t);
};

extern struct world *world;
extern struct book *book;
extern const char *world_path, *self_path;
extern uint64_t seed, actions_left_out, calls_left_out;
extern int zero_fd, null_fd;
extern const struct row action_rows[], call_rows[];
extern const unsigned action_count, call_count;
extern char **environ;

/* ---- system calls without libc ---- */

static inline long raw(long number, long a, long b, long c, long d, long e)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#define RAW0(name) raw(SYS_##name, 0, 0, 0, 0, 0)
#define RAW1(name, a) raw(SYS_##name, (long)(a), 0, 0, 0, 0)
#define RAW2(name, a, b) raw(SYS_##name, (long)(a), (long)(b), 0, 0, 0)
#define RAW3(name, a, b, c) raw(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0)
#define RAW4(name, a, b, c, d) raw(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0)

/* ---- counted calls ---- */

#define BEGUN(fn, times) __atomic_fetch_add(&book->begun[FN_##fn], times, __ATOMIC_RELAXED)
#define DONE(fn, times) __atomic_fetch_add(&book->done[FN_##fn], times, __ATOMIC_RELAXED)

/* Count a call whose result is not reported. */
#define COUNTED(fn, ...)                              \
	({                                            \
		BEGUN(fn, 1);                         \
		__auto_type counted_ = (__VA_ARGS__); \
		DONE(fn, 1);                          \
		counted_;                             \
	})

/* Count a call of a function that returns nothing. */
#define COUNTED_VOID(fn, ...) \
	({                    \
		BEGUN(fn, 1); \
		__VA_ARGS__;  \
		DONE(fn, 1);  \
	})

/* Count a call that also returns in a child, which has another book. */
#define FORKED(fn, ...)                           \
	({                                        \
		BEGUN(fn, 1);                     \
		int forked_ = (int)(__VA_ARGS__); \
		if (forked_)                      \
			DONE(fn, 1);              \
		forked_;                          \
	})

/* Count a call; report its result, and errno if it changed. Repeat the call if a signal ended it
 * (EINTR), but not in MUTE tasks: a storm's signals may arrive too fast for the call to finish. */
#define CALL(t, fn, ...)                                                             \
	({                                                                           \
		long result_;                                                        \
		int error_;                                                          \
		do {                                                                 \
			errno = ERRNO_KEPT;                                          \
			result_ = (long)COUNTED(fn, __VA_ARGS__);                    \
			error_ = errno;                                              \
		} while (result_ == -1 && error_ == EINTR && !((t)->traits & MUTE)); \
		report_result(t, #fn, result_, error_);                              \
		result_;                                                             \
	})

/* ---- libhostile_calls.c ---- */

/* Call `run` within the call of a library's function, which LIBTRACE_FUNCTIONS may record. */
void hostile_through(void (*run)(struct task *t), struct task *t);

/* ---- hostile.c ---- */

/* Return a number below `n`, which the path and the step of the task determine. */
unsigned roll(struct task *t, unsigned n);
void tell(struct task *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_result(struct task *t, const char *name, long result, int error);
/* Initialize `child` as a task that `t` starts, with a share of its budget. */
void task_make(
	struct task *child, struct task *t, const char *kind, unsigned number, unsigned traits);
/* Run a task: make the calls and do the actions that its path determines. */
void task_run(struct task *t);
/* Make a random number of calls, between `few` and `many`. */
void task_calls(struct task *t, unsigned few, unsigned many);
/* Report the state of the thread that the tracer must not change: signal mask, alternate stack,
 * thread-local variables. */
void task_end(struct task *t);
/* Begin a new book: count the calls of this process there from now on. */
void book_begin(unsigned slack);
/* Record that the process `pid` uses this process's memory. */
void book_member(int pid);
/* Run a task as the rest of a new process, and end the process. */
_Noreturn void process_run(struct task *t, unsigned slack);
_Noreturn void process_end(struct task *t);
/* Give a program that was started under RLIMIT_DATA room of its own, beside what is mapped at its
 * start. Otherwise a mmap() at the edge would fail only when traced. */
void data_limit_renew(void);
/* Wait for a child and report its status. */
void reap(struct task *t, int pid);
/* Open the descriptors that calls use, at the lowest free numbers. */
void descriptors_open(void);
/* The arguments with which this program, executed again, continues a task. */
struct again {
	char *argv[12];
	char words[8][PATH_BYTES + 8];
};
void again_make(struct again *again, struct task *t, unsigned traits);
int pid_now(void);
int tid_now(void);

#endif
