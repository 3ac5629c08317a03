/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fopenmp
/*
 * openmp_waits.c - two threads of OpenMP that wait for each other at barriers: first the one, then
 * the other has the longer stage.
 */
#include <omp.h>

#include "stages.h"

int main(void)
{
	for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(2)
		{
			if (omp_get_thread_num() == 1)
				third();
			else
				aside();
#pragma omp barrier
			if (omp_get_thread_num() == 0)
				second();
			else
				aside();
		}
		first();
	}
	return 0;
}
