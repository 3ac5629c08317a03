/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relocate.h - calls that come before the loader has relocated this library.
 *
 * The loader relocates what it has loaded one library after the other, ours late, and calls the
 * resolvers of indirect functions (STT_GNU_IFUNC) meanwhile. Such a resolver may call getenv() or
 * anything else, and what it calls is bound to us already. Then no pointer that is stored in this
 * library is right, nor the address of anything outside of it. So the first such call relocates the
 * library itself; the loader does the same again later.
 *
 * Up to relocate_check() an exported function may use no initialized pointer, nothing thread-local
 * and nothing of libc (errno!). The hot path needs no check: its gate (session.h) is closed.
 */
#ifndef TRACER_RELOCATE_H
#define TRACER_RELOCATE_H

/* Its own address, once the library is relocated. */
extern const void *const volatile relocate_mark __attribute__((visibility("hidden")));

/* The first thread, on the stack that the program was started with. */
__attribute__((cold, noinline)) void relocate_self(void);

static inline void relocate_check(void)
{
	if (__builtin_expect(relocate_mark != (const void *)&relocate_mark, 0))
		relocate_self();
}

#endif
