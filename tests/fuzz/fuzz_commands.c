/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_commands.c - fuzz target of the commands of `trace`, which run in this process with
 * arbitrary bytes as their FILE.
 *
 * The first byte chooses the command line; the rest is the file: a report, an XSpace, a database, a
 * text file of NVTX or CodeXL. Exit statuses are 0 to 2.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/make_report.h"

#define WORDS_MAX 16u
#define IN "\1"    /* the file */
#define OUT "\2"   /* a file that may be written */
#define BASE "\3"  /* a sound report */
#define NOTES "\4" /* a file to import into one */
#define ATP "\5"   /* the file, under other names */
#define CSV "\6"
#define OCC "\7"
#define FOLDER "\10"  /* a folder whose section file is the input */
#define RESULTS "\11" /* a sound report of Nsight Compute */

static const struct line {
	enum command_id command;
	const char *words[WORDS_MAX];
} lines[] = {
	{CMD_info, {IN}},
	{CMD_info, {"-j", IN}},
	{CMD_info, {"-v", IN}},
	{CMD_check, {IN}},
	{CMD_dump, {IN}},
	{CMD_dump, {"-j", "--nvtx-include", "a/*/b", "--nvtx-include", "regex:.@a", IN}},
	{CMD_dump, {"--nvtx-exclude", "b", "--nvtx-push-pop-scope", "process", IN}},
	{CMD_dump, {"--filter-time", "1us/1s", "-n", "r*", IN}},
	{CMD_stats, {IN}},
	{CMD_stats, {"-r", "osrt_sum,osrt_totals,callchain_tree,callchain_flat", "-f", "json", IN}},
	{CMD_stats, {"-r", "callchain_tree", "--source", "nvtx", "-w", "count", IN}},
	{CMD_stats, {"-r", "callchain_flat", "--source", "cpu", "--callchains", "python", IN}},
	{CMD_stats,
		{"-r",
			"cpu_by_function,cpu_sum,thread_time_sum,process_time_sum,sched_sum,offcpu_"
			"sum,"
			"python_gil_sum",
			"-f", "json", IN}},
	{CMD_stats, {"-r", "nvtx_sum,nvtx_pushpop_sum,nvtx_startend_sum,nvtx_pushpop_trace", IN}},
	{CMD_stats, {"-r", "gpu_clock_sum,gpu_metric_sum,nic_metric_sum,host_sum", IN}},
	{CMD_stats, {"-r", "cuda_memory_sum,cuda_memory_live:at=oom", IN}},
	{CMD_stats, {"-r", "cuda_memory_fail,cuda_memory_pool_sum", IN}},
	{CMD_stats, {"-r", "cuda_graph_node_sum,cuda_kern_occupancy", IN}},
	{CMD_stats, {"-r", "cuda_kern_metric_sum,nvtx_metric_sum", IN}},
	{CMD_stats, {"-r", "mpi_event_sum,mpi_event_trace,mpi_msg_size_sum,mpi_late_sum", IN}},
	{CMD_stats, {"-r", "nccl_event_sum,openacc_sum,openmp_sum", IN}},
	{CMD_stats,
		{"-r", "opencl_sum,opencl_kernel_sum,opencl_command_sum,opencl_command_trace", IN}},
	{CMD_stats, {"-r", "nvtx_gpu_proj_trace,nvtx_kern_sum,ncu_metric_sum", "-f", "csv", IN}},
	{CMD_stats, {"--filter-time", "0/1s", "--filter-nvtx", "a", "-u", "msec", IN}},
	{CMD_analyze, {IN}},
	{CMD_analyze, {"-f", "json", IN}},
	{CMD_report, {"--text", IN}},
	{CMD_report, {"--html", "-o", OUT, "-f", "true", IN}},
	{CMD_query, {IN, "SELECT name FROM sqlite_master"}},
	{CMD_details, {IN}},
	{CMD_details, {"--page", "session", IN}},
	{CMD_details, {"--page", "raw", "--metrics", "regex:.", "--csv", IN}},
	{CMD_details,
		{"--metrics", "x=launch__two*2,regex:e", "--print-metric-instances", "details",
			IN}},
	{CMD_details, {"--print-details", "all", "-k", "regex:.", "--kernel-id", ":::1|2", IN}},
	{CMD_derive, {"--metrics", "x=launch__two*2", "-o", OUT, "-f", "true", IN}},
	{CMD_import, {"-o", OUT, "-f", "true", ATP}},
	{CMD_import, {"-o", OUT, "-f", "true", CSV}},
	{CMD_import, {"-o", OUT, "-f", "true", OCC}},
	{CMD_sections, {"--section-folder", FOLDER}},
	{CMD_sections, {"--section-folder", FOLDER, "--list-sets", "-f", "json"}},
	{CMD_sections, {"--section-folder", FOLDER, "--list-metrics", "--architecture", "8.6"}},
	{CMD_details, {"--section-folder", FOLDER, "--set", "full", RESULTS}},
	{CMD_derive, {"--section-folder", FOLDER, "-o", OUT, "-f", "true", RESULTS}},
	{CMD_import, {"-i", BASE, "-o", OUT, "-f", "true", IN}},
	{CMD_import, {"-i", IN, "-o", OUT, "-f", "true", "--strict", NOTES}},
	{CMD_symbolize, {IN}},
	{CMD_export, {"-t", "json", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "folded", "--callchains", "native", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "speedscope", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "pprof", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "otlp", "--source", "cpu", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "firefox", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "nvtxt", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "sqlite", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "sqlite", "--compat", "2.9", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "ncu", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "ncu", "--nvtx-include", "a", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "perfetto", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "chrome", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "xplane", "--steps", "a", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "xplane-tools", "--steps", "a", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "atp", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "csv", "-o", OUT, "-f", "true", IN}},
	{CMD_export, {"-t", "occupancy", "-o", OUT, "-f", "true", IN}},
	{CMD_stats,
		{"-r", "generic_sum,graphics_sum,wddm_queue_sum,dx12_pix_sum", "-f", "json", IN}},
	{CMD_export,
		{"-t", "sqlite", "--log-events", "(?#a)(?<b>a+)b|(?<c>\\w+)$", "-o", OUT, "-f",
			"true", IN}},
	{CMD_merge, {"-o", OUT, "-f", "true", IN, BASE}},
	{CMD_merge, {"-o", OUT, "-f", "true", BASE, IN, IN}},
	{CMD_stats, {"-r", "mpi_straggler_sum,mpi_matrix,mpi_range_sum", IN}},
};
#define PACKED 128 /* bit of the first byte: compress the file as a whole */
#define EVERY 255  /* that: every line */
#define LINES (sizeof(lines) / sizeof(*lines))

