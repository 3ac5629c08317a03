/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fallback.h - libunwind, for the frames that our own rules cannot pass, and to check them.
 *
 * It is never linked: it exports _Unwind_*, which would take over every C++ exception. Loading it
 * (0.3 ms, loader's lock, heap) is neither for the start of the library nor for an intercepted
 * call, where another thread may hold that lock and wait for ours. So until fallback_load() has
 * been called at a safe place such frames end a chain, which is marked as lost.
 *
 * libunwind takes locks with all signals blocked and calls libc through the PLT: only in the
 * tracer's guard, with dl_iterate_phdr() answered from modules_iterate().
 */
#ifndef UNWIND_FALLBACK_H
#define UNWIND_FALLBACK_H

#include <stdbool.h>
#include <stdint.h>

struct fallback_setup {
	const char *folder; /* holds libunwind.so.8 and liblzma.so.5, which it needs */
	void *(*open)(const char *path, int flags); /* dlopen(), not one of ours */
	void *(*symbol)(void *handle, const char *name);
};

/*
 * Loads libunwind for good. Returns 0, or -ENOENT where it or one of its functions is missing, or
 * the program has a libunwind of its own (the two would call each other), at every later call too.
 * At a safe place only, where the application itself could call dlopen(): after its dlopen() has
 * returned, or at library start when asked for by an option. In the guard.
 */
int fallback_load(const struct fallback_setup *setup);

/* In a forked child: without libunwind if another thread was in it, for the lock it held is ours
 * now and never given back. */
void fallback_forked(void);

/* Has it been loaded? Any thread. */
bool fallback_ready(void);

/* Where a chain begins, and the addresses whose frames are left out of it: libtrace.so itself. */
struct fallback_frames {
	uint64_t first;
	uint64_t own_begin, own_end;
};

/*
 * The calling thread's chain from the frame at the return address `frames->first` outwards, at most
 * `count` addresses; returns how many. *ret_more: there are more. Nothing is
 * cached (a module may have been replaced), so some 50 us. Not by unw_backtrace(), 0.2 us: its
 * cache belongs to the thread, cannot be flushed, and is given back by a destructor that takes a
 * lock at the thread's end. Any thread, in the guard; needs 15 KiB of stack.
 */
uint32_t fallback_chain(const struct fallback_frames *frames, uint32_t count,
	uint64_t *ret_addresses, bool *ret_more);

#endif
