/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metrics.h - hardware metrics of GPU chips, by the host part of CUPTI's profiler, which needs
 * neither a GPU nor a driver.
 */
#ifndef READER_HOST_GPU_METRICS_H
#define READER_HOST_GPU_METRICS_H

#include <stdbool.h>

/* What is asked. */
struct gpu_metrics_question {
	const char *chip;    /* NULL = which chips are known */
	const char *metrics; /* names, separated by commas; NULL = all metrics of the chip */
	bool sampled;        /* as samples of the device, not by kernel */
};

/* Load the library `path`, and print "chip=NAME" for each chip that it knows; or "metric=NAME",
 * type, unit, hardware unit and description, separated by tabs, for each metric of the chip; or for
 * the named metrics "unknown=NAME" for each that the chip lacks, else "passes=N" and
 * "image_bytes=N". Print "error=N NAME", a CUptiResult, if it refuses. Return false if the library
 * lacks these functions, which are those of CUDA 12.6. */
bool gpu_metrics_print(const char *path, const struct gpu_metrics_question *question);

#endif
