/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lifunc
/*
 * ifunc_early - linked with a library whose resolvers of indirect functions call what the tracer
 * wraps, before the loader has relocated the tracer.
 *
 * Promise: each such call does what it does untraced, and what the program calls later is recorded.
 */
#include "app.h"

#include <fcntl.h>

#define CALLS 100
int ifunc_chosen(const char **ret_wrong);

int main(void)
{
	const char *wrong = "none";
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	check(ifunc_chosen(&wrong) == 16, "all resolvers have done their calls");
	if (strcmp(wrong, "none"))
		say("not %s", wrong);
	say("expect %d pread", CALLS);
	return app_result();
}
