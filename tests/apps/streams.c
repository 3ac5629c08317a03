/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - writes to standard output and error in the ways that tests/e2e/streams.py expects.
 *
 * Usage: streams FILE [BYTES]. FILE is where standard output is redirected meanwhile. With BYTES,
 * the program writes so many bytes to standard output, in one call, and nothing else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define RAW(text) (write(1, text, strlen(text)) == (ssize_t)strlen(text) || (exit(9), 0))

static void secrets(void)
{
	fprintf(stderr,
		"API_KEY=abcdef next\npassword: two words\n{\"token\": \"xyz\", \"n\": 1}\n");
	fprintf(stderr, "--hf-token hush done\ntokens=7 seen\n");
	fputs("SEC", stderr);
	fputs("RET='ab", stderr);
	fputs("cd' end\n", stderr);
}

static void elsewhere(const char *path)
{
	int saved = dup(1), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (saved < 0 || file < 0 || dup2(file, 1) != 1)
		exit(9);
	printf("elsewhere\n");
	fflush(stdout);
	if (dup2(saved, 1) != 1)
		exit(9);
	printf("back\n");
	fflush(stdout);
	close(saved);
	close(file);
}

static void many(size_t bytes)
{
	char *data = malloc(bytes);
	for (size_t i = 0; data && i < bytes; i++)
		data[i] = (char)('a' + i % 26);
	for (size_t done = 0; data && done < bytes;) {
		ssize_t wrote = write(1, data + done, bytes - done);
		if (wrote <= 0)
			exit(9);
		done += (size_t)wrote;
	}
	free(data);
}

int main(int argc, char **argv)
{
	struct iovec parts[] = {{"vec", 3}, {"tor\n", 4}};
	if (argc > 2) {
		many(strtoul(argv[2], NULL, 10));
		return 0;
	}
	printf("stdio %d\n", isatty(1));
	fflush(stdout);
	RAW("raw\n");
	if (writev(1, parts, 2) != 7)
		return 9;
	secrets();
	elsewhere(argv[1]);
	if (fork() == 0) {
		printf("of the child\n");
		exit(0);
	}
	wait(NULL);
	const void *volatile nowhere = NULL; /* the kernel refuses to read there */
	if (write(1, nowhere, 5) != -1 || write(-1, "x", 1) != -1)
		return 9;
	printf("at exit");
	return 0;
}
