/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan_pipelines.h - nsys's tables of the creation of Vulkan's pipelines: a row for each
 * pipeline, with the row of the call in VULKAN_API, and for each stage of which the driver gave a
 * time.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_GENERIC_VULKAN_PIPELINES_H
#define READER_EXPORT_GENERIC_VULKAN_PIPELINES_H

struct sqlite_export;

/* Write the tables, if a pipeline was created; VULKAN_API must be complete. Returns 0 or a negative
 * errno. */
int vulkan_pipelines_write(struct sqlite_export *x);

#endif
