/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lifunc
/*
 * ifunc_early.c - linked with a library whose resolvers of indirect functions call functions that
 * the tracer wraps, before the loader has relocated the tracer.
 *
 * Each such call must do what it does untraced, and the program's later calls must be recorded.
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
