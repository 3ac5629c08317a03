/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fopenmp
/*
 * openmp_gomp.c - openmp_regions.c by gcc, which calls GNU's libgomp; tests/e2e/openmp_gomp.py
 * counts the events.
 */
#include "tests/apps/openmp_regions.c" // NOLINT(bugprone-suspicious-include)
