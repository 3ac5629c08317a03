# SPDX-License-Identifier: Apache-2.0
# needs: valgrind cc
# Valgrind's tools report the errors of the program, and none of the tracer.
cat >t.c <<'X'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int n;
static void *add(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&mutex);
		n++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		usleep(10);
	}
	return unused;
}
int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add, NULL);
	pthread_mutex_lock(&mutex);
	while (n < 20)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return printf("%d\n", n) != 3;
}
X
cc -g -o t t.c -lpthread || exit
for tool in memcheck helgrind drd; do valgrind -q --tool=$tool --error-exitcode=9 ./t; echo $tool $?; done
valgrind -q --error-exitcode=9 sh -c 'ls /proc/self/comm | cat; (exit 5); exit $?'; echo $?
rm t
