/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -static
/* static_child.c - a statically linked program: the loader never runs, so it cannot be traced; the
 * report must say so. */
#include <stdio.h>

int main(void)
{
	puts("static child");
	return 7;
}
