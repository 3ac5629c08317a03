/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -static
/* static_child.c - a statically linked program: the loader never runs, so it cannot be traced; the
 * report must say so. With arguments FIFO PROGRAM..., it waits until FIFO is opened for writing,
 * and becomes PROGRAM. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 2) {
		close(open(argv[1], O_RDONLY));
		execvp(argv[2], argv + 2);
		return 1;
	}
	puts("static child");
	return 7;
}
