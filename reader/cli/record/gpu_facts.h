/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_facts.h - what may change what GPUs are measured to do: asked of NVIDIA's management library
 * (NVML) when a program that used CUDA has ended, for comparisons of runs.
 */
#ifndef READER_CLI_RECORD_GPU_FACTS_H
#define READER_CLI_RECORD_GPU_FACTS_H

/*
 * Adds "gpu_N_name=...", power limit, clocks, ECC, MIG and persistence mode of each GPU to the
 * session's facts of a finished report. What NVML does not tell is left out; without NVML, or when
 * it does not answer within five seconds, nothing is added. Prints why a report cannot be changed.
 * NVML runs in a process of its own, whose end is waited for.
 */
void gpu_facts_add(const char *report);

#endif
