/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_binary.c - fuzz target of symbol lookup: looks up addresses all over arbitrary bytes as a
 * program with symbols and DWARF, a perf map or a jitdump, selected by the first byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/report/contents.h"
#include "reader/symbols/symbols.h"
#include "tests/unit/make_report.h"

#define PID 100u
#define BEGIN 0x400000u
#define BYTES 0x10000u

static char folder[64], paths[3][96];

static void folder_remove(void)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		unlink(paths[i]);
	rmdir(folder);
}

static void folder_make(void)
{
	snprintf(folder, sizeof(folder), "/dev/shm/fuzz-%d", (int)getpid());
	snprintf(paths[0], sizeof(paths[0]), "%s/program", folder);
	snprintf(paths[1], sizeof(paths[1]), "%s/perf-%u.map", folder, PID);
	snprintf(paths[2], sizeof(paths[2]), "%s/jit-%u.dump", folder, PID);
	if (mkdir(folder, 0700))
		abort();
	atexit(folder_remove);
	unsetenv("DEBUGINFOD_URLS");
}

/* Look up addresses in a program at BEGIN, loaded like a file with fixed addresses, and in a
 * process without a file. */
static void look_up(const char *program)
{
	struct make_report made;
	struct report report;
	struct contents contents;
	struct symbols symbols;
	const struct contents_visitor nobody = {0};
	const char *cause;
	make_init(&made, false);
	make_process(&made, 1, PID, 1, program);
	make_module(&made, 1, 1000, BEGIN, BEGIN + BYTES, 0, program, "");
	make_block_end(&made);
	contents_init(&contents);
	if (report_open_memory(&report, made.data, made.bytes, &cause) ||
		contents_read(&contents, &report, &nobody))
		abort();
	struct process *process = process_get(&contents.processes, 1);
	symbols_init(&symbols, &contents, folder);
	for (uint64_t address = 0; process && address < BYTES; address += 37) {
		symbols_find(&symbols, process, BEGIN + address, 1500, NULL);
		symbols_find(&symbols, process, 0x10000 + address, 1500, NULL);
	}
	symbols_release(&symbols);
	contents_release(&contents);
	report_close(&report);
	make_release(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!folder[0])
		folder_make();
	if (!bytes)
		return 0;
	const char *path = paths[data[0] % 3];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data + 1, bytes - 1) != (ssize_t)bytes - 1)
		abort();
	close(fd);
	look_up(paths[0]);
	unlink(path);
	return 0;
}
