/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.h - properties of GPUs from NVIDIA's management library (NVML).
 */
#ifndef READER_HOST_NVML_H
#define READER_HOST_NVML_H

/* Print properties of at most 16 GPUs on stdout, one per line: "gpu_N_name=...", power limit,
 * clocks, ECC, MIG and persistence mode. Leave out those that NVML does not report. Returns 0, or 1
 * if NVML is missing or does not work. */
int nvml_print(void);

#endif
