// CC: musl-gcc
/* musl_child - a program of another C library: it does not start with a glibc library preloaded, so
 * it must be started without. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	puts(getenv("APP_KEEP") ? getenv("APP_KEEP") : "lost");
	return 8;
}
