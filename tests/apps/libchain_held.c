/* SPDX-License-Identifier: Apache-2.0 */
/* libchain_held.c - its constructor calls back, with the loader's lock held. */
extern void callchain_in_constructor(void) __attribute__((weak));

__attribute__((constructor)) static void begin(void)
{
	if (callchain_in_constructor)
		callchain_in_constructor();
}