enum {
	PATH_IN = 1,
	PATH_OUT,
	PATH_BASE,
	PATH_NOTES,
	PATH_ATP,
	PATH_CSV,
	PATH_OCC,
	PATH_FOLDER,
	PATH_RESULTS,
	PATHS
};

static char paths[PATHS][64], section_path[96];

static void base_make(void)
{
	static const char notes[] = "SetFileDisplayName, \"a\"\nRangePush, b\nRangePop\n";
	struct make_report m;
	make_sample(&m, true);
	make_save(&m, paths[PATH_BASE]);
	make_release(&m);
	FILE *file = fopen(paths[PATH_NOTES], "we");
	if (!file || fputs(notes, file) < 0 || fclose(file))
		abort();
}

/* Build a report with one result of one metric. */
static void results_make(void)
{
	static const char report[] =
		"NVR\0\2\0\0\0\x08\x07\x16\0\0\0\x10\1\x22\x0d\x0a\x0b"
		"launch__two\x28\x2e\x32\x02\x08\x05\x2a\0\0\0"
		"\x08\1\x10\1\x18\1\x20\1\x2a\1k\x32\1k\x3a\1k\x40\1"
		"\x4a\0\x52\0\x5a\0\x6a\x06\x08\0\x12\x02\x28\x07\x70\1\x7a\x02\x08\1";
	FILE *file = fopen(paths[PATH_RESULTS], "we");
	if (!file || fwrite(report, sizeof(report) - 1, 1, file) != 1 || fclose(file))
		abort();
}

