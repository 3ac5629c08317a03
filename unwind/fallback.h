/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fallback.h - libunwind, for the frames that our own rules cannot pass, and to check them.
 *
 * It is never linked: it exports _Unwind_*, which would take over every C++ exception. Loading
 * libunwind (0.3 ms, the loader's lock, heap) must not happen at the start of the library nor in an
 * intercepted call, where another thread may hold that lock and wait for ours. Until
 * fallback_load() has been called at a safe place, such a frame ends the chain, which is marked as
 * lost.
 *
 * libunwind takes locks with all signals blocked and calls libc through the PLT. It runs only in
 * the tracer's guard, where dl_iterate_phdr() is answered by modules_iterate().
 */
#ifndef UNWIND_FALLBACK_H
#define UNWIND_FALLBACK_H

#include <stdbool.h>
#include <stdint.h>

struct fallback_setup {
	const char *folder; /* contains libunwind.so.8 and liblzma.so.5, which libunwind needs */
	void *(*open)(const char *path, int flags); /* the real dlopen(), not our wrapper */
	void *(*symbol)(void *handle, const char *name);
};

/*
 * Load libunwind; it is never unloaded. Return 0; or -ENOENT, also at every later call, if
 * libunwind or one of its functions is missing, or if the program has a libunwind of its own (the
 * two would call each other). Call at a safe place only, where the application itself could call
 * dlopen(): after its dlopen() has returned, or at library start when asked for by an option. In
 * the guard.
 */
int fallback_load(const struct fallback_setup *setup);

/* Stop using libunwind in a forked child if another thread was in it, since the lock that it held
 * is never released here. */
void fallback_forked(void);

/* Return true if libunwind is loaded. Any thread. */
bool fallback_ready(void);

/* Where a chain begins, and the addresses whose frames are left out of it: libtrace.so itself. */
struct fallback_frames {
	uint64_t first;
	uint64_t own_begin, own_end;
};

/*
 * Take the calling thread's chain from the frame at the return address `frames->first` outwards, at
 * most `count` addresses. Return their number. *ret_more: there are more. Nothing is cached (a
 * module may have been replaced), so it takes some 50 us. unw_backtrace() takes 0.2 us, but its
 * cache belongs to the thread, cannot be flushed, and is freed by a destructor that takes a lock at
 * the thread's end. Any thread, in the guard; needs 15 KiB of stack.
 */
uint32_t fallback_chain(const struct fallback_frames *frames, uint32_t count,
	uint64_t *ret_addresses, bool *ret_more);

#endif
