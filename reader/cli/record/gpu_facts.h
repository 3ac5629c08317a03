/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_facts.h - facts of GPUs that affect measurements, for comparisons of runs.
 *
 * They are read from NVIDIA's management library (NVML) after a program that used CUDA has ended.
 */
#ifndef READER_CLI_RECORD_GPU_FACTS_H
#define READER_CLI_RECORD_GPU_FACTS_H

/* Add "gpu_N_name=...", power limit, clocks, ECC, MIG and persistence mode of each GPU to the
 * session's facts in a finished report. Facts that NVML does not report are left out; nothing is
 * added without NVML, or if it does not answer within five seconds. Prints why if the report
 * cannot be changed. NVML runs in a process of its own; the function waits for its end. */
void gpu_facts_add(const char *report);

#endif
