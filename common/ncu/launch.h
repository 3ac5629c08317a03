/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - a kernel launch as a standard entry of a report, in the form of Nsight Compute.
 *
 * It is built from the columns of a CUDA_KERNEL row and of the CUDA_DEVICE row of its device
 * (cuda.def). Both are arrays indexed by column number; that of the device has the attributes of
 * LAUNCH_ATTRIBUTES after its columns. Metrics have Nsight Compute's names: launch__*,
 * device__attribute_*. Nothing allocates; the caller owns texts and columns, which must outlive the
 * entry. One thread for each object.
 */
#ifndef COMMON_NCU_LAUNCH_H
#define COMMON_NCU_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/schema/cuda_columns.h"
#include "ncu.pb-c.h"

/* Length of the array of a row's columns. */
#define LAUNCH_COLUMNS (CUDA_COLUMNS_MAX + 1)

/* Attributes that CUPTI reports separately from the row of the device: index after its columns,
 * name, and CUdevice_attribute. A value of 0 = not reported. */
#define LAUNCH_ATTRIBUTES(ATTRIBUTE)                          \
	ATTRIBUTE(MEMORY_CLOCK_RATE, "memory_clock_rate", 36) \
	ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH, "global_memory_bus_width", 37)
#define LAUNCH_ATTRIBUTE_INDEX(name, text, number) LAUNCH_ATTRIBUTE_##name,
enum {
	LAUNCH_ATTRIBUTE_FIRST = LAUNCH_COLUMNS - 1,
	LAUNCH_ATTRIBUTES(LAUNCH_ATTRIBUTE_INDEX) LAUNCH_DEVICE_COLUMNS
};

/* Metrics of a result, attributes of a device, at most. */
#define LAUNCH_METRICS_MAX 128u
#define LAUNCH_ATTRIBUTES_MAX 32u

/* Metrics on the details page, at most. */
#define LAUNCH_SHOWN_MAX 8u

/* The names of the metrics by number: the complete string table of a report. */
extern const char *const launch_metric_names[];
extern const uint32_t launch_metric_count;

struct launch_facts {
	const uint64_t *kernel, *device; /* device NULL = not known */
	const char *device_name;
	uint64_t duration_ns;
	uint32_t tid;                               /* thread of the call; 0 = not known */
	uint64_t source;                            /* reference of its module; 0 = none */
	uint64_t kernel_id;                         /* equal for all launches of a function */
	const char *mangled, *function, *demangled; /* "" = not known, or nothing to demangle */
};

struct launch_entry {
	Ncu__ProfileResult result;
	Ncu__SourceData source;
	Ncu__Uint64x3 offset, grid, block;
	Ncu__ProfileMetricResult metrics[LAUNCH_METRICS_MAX], *list[LAUNCH_METRICS_MAX];
	Ncu__ProfileMetricValue values[LAUNCH_METRICS_MAX];
	Ncu__ProfilerSection section, *sections;
	Ncu__ProfilerSectionHeader header;
	Ncu__ProfilerSectionMetric shown[LAUNCH_SHOWN_MAX], *shown_list[LAUNCH_SHOWN_MAX];
};

struct launch_device {
	Ncu__DeviceAttributes message;
	Ncu__DeviceAttribute attributes[LAUNCH_ATTRIBUTES_MAX], *list[LAUNCH_ATTRIBUTES_MAX];
	Ncu__ProfileMetricValue values[LAUNCH_ATTRIBUTES_MAX];
};

/* Fill entry->result. The caller adds NVTX state and callchain. */
void launch_entry_fill(struct launch_entry *entry, const struct launch_facts *facts);

/* Add a metric that is not among launch_metric_names. Return false if the entry has no room. */
bool launch_metric_add(struct launch_entry *entry, uint32_t name_id, double value);

/* Store the value of a CUDA_DEVICE_ATTRIBUTE row in the LAUNCH_DEVICE_COLUMNS columns of its
 * device, if results have that attribute. */
void launch_attribute_note(uint64_t *device, uint64_t attribute, uint64_t value);

/* Fill device->message, for the details of a session. */
void launch_device_fill(struct launch_device *device, const uint64_t *columns, const char *name);

#endif
