/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_facts.c - facts of GPUs from NVML.
 *
 * Names of functions, numbers and types are those of NVML's interface, as in the package
 * nvidia-ml-py 13.580.
 */
#define _GNU_SOURCE
#include "reader/cli/record/gpu_facts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "reader/cli/base/change.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define GPUS_MAX 16u
#define FACTS_MAX (GPUS_MAX * 8u)
#define TEXT_BYTES 16384u /* bytes of all facts; less than a pipe holds */
#define PATIENCE_MS 5000

enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_MEM = 2 };

typedef void *nvml_device;

struct nvml {
	void *library;
	int (*init)(void);
	int (*count)(unsigned *);
	int (*device)(unsigned, nvml_device *);
	int (*name)(nvml_device, char *, unsigned);
	int (*power_limit)(nvml_device, unsigned *); /* mW */
	int (*max_clock)(nvml_device, int, unsigned *);
	int (*application_clock)(nvml_device, int, unsigned *);
	int (*ecc)(nvml_device, unsigned *, unsigned *); /* current, and after the next restart */
	int (*mig)(nvml_device, unsigned *, unsigned *);
	int (*persistence)(nvml_device, unsigned *);
};

/* ---- in the process that calls NVML: writes one fact per line into the pipe ---- */

static void find(const struct nvml *n, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(n->library, name);
}

static bool nvml_open(struct nvml *n)
{
	n->library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return false;
	find(n, "nvmlInit_v2", &n->init);
	find(n, "nvmlDeviceGetCount_v2", &n->count);
	find(n, "nvmlDeviceGetHandleByIndex_v2", &n->device);
	find(n, "nvmlDeviceGetName", &n->name);
	find(n, "nvmlDeviceGetEnforcedPowerLimit", &n->power_limit);
	find(n, "nvmlDeviceGetMaxClockInfo", &n->max_clock);
	find(n, "nvmlDeviceGetApplicationsClock", &n->application_clock);
	find(n, "nvmlDeviceGetEccMode", &n->ecc);
	find(n, "nvmlDeviceGetMigMode", &n->mig);
	find(n, "nvmlDeviceGetPersistenceMode", &n->persistence);
	return n->init && n->count && n->device && !n->init();
}

static void clocks_print(unsigned gpu, const char *name, nvml_device device,
	int (*clock)(nvml_device, int, unsigned *))
{
	unsigned graphics_mhz, memory_mhz;
	if (clock && !clock(device, NVML_CLOCK_GRAPHICS, &graphics_mhz) &&
		!clock(device, NVML_CLOCK_MEM, &memory_mhz))
		printf("gpu_%u_%s=graphics %u MHz, memory %u MHz\n", gpu, name, graphics_mhz,
			memory_mhz);
}

static void mode_print(unsigned gpu, const char *name, nvml_device device,
	int (*mode)(nvml_device, unsigned *, unsigned *))
{
	unsigned now, next;
	if (mode && !mode(device, &now, &next))
		printf("gpu_%u_%s=%s\n", gpu, name, now ? "on" : "off");
}

static void gpu_print(const struct nvml *n, unsigned gpu)
{
	nvml_device device;
	char name[96] = "";
	unsigned value;
	if (n->device(gpu, &device))
		return;
	if (n->name && !n->name(device, name, sizeof(name)))
		printf("gpu_%u_name=%.95s\n", gpu, name);
	if (n->power_limit && !n->power_limit(device, &value))
		printf("gpu_%u_power_limit=%u mW\n", gpu, value);
	clocks_print(gpu, "max_clocks", device, n->max_clock);
	clocks_print(gpu, "application_clocks", device, n->application_clock);
	mode_print(gpu, "ecc", device, n->ecc);
	mode_print(gpu, "mig", device, n->mig);
	if (n->persistence && !n->persistence(device, &value))
		printf("gpu_%u_persistence=%s\n", gpu, value ? "on" : "off");
}

static void all_print(int fd)
{
	struct nvml n = {0};
	unsigned count = 0;
	if (dup2(fd, STDOUT_FILENO) < 0 || !nvml_open(&n) || n.count(&count))
		return;
	for (unsigned gpu = 0; gpu < count && gpu < GPUS_MAX; gpu++)
		gpu_print(&n, gpu);
	fflush(stdout);
}

/* ---- in this process ---- */

static int64_t now_ms(void)
{
	return (int64_t)(clock_monotonic_ns() / 1000000);
}

/* Read up to the end of the pipe. Returns the number of bytes; 0 if that takes too long. */
static size_t pipe_read(int fd, char *ret_text, size_t room)
{
	int64_t limit_ms = now_ms() + PATIENCE_MS;
	size_t bytes = 0;
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left_ms = limit_ms - now_ms();
		if (left_ms <= 0 || bytes == room)
			return 0;
		if (poll(&p, 1, (int)left_ms) <= 0)
			continue;
		ssize_t got = read(fd, ret_text + bytes, room - bytes);
		if (got <= 0 && errno != EINTR)
			return got ? 0 : bytes;
		bytes += got > 0 ? (size_t)got : 0;
	}
}

static size_t ask(char *ret_text, size_t room)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return 0;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		all_print(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	size_t bytes = pid > 0 ? pipe_read(fds[0], ret_text, room) : 0;
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return bytes;
}

/* Split the text into facts; bytes that are not printable become '?'. */
static size_t facts_split(char *text, char **ret_facts)
{
	size_t count = 0;
	for (char *line; count < FACTS_MAX && (line = strsep(&text, "\n"));) {
		for (char *c = line; *c; c++)
			*c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
		if (strchr(line, '='))
			ret_facts[count++] = line;
	}
	return count;
}

void gpu_facts_add(const char *report)
{
	static char text[TEXT_BYTES];
	char *facts[FACTS_MAX];
	struct change g;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session message = LIBTRACE__SESSION__INIT;
	text[ask(text, sizeof(text) - 1)] = 0;
	message.n_facts = facts_split(text, facts);
	message.facts = facts;
	entry.session = &message;
	if (!message.n_facts)
		return;
	if (!change_open(&g, report, report, true)) {
		append_entry(&g.append, &entry);
		change_commit(&g, "facts about the GPUs");
	}
	change_close(&g);
}
