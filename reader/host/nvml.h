/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.h - properties of GPUs from NVIDIA's management library (NVML).
 */
#ifndef READER_HOST_NVML_H
#define READER_HOST_NVML_H

#include <stdbool.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define GPUS_MAX 16u

typedef void *nvml_device;

/* The library, and the functions that find GPUs. */
struct nvml {
	void *library;
	int (*init)(void);
	int (*count)(unsigned *);
	int (*device)(unsigned, nvml_device *);
	int (*name)(nvml_device, char *, unsigned); /* NULL = not exported */
};

/* Load the library `path`; initialize it, which may hang. Return false if that fails. */
bool nvml_load(struct nvml *n, const char *path);
bool nvml_start(const struct nvml *n);

/* Print properties of at most 16 GPUs on stdout, one per line: "gpu_N_name=...", power limit,
 * clocks, ECC, MIG and persistence mode. Leave out those that NVML does not report. Returns 0, or 1
 * if NVML is missing or does not work. */
int nvml_print(void);

#endif
