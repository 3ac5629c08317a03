/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvml.c - simulates NVIDIA's management library (NVML). The second GPU reports neither ECC nor
 * MIG, nor the bytes of PCIe and NVLink, as consumer cards do.
 *
 * Numbers that control it are variables, or lines "NAME=number" of the file PATH.txt, where PATH is
 * that of this library: the process that samples the machine has no environment.
 *
 *   NVML_GPUS         number of GPUs
 *   NVML_POWER_MW     their power limit
 *   NVML_HANGS        nvmlInit_v2() never returns
 *   NVML_HANGS_AFTER  the utilization is never answered after so many times
 *   NVML_CRASHES      ... the process crashes instead
 *   NVML_BACKWARDS    GPUs have the UUIDs of those of the simulated device, the last one first
 *   NVML_LIES         claims success and stores nothing, or what no GPU has; texts have no end
 *
 * Of every three samples of a GPU, one is throttled by the power limit: 1290 MHz instead of 1410.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_SUPPORTED 3

static int marker;

static unsigned number(const char *name)
{
	const char *value = getenv(name);
	char path[4096], line[128];
	unsigned found = 0;
	Dl_info info;
	if (value)
		return (unsigned)strtoul(value, NULL, 10);
	if (!dladdr(&marker, &info))
		return 0;
	snprintf(path, sizeof(path), "%s.txt", info.dli_fname);
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == '=')
			found = (unsigned)strtoul(line + strlen(name) + 1, NULL, 10);
	if (file)
		fclose(file);
	return found;
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
	*count = number("NVML_LIES") ? 4000000000u : number("NVML_GPUS");
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = (void *)((uintptr_t)index + 1);
	return number("NVML_LIES") && index > 1 ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
	if (number("NVML_LIES"))
		memset(name, '\033', bytes);
	else
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

/* ---- samples ---- */

#define GPUS_MAX 64u

static unsigned turns[GPUS_MAX]; /* samples of each GPU so far */

static unsigned *turn_of(void *device)
{
	return &turns[index_of(device) % GPUS_MAX];
}

static int is_throttled(void *device)
{
	return *turn_of(device) % 3 == 0;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned bytes)
{
	if (number("NVML_LIES"))
		memset(uuid, 'x', bytes);
	else
		snprintf(uuid, bytes, "GPU-00000000-0000-0000-0000-%012d", (int)index_of(device));
	if (number("NVML_BACKWARDS"))
		snprintf(uuid, bytes, "GPU-73696d75-6c61-7465-642d-6770752d3%u00",
			number("NVML_GPUS") - 1 - (unsigned)index_of(device));
	return 0;
}

struct pci {
	char legacy[16];
	unsigned numbers[5];
	char bus_id[32];
};

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
	memset(pci, 0, sizeof(*pci));
	snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", (int)index_of(device) + 1);
	if (number("NVML_LIES"))
		memset(pci->bus_id, 'x', sizeof(pci->bus_id));
	return 0;
}

/* The first call of a sample. */
int nvmlDeviceGetUtilizationRates(void *device, unsigned *percents)
{
	const unsigned turn = ++*turn_of(device), last = number("NVML_HANGS_AFTER"),
		       crash = number("NVML_CRASHES");
	while (last && turn > last)
		pause();
	if (crash && turn > crash)
		abort();
	percents[0] = number("NVML_LIES") ? 4000000000u : 80 + (unsigned)index_of(device);
	percents[1] = 30;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *bytes)
{
	if (number("NVML_LIES"))
		return 0;
	bytes[0] = 1ull << 36;
	bytes[2] = 1000000000ull + *turn_of(device);
	bytes[1] = bytes[0] - bytes[2];
	return 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
	*mhz = number("NVML_LIES") ? ~0u : type == 2 ? 2619 : is_throttled(device) ? 1290 : 1410;
	return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	*reasons = number("NVML_LIES") ? ~0ull : is_throttled(device) ? 4 : 0;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
	*milliwatts = number("NVML_LIES") ? ~0u : 250000 + (unsigned)index_of(device);
	return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	(void)device;
	(void)sensor;
	if (!number("NVML_LIES"))
		*celsius = 61;
	return 0;
}

struct field {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	int type, error;
	unsigned long long value;
};

/* A sample of the first GPU adds 1,000,000 bytes received by PCIe and 2,000,000 sent, 3,000 KiB
 * received by NVLink and 4,000 sent. */
int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
	for (int i = 0; i < count; i++) {
		const unsigned long long each = fields[i].id == 198 ? 1000000
			: fields[i].id == 197                       ? 2000000
			: fields[i].id == 139                       ? 3000
			: fields[i].id == 138                       ? 4000
								    : 0;
		fields[i].type = number("NVML_LIES") ? 99 : 3;
		fields[i].error = index_of(device) || !each ? NOT_SUPPORTED : 0;
		fields[i].value = each * *turn_of(device);
	}
	return 0;
}

/* In KB/s. */
int nvmlDeviceGetPcieThroughput(void *device, int direction, unsigned *rate)
{
	*rate = number("NVML_LIES") ? ~0u : 500 + 10 * (unsigned)direction;
	return index_of(device) ? 0 : NOT_SUPPORTED;
}
