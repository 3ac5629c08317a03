/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.h - where the tracer looks for CUPTI, for the tracer and for `trace doctor`.
 */
#ifndef COMMON_CUPTI_NAMES_H
#define COMMON_CUPTI_NAMES_H

/* Names of the library. Newest first: it supports all older drivers, and reports a driver that is
 * older than it can use. */
#define CUPTI_NAMES                                                                             \
	"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",             \
		"libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3", \
		"libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"

/* Folders that do not depend on the program; the first is the loader's search path. */
#define CUPTI_FOLDERS "", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"

#endif
