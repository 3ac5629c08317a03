/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - properties of GPUs from NVML.
 *
 * Function names, constants and types are those of NVML's interface, as in the package nvidia-ml-py
 * 13.580.
 */
#include "reader/host/nvml.h"

#include <stdbool.h>
#include <stdio.h>

#include "reader/host/library.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define GPUS_MAX 16u

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

static bool nvml_open(struct nvml *n)
{
	n->library = library_open(NVML_LIBRARY);
	if (!n->library)
		return false;
	library_find(n->library, "nvmlInit_v2", &n->init);
	library_find(n->library, "nvmlDeviceGetCount_v2", &n->count);
	library_find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->device);
	library_find(n->library, "nvmlDeviceGetName", &n->name);
	library_find(n->library, "nvmlDeviceGetEnforcedPowerLimit", &n->power_limit);
	library_find(n->library, "nvmlDeviceGetMaxClockInfo", &n->max_clock);
	library_find(n->library, "nvmlDeviceGetApplicationsClock", &n->application_clock);
	library_find(n->library, "nvmlDeviceGetEccMode", &n->ecc);
	library_find(n->library, "nvmlDeviceGetMigMode", &n->mig);
	library_find(n->library, "nvmlDeviceGetPersistenceMode", &n->persistence);
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

int nvml_print(void)
{
	struct nvml n = {0};
	unsigned count = 0;
	if (!nvml_open(&n) || n.count(&count))
		return 1;
	for (unsigned gpu = 0; gpu < count && gpu < GPUS_MAX; gpu++)
		gpu_print(&n, gpu);
	return fflush(stdout) != 0;
}
