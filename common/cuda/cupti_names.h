/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.h - names and folders of CUPTI, which the tracer and `trace doctor` try in order.
 */
#ifndef COMMON_CUPTI_NAMES_H
#define COMMON_CUPTI_NAMES_H

/* File names of the library, newest first: the newest supports older drivers, and returns an error
 * for a driver that is too old for it. */
#define CUPTI_NAMES                                                                             \
	"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",             \
		"libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3", \
		"libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"

/* Folders that do not depend on the program; the first is the loader's search path. */
#define CUPTI_FOLDERS "", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"

#endif
