/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_clock.c - conversion from the driver's clock to the client's.
 */
#include "tests/sim/cupti_sim.h"

#include <pthread.h>
#include <time.h>

struct pair {
	uint64_t driver_ns, client;
};

static CUpti_TimestampCallbackFunc client_clock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pair first, latest;
static uint32_t old_contexts; /* created before the client's clock was registered: the id of the
				 last such context */

static uint64_t default_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t client_now(void)
{
	return client_clock ? client_clock() : default_now();
}

/* Take several pairs and keep the one whose two readings of the driver's clock are closest. */
static struct pair take_pair(uint64_t (*clock)(void))
{
	const struct sim_driver *driver = cupti_driver();
	struct pair best = {0, 0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = driver->now_ns(), client = clock(), after = driver->now_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct pair){before + least / 2, client};
	}
	return best;
}

void cupti_clock_sample(void)
{
	uint64_t now = cupti_driver()->now_ns();
	struct pair pair;

	pthread_mutex_lock(&mutex);
	if (!first.driver_ns) {
		first = latest = take_pair(client_now);
	} else if (now > latest.driver_ns + 10000000) {
		pair = take_pair(client_now);
		latest = pair;
	}
	pthread_mutex_unlock(&mutex);
}

/* Return the ticks of the client's clock in a nanosecond: 1 if it counts nanoseconds, except for
 * its drift. */
static double speed(void)
{
	double ticks = (double)(int64_t)(latest.client - first.client);
	double ns = (double)(latest.driver_ns - first.driver_ns);

	if (ns < 100000)
		return 1;
	return ticks / ns > 0.99 && ticks / ns < 1.01 ? 1 : ticks / ns;
}

uint64_t cupti_time(uint64_t driver_ns)
{
	uint64_t result;

	if (!driver_ns)
		return 0;
	cupti_clock_sample();
	pthread_mutex_lock(&mutex);
	result = latest.client +
		(uint64_t)(int64_t)((double)(int64_t)(driver_ns - latest.driver_ns) * speed());
	pthread_mutex_unlock(&mutex);
	return result;
}

uint64_t cupti_time_in(uint32_t context, uint64_t driver_ns)
{
	struct pair pair;

	if (!driver_ns || !client_clock || !context || context > old_contexts)
		return cupti_time(driver_ns);
	pair = take_pair(default_now);
	return pair.client - (pair.driver_ns - driver_ns);
}

CUPTI_EXPORT cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	const struct sim_driver *driver = cupti_driver();

	CUPTI_MAY_FAIL();
	if (!clock)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	if (driver->option(SIM_OPTION_timestamp_fails))
		return (CUptiResult)driver->option(SIM_OPTION_timestamp_fails);
	if (client_clock)
		driver->violation("timestamp callback registered more than once");
	if (driver->contexts_made())
		driver->violation("timestamp callback registered after a context was created");
	old_contexts = driver->contexts_made();
	client_clock = clock;
	pthread_mutex_lock(&mutex);
	first = latest = take_pair(client_now);
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetTimestamp(uint64_t *ret_time)
{
	CUPTI_MAY_FAIL();
	if (!ret_time)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_time = client_now();
	return CUPTI_SUCCESS;
}
