/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - `libtrace-host`: asks shared libraries of this machine what `trace` needs to know.
 *
 *     libtrace-host nvml                        properties of GPUs as "name=value", one per line
 *     libtrace-host machine [LIBRARY...]        version of the C library, loadable libraries
 *     libtrace-host cuda [LIBCUPTI]             versions of driver and CUPTI
 *     libtrace-host metrics LIBCUPTI [CHIP [METRIC,... [sampled]]]
 *                                               hardware metrics of GPU chips (gpu_metrics.h)
 *     libtrace-host sample gpus|infiniband|host [NVML [ROOT]]
 *                                               samples of the machine, as records for the writer
 *     libtrace-host debuginfo|executable HEX    path of the file with that build-id, by debuginfod
 *
 * `trace` is linked statically, so that it runs on any Linux, and a statically linked program must
 * not call dlopen(). This program is linked dynamically and does it instead. A library that
 * crashes or hangs takes only this process with it. The exit status is 0 if there was an answer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/cuda/cupti_names.h"
#include "reader/host/gpu_metrics.h"
#include "reader/host/library.h"
#include "reader/host/nvml.h"
#include "reader/host/sample.h"

#define BUILD_ID_BYTES_MAX 64u

/* ---- CUDA ---- */

static void cuda_driver_print(void)
{
	void *library = library_open("libcuda.so.1");
	int (*version)(int *) = NULL;
	int (*init)(unsigned) = NULL;
	int (*count)(int *) = NULL;
	int number;
	if (!library)
		return;
	library_find(library, "cuDriverGetVersion", &version);
	library_find(library, "cuInit", &init);
	library_find(library, "cuDeviceGetCount", &count);
	puts("libcuda=libcuda.so.1");
	if (version && !version(&number))
		printf("driver_cuda=%d.%d\n", number / 1000, number % 1000 / 10);
	fflush(stdout); /* cuInit() may crash or hang where the driver is broken */
	int error = init ? init(0) : -1;
	if (error)
		printf("cuda_error=%d\n", error);
	else if (count && !count(&number))
		printf("cuda_devices=%d\n", number);
	fflush(stdout);
}

/* Print the version and path of a CUPTI library. Returns false if it cannot be loaded. */
static bool cupti_print(const char *path, const void *unused)
{
	(void)unused;
	uint32_t number = 0;
	int (*version)(uint32_t *) = NULL;
	Dl_info info;
	void *library = library_open(path);
	if (library)
		library_find(library, "cuptiGetVersion", &version);
	if (!version || version(&number))
		return false;
	if (dladdr(*(void **)&version, &info) && info.dli_fname)
		path = info.dli_fname;
	printf("cupti=%s\ncupti_version=%u\n", path, number);
	return true;
}

/* Call print() for `given`, else for the CUPTIs that the tracer looks for, until it returns true.
 * Return false if it never did. */
static bool cupti_find(
	const char *given, bool (*print)(const char *path, const void *user), const void *user)
{
	static const char *const names[] = {CUPTI_NAMES}, *const folders[] = {CUPTI_FOLDERS};
	char path[256];
	if (given && *given)
		return print(given, user);
	for (size_t f = 0; f < sizeof(folders) / sizeof(*folders); f++)
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
			snprintf(path, sizeof(path), "%s%s", folders[f], names[n]);
			if (print(path, user))
				return true;
		}
	return false;
}

static int cuda(const char *cupti)
{
	cuda_driver_print();
	cupti_find(cupti, cupti_print, NULL);
	return fflush(stdout) != 0;
}

static bool metrics_print(const char *path, const void *question)
{
	return gpu_metrics_print(path, question);
}

/* metrics LIBCUPTI [CHIP [METRIC,... [sampled]]]: empty texts are as if they were missing. */
static int metrics(int argc, char **argv)
{
	const struct gpu_metrics_question question = {.chip = argc > 1 && *argv[1] ? argv[1] : NULL,
		.metrics = argc > 2 ? argv[2] : NULL,
		.sampled = argc > 3};
	return !cupti_find(argv[0], metrics_print, &question) || fflush(stdout);
}

/* ---- this machine ---- */

/* Print the version of the C library, and the names of the given libraries that can be loaded. That
 * this program runs at all shows that programs with a preloaded library can run. */
static int machine_print(char **libraries)
{
	printf("glibc=%s\n", gnu_get_libc_version());
	for (; *libraries; libraries++)
		if (library_open(*libraries))
			printf("loads=%s\n", *libraries);
	return fflush(stdout) != 0;
}

/* ---- debuginfod ---- */

typedef int debuginfod_find(void *client, const unsigned char *id, int bytes, char **ret_path);

/* Parse hexadecimal digits. Returns the number of bytes; 0 if the text is not a build-id. */
static size_t bits_parse(const char *text, unsigned char *ret_bits)
{
	size_t bytes = strlen(text) / 2;
	if (strlen(text) % 2 || bytes > BUILD_ID_BYTES_MAX ||
		strspn(text, "0123456789abcdef") != 2 * bytes)
		return 0;
	for (size_t i = 0; i < bytes; i++) {
		char pair[3] = {text[2 * i], text[2 * i + 1], 0};
		ret_bits[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return bytes;
}

static int debuginfod(const char *what, const char *digits)
{
	unsigned char bits[BUILD_ID_BYTES_MAX];
	size_t bytes = bits_parse(digits, bits);
	void *library = bytes ? library_open("libdebuginfod.so.1") : NULL;
	void *(*begin)(void) = NULL;
	debuginfod_find *find = NULL;
	char name[64], *path = NULL;
	if (!library)
		return 1;
	snprintf(name, sizeof(name), "debuginfod_find_%s", what);
	library_find(library, "debuginfod_begin", &begin);
	library_find(library, name, &find);
	void *client = begin && find ? begin() : NULL;
	if (!client || find(client, bits, (int)bytes, &path) < 0 || !path)
		return 1;
	return puts(path) < 0 || fflush(stdout);
}

/* ---- samples ---- */

/* Sample until the process that started this one ends. An empty name of a library is that of the
 * system's. */
static int sample(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*sample)(const struct sample_source *);
	} samplers[] = {
		{"gpus", sample_gpus}, {"infiniband", sample_infiniband}, {"host", sample_host}};
	const struct sample_source source = {.nvml = argc > 1 && *argv[1] ? argv[1] : NVML_LIBRARY,
		.root = argc > 2 ? argv[2] : ""};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(samplers) / sizeof(*samplers); i++)
		if (!strcmp(argv[0], samplers[i].name))
			samplers[i].sample(&source);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "nvml"))
		return nvml_print();
	if (argc >= 2 && !strcmp(argv[1], "machine"))
		return machine_print(argv + 2);
	if (argc >= 3 && argc <= 6 && !strcmp(argv[1], "metrics"))
		return metrics(argc - 2, argv + 2);
	if (argc >= 3 && argc <= 5 && !strcmp(argv[1], "sample"))
		return sample(argc - 2, argv + 2);
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "cuda"))
		return cuda(argv[2]);
	if (argc == 3 && (!strcmp(argv[1], "debuginfo") || !strcmp(argv[1], "executable")))
		return debuginfod(argv[1], argv[2]);
	fputs("usage: libtrace-host nvml | machine [LIBRARY...] | cuda [LIBCUPTI] | "
	      "metrics LIBCUPTI [CHIP [METRIC,... [sampled]]] | "
	      "sample gpus|infiniband|host [NVML [ROOT]] | debuginfo BUILD-ID | "
	      "executable BUILD-ID\n",
		stderr);
	return 2;
}
