/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - properties of GPUs from NVML.
 *
 * Function names, constants and types are those of NVML's interface, as in the package nvidia-ml-py
 * 13.580.
 */
#include "reader/host/nvml.h"

#include <stdio.h>

#include "reader/host/library.h"

enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_MEM = 2 };

/* Functions that say how a GPU is set up. */
struct setup {
	int (*power_limit)(nvml_device, unsigned *); /* mW */
	int (*max_clock)(nvml_device, int, unsigned *);
	int (*application_clock)(nvml_device, int, unsigned *);
	int (*ecc)(nvml_device, unsigned *, unsigned *); /* current, and after the next restart */
	int (*mig)(nvml_device, unsigned *, unsigned *);
	int (*persistence)(nvml_device, unsigned *);
};

bool nvml_load(struct nvml *n, const char *path)
{
	*n = (struct nvml){.library = library_open(path)};
	if (!n->library)
		return false;
	library_find(n->library, "nvmlInit_v2", &n->init);
	library_find(n->library, "nvmlDeviceGetCount_v2", &n->count);
	library_find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->device);
	library_find(n->library, "nvmlDeviceGetName", &n->name);
	return n->init && n->count && n->device;
}

bool nvml_start(const struct nvml *n)
{
	return !n->init();
}

static void setup_find(void *library, struct setup *s)
{
	library_find(library, "nvmlDeviceGetEnforcedPowerLimit", &s->power_limit);
	library_find(library, "nvmlDeviceGetMaxClockInfo", &s->max_clock);
	library_find(library, "nvmlDeviceGetApplicationsClock", &s->application_clock);
	library_find(library, "nvmlDeviceGetEccMode", &s->ecc);
	library_find(library, "nvmlDeviceGetMigMode", &s->mig);
	library_find(library, "nvmlDeviceGetPersistenceMode", &s->persistence);
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

static void gpu_print(const struct nvml *n, const struct setup *s, unsigned gpu)
{
	nvml_device device;
	char name[96] = "";
	unsigned value;
	if (n->device(gpu, &device))
		return;
	if (n->name && !n->name(device, name, sizeof(name)))
		printf("gpu_%u_name=%.95s\n", gpu, name);
	if (s->power_limit && !s->power_limit(device, &value))
		printf("gpu_%u_power_limit=%u mW\n", gpu, value);
	clocks_print(gpu, "max_clocks", device, s->max_clock);
	clocks_print(gpu, "application_clocks", device, s->application_clock);
	mode_print(gpu, "ecc", device, s->ecc);
	mode_print(gpu, "mig", device, s->mig);
	if (s->persistence && !s->persistence(device, &value))
		printf("gpu_%u_persistence=%s\n", gpu, value ? "on" : "off");
}

int nvml_print(void)
{
	struct nvml n;
	struct setup s;
	unsigned count = 0;
	if (!nvml_load(&n, NVML_LIBRARY) || !nvml_start(&n) || n.count(&count))
		return 1;
	setup_find(n.library, &s);
	for (unsigned gpu = 0; gpu < count && gpu < GPUS_MAX; gpu++)
		gpu_print(&n, &s, gpu);
	return fflush(stdout) != 0;
}
