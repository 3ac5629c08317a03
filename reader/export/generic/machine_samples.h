/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_samples.h - samples of GPUs and network interfaces as tables of nsys: GPU_METRICS and
 * NET_NIC_METRIC, and those that name their metrics and devices.
 *
 * The metrics have names of their own: what NVML reports is coarser than NVIDIA's metrics of the
 * same kind. As in nsys, the lowest byte of a typeId is the number of the GPU, here that of NVML,
 * and rates of interfaces are per millisecond. One thread; allocates.
 */
#ifndef READER_EXPORT_GENERIC_MACHINE_SAMPLES_H
#define READER_EXPORT_GENERIC_MACHINE_SAMPLES_H

struct sqlite_export;

/* Write the tables, if there are samples. The tables of events must be complete. Returns 0 or a
 * negative errno. */
int machine_samples_write(struct sqlite_export *x);

#endif
