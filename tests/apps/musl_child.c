/* SPDX-License-Identifier: Apache-2.0 */
// CC: musl-gcc
/* musl_child.c - a program of another C library: with our library preloaded it runs as without the
 * tracer, and nothing is recorded; as a child of a traced program it is started without the
 * preload. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	puts(getenv("APP_KEEP") ? getenv("APP_KEEP") : "lost");
	return 8;
}
