/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relocate.h - self-relocation, for calls made before the loader has relocated this library.
 *
 * The loader relocates one library after another, ours late, and calls the resolvers of indirect
 * functions (STT_GNU_IFUNC) on the way. Such a resolver may call getenv() or any other function
 * that is bound to our wrapper already. At that time each pointer that is stored in this library is
 * wrong, and so is each address of anything outside of it. The first such call relocates the
 * library; the loader repeats this later.
 *
 * Before relocate_check() an exported function may use no initialized pointer, nothing thread-local
 * and nothing of libc (errno!). The hot path needs no check: its gate (gate.h) is closed.
 */
#ifndef TRACER_BASE_RELOCATE_H
#define TRACER_BASE_RELOCATE_H

/* The address of this variable itself, once the library is relocated. */
extern const void *const volatile relocate_mark __attribute__((visibility("hidden")));

/* Relocate the library. Called by the first thread, on the stack that the program was started
 * with. */
__attribute__((cold, noinline)) void relocate_self(void);

/* Relocate the library if the loader has not done so yet. Call it first in each exported
 * function. */
static inline void relocate_check(void)
{
	if (__builtin_expect(relocate_mark != (const void *)&relocate_mark, 0))
		relocate_self();
}

#endif
