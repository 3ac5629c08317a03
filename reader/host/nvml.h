/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.h - facts of GPUs from NVIDIA's management library (NVML).
 */
#ifndef READER_HOST_NVML_H
#define READER_HOST_NVML_H

/* Print facts of at most 16 GPUs on stdout, one a line: "gpu_N_name=...", power limit, clocks, ECC,
 * MIG and persistence mode. Facts that NVML does not report are left out. Returns 0, or 1 if there
 * is no NVML, or it does not work. */
int nvml_print(void);

#endif
