/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvml.c - simulates NVIDIA's management library (NVML): NVML_GPUS GPUs with the power limit
 * NVML_POWER_MW. The second GPU reports neither ECC nor MIG, as consumer cards do. With NVML_HANGS
 * the library never answers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOT_SUPPORTED 3

static unsigned number(const char *name)
{
	const char *value = getenv(name);
	return value ? (unsigned)strtoul(value, NULL, 10) : 0;
}

static uintptr_t index_of(void *device)
{
	return (uintptr_t)device - 1;
}

int nvmlInit_v2(void)
{
	while (number("NVML_HANGS"))
		pause();
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = number("NVML_GPUS");
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = (void *)((uintptr_t)index + 1);
	return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
	snprintf(name, bytes, "Made up\n%d", (int)index_of(device));
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
	(void)device;
	*milliwatts = number("NVML_POWER_MW");
	return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
	(void)device;
	*mhz = type == 2 ? 2619 : 1980;
	return 0;
}

int nvmlDeviceGetApplicationsClock(void *device, int type, unsigned *mhz)
{
	(void)type;
	*mhz = 1410;
	return index_of(device) ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *next)
{
	*now = 1;
	*next = 0;
	return index_of(device) ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next)
{
	*now = *next = 0;
	return index_of(device) ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetPersistenceMode(void *device, unsigned *on)
{
	(void)device;
	*on = 1;
	return 0;
}
