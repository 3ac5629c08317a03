/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - samples of the machine (GPUs, network interfaces, CPUs) as rows of a process.
 *
 * libtrace-host takes them, in three processes: NVML and files of /sys may hang, and this program,
 * which is linked statically, must not load libraries. They are started when a process of the tree
 * uses CUDA and NVML can be loaded (LIBTRACE_MACHINE_SAMPLES), and killed after the report is
 * complete. The writer reads what they have written, without waiting. Samples that arrive while no
 * process of the tree lives wait for the next one, as far as there is room; a line of the report
 * counts those that were dropped. Memory: 256 records. One thread.
 */
#ifndef WRITER_MACHINE_SAMPLES_H
#define WRITER_MACHINE_SAMPLES_H

struct writer;

/* Start sampling if it is due, and add the rows of the samples that have arrived, once a second.
 * Does not block. Return 0, or a negative errno if the block is full and cannot be written. */
int samples_look(struct writer *w);

/* Add the rows of all samples that have arrived: a process is about to end, or has. Return as
 * above. */
int samples_flush(struct writer *w);

#endif