static void paths_remove(void)
{
	unlink(section_path);
	for (size_t i = 1; i < PATHS; i++)
		if (unlink(paths[i]))
			rmdir(paths[i]);
}

static void paths_make(void)
{
	static const char *const suffixes[PATHS] = {NULL, "in", "out", "base", "nvtxt", "atp",
		"csv", "occupancy", "sections", "ncu-rep"};
	for (size_t i = 1; i < PATHS; i++)
		snprintf(paths[i], sizeof(paths[i]), "/dev/shm/fuzz-%d.%s", (int)getpid(),
			suffixes[i]);
	snprintf(section_path, sizeof(section_path), "%s/x.section", paths[PATH_FOLDER]);
	base_make();
	results_make();
	if (mkdir(paths[PATH_FOLDER], 0700) || symlink(paths[PATH_IN], section_path) ||
		symlink(paths[PATH_IN], paths[PATH_ATP]) ||
		symlink(paths[PATH_IN], paths[PATH_CSV]) ||
		symlink(paths[PATH_IN], paths[PATH_OCC]))
		abort();
	atexit(paths_remove);
	unsetenv("DEBUGINFOD_URLS");
	setenv("PATH", "/nonexistent", 1);
	setenv("TMPDIR", "/dev/shm", 1);
}

static void input_write(const uint8_t *data, size_t bytes, bool packed)
{
	const size_t room = ZSTD_compressBound(bytes);
	void *frame = packed ? malloc(room) : NULL;
	if (frame) {
		bytes = ZSTD_compress(frame, room, data, bytes, 1);
		data = frame;
	}
	int fd = open(paths[PATH_IN], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
	free(frame);
}

/* Remove the output: a file, or a folder of files. */
static void output_remove(void)
{
	DIR *d = opendir(paths[PATH_OUT]);
	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (unlink(paths[PATH_OUT]))
		rmdir(paths[PATH_OUT]);
}

static void run(const struct line *line)
{
	char *argv[WORDS_MAX + 2] = {(char *)"trace"};
	int argc = 1;
	struct options o;
	for (; line->words[argc - 1]; argc++) {
		const char *word = line->words[argc - 1];
		argv[argc] = *word >= PATHS ? (char *)(uintptr_t)word : paths[(int)*word];
	}
	if (options_parse(&o, line->command, argc, argv))
		abort();
	const int status = command_functions[line->command](&o);
	if (status < STATUS_OK || status > STATUS_FAILED)
		abort();
	fflush(stdout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!paths[PATH_IN][0])
		paths_make();
	if (!bytes)
		return 0;
	uint8_t *file = malloc(bytes);
	if (!file)
		return 0;
	memcpy(file, data + 1, bytes - 1);
	mutate_mend(file, bytes - 1);
	input_write(file, bytes - 1, data[0] & PACKED);
	free(file);
	for (size_t i = 0; i < LINES; i++)
		if (data[0] == EVERY || i == data[0] % PACKED % LINES)
			run(&lines[i]);
	unlink(paths[PATH_IN]);
	output_remove();
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	if (bytes < 5 || seed % 8 == 0 || data[0] == EVERY) {
		if (bytes)
			data[0] = (uint8_t)((seed >> 3) % EVERY);
		return bytes ? bytes : LLVMFuzzerMutate(data, bytes, max);
	}
	if (!memcmp(data + 1, "NVR", 4))
		return 1 + mutate_report(data + 1, bytes - 1, max - 1, seed);
	if (data[1] == 0x0a && seed % 2) /* an XSpace */
		return 1 + mutate_message(NULL, data + 1, bytes - 1, max - 1, seed);
	return 1 + LLVMFuzzerMutate(data + 1, bytes - 1, max - 1);
}
