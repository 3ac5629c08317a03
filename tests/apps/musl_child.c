/* SPDX-License-Identifier: Apache-2.0 */
// CC: musl-gcc
/* musl_child - a program of another C library: with ours preloaded it runs as without, and nothing
 * is recorded; as a child it is started without. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	puts(getenv("APP_KEEP") ? getenv("APP_KEEP") : "lost");
	return 8;
}
