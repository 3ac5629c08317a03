/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - the constructor that the dynamic loader calls, and what it registers once: fork
 * handlers, an exit handler, the real functions that forked children call first.
 */
#define _GNU_SOURCE
#include "inject/capture.h"
#include "inject/fn.h"
#include "inject/streams.h"
#include "machine/machine.h"
#include "tracer/base/launch.h"
#include "tracer/base/libc.h"
#include "tracer/functions/functions.h"
#include "tracer/session/thread_end.h"
#include "tracer/producers.h"

#include <dlfcn.h>

/* entry.S jumps to it. */
__attribute__((visibility("hidden"))) long (*syscall_real)(long, ...);

/* Called by entry.S, perhaps before begin(). */
__attribute__((visibility("hidden"))) void syscall_find(void);
void syscall_find(void)
{
	real_resolve(FN_syscall);
	syscall_real = real.fn_syscall;
}

/* ---- fork ---- */

/* The wrapper of fork() has detached the thread from its lane. Handlers of other libraries, which
 * run before this one, may have attached it again for their calls. */
static void parent_before_fork(void)
{
	if (thread_self.lane)
		session_before_fork();
}

FORKED_TEXT static void child_after_fork(void)
{
	session_child_handler();
}

typedef void (*handler_fn)(void);
typedef int (*register_fn)(handler_fn, handler_fn, handler_fn, void *);

static register_fn handlers_real(void)
{
	static register_fn real_register;
	if (!real_register && libc.dlsym)
		real_register = (register_fn)(uintptr_t)libc.dlsym(RTLD_NEXT, "__register_atfork");
	return real_register;
}

/* Register our handlers, once, without the handle of a library: they stay registered after our
 * destructors have run, since later destructors may still fork. */
static void handlers_register(void)
{
	static uint32_t done;
	register_fn real_register = handlers_real();
	if (real_register && !__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
		real_register(parent_before_fork, NULL, child_after_fork, NULL);
}

/*
 * pthread_atfork() calls this. The handlers registered first run last before the fork and first in
 * the child, and those must be ours: a call of another library's handler in the child would be
 * recorded in the lane of its parent. Constructors that run before ours register handlers, too.
 */
WRAPPER(int, __register_atfork,
	(handler_fn t_prepare, handler_fn t_parent, handler_fn t_child, void *t_library))
{
	relocate_check();
	int error = errno;
	handlers_register();
	register_fn real_register = handlers_real();
	errno = error;
	return real_register ? real_register(t_prepare, t_parent, t_child, t_library) : ENOMEM;
}

/* ---- start and end ---- */

/* Registered first, so it runs after the program's own handlers of exit(). Events of later
 * destructors still reach the spool. */
static void at_exit(int status, void *unused)
{
	(void)unused;
	session_end(status);
}

#define MAIN_STACK_BYTES (8u << 20)

#if MACHINE_FUNCTIONS
extern const char function_stubs[] __attribute__((visibility("hidden")));
#else
#define function_stubs NULL
#endif

static bool begun;

extern char **environ;

static void begin(int argc, char **argv, char **envp)
{
	begun = true;
	/* Nothing else is mapped within this distance of the first thread's stack. Its frames begin
	 * below its environment. */
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0),
		 top = (uint64_t)(uintptr_t)envp;
	thread_stack_set(
		&thread_self, top - sp < MAIN_STACK_BYTES ? top : sp + 4096, MAIN_STACK_BYTES);
	thread_enter(&thread_self);
	/* Also functions that forked children call first: otherwise each child would look them
	 * up. */
	static const uint16_t early[] = {
		FN_pthread_mutex_lock /* its fast path does not look it up */, FN_syscall,
		FN_dl_iterate_phdr, FN__exit, FN_execve, FN_execvp, FN_dup2, FN_close};
	real_open();
	for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++)
		real_resolve(early[i]);
	syscall_real = real.fn_syscall;
	function_stubs_begin = function_stubs;
	session.iterate_phdr = real.fn_dl_iterate_phdr;
	if (libc_is_sufficient()) {
		thread_end_start();
		session_start(argc, argv, envp);
	}
	if (session.state == SESSION_NEW) {
		session.state = SESSION_OFF;
		gate_use(false);
	}
	thread_leave(&thread_self);
}

/* Allocates nothing: the caller may be an allocator's own constructor. */
bool preload_early(void)
{
	relocate_check();
	int error = errno;
	if (begun || !environ || !libc_is_sufficient())
		return false;
	begin(0, NULL, environ);
	errno = error;
	return true;
}

__attribute__((constructor(101))) static void preload_start(int argc, char **argv, char **envp)
{
	int error = errno;
	if (!libc_is_complete()) {
		real_open(); /* the allocator may call us meanwhile */
		libc_complete();
		if (begun)
			real_open(); /* with the objects that were loaded */
	}
	if (!begun)
		begin(argc, argv, envp);
	if (session.state == SESSION_ON) {
		handlers_register();
		libc.on_exit(at_exit, NULL);
		capture_listen();
		if (session.config.streams)
			streams_listen();
		if (!thread_self.lane)
			thread_attach(&thread_self);
#define PRODUCER(name, is_default, describe, start, ready, ...) ready;
#include "tracer/producers.def"
	}
	errno = error;
}
