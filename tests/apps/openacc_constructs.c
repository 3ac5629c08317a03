// SPDX-License-Identifier: Apache-2.0
// CC: gcc
// CFLAGS: -fopenacc -std=gnu11
// NEEDS: openacc
/*
 * openacc_constructs.c - constructs of OpenACC, as many times as the test expects, on the host. Run
 * as `openacc_constructs fork`, `... threads`, `... kill`.
 */
#include <openacc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS 1000

static float constructs(void)
{
	float a[ITEMS], b[ITEMS];
	for (int i = 0; i < ITEMS; i++)
		a[i] = (float)i;
#pragma acc data copyin(a) copyout(b)
	{
#pragma acc parallel loop
		for (int i = 0; i < ITEMS; i++)
			b[i] = 2 * a[i];
#pragma acc update host(b)
	}
#pragma acc enter data copyin(a)
#pragma acc kernels
	for (int i = 0; i < ITEMS; i++)
		a[i] += 1;
#pragma acc wait
#pragma acc exit data delete (a)
	return a[10] + b[10];
}

static void *thread_run(void *sum)
{
	*(float *)sum = constructs();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	float sum = constructs();
	if (!strcmp(how, "threads")) {
		pthread_t threads[3];
		float sums[3];
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, thread_run, &sums[i]);
		for (int i = 0; i < 3; i++) {
			pthread_join(threads[i], NULL);
			sum += sums[i];
		}
	}
	if (!strcmp(how, "fork")) {
		pid_t child = fork();
		if (!child)
			_exit(constructs() != sum);
		int status = 1;
		waitpid(child, &status, 0);
		if (status)
			return 1;
	}
	printf("%g on %s\n", sum, acc_get_device_type() == acc_device_host ? "host" : "a device");
	fflush(stdout);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	return 0;
}
