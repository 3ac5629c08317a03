/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_host.c - samples of the CPUs of the machine, and of network interfaces.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/machine/time.h"
#include "reader/host/nics.h"
#include "reader/host/sample.h"

/* Order of the values of a record: the fields of HOST_SAMPLE from BUSY on. */
enum { V_BUSY, V_CLOCK, V_CLOCK_LEAST, V_RUNNABLE, V_LOAD };

#define CPUS_MAX 4096u
#define CPUS_A_TURN 16u   /* a clock takes a few us to read */
#define CPUINFO_TURNS 10u /* turns between readings of /proc/cpuinfo, which is long */
#define CPUINFO_BYTES (1u << 20)
#define CLOCK_MHZ_MOST 100000u
#define RUNNABLE_MOST (1u << 24)

struct cpus {
	const char *root;
	struct machine_time time; /* of the turn before; all zero = none */
	uint32_t count;
	uint32_t mhz[CPUS_MAX]; /* clock as last read; 0 = not known */
	uint32_t next;          /* CPU whose clock is read next */
	uint32_t turn;
	bool has_cpufreq;
};

/* ---- time ---- */

static void time_sample(struct cpus *c, struct machine_record *r)
{
	struct machine_time now, before = c->time;
	char path[256], text[512];
	snprintf(path, sizeof(path), "%s/proc/stat", c->root);
	c->time = (struct machine_time){0};
	if (!sample_read(path, text, sizeof(text)) ||
		!machine_time_parse(text, (uint64_t)sysconf(_SC_CLK_TCK), &now))
		return;
	c->time = now;
	uint64_t busy = now.busy_ns - before.busy_ns, idle = now.idle_ns - before.idle_ns;
	if (before.idle_ns && now.busy_ns >= before.busy_ns && now.idle_ns >= before.idle_ns &&
		busy + idle && busy < UINT64_MAX / 1000)
		sample_set(r, V_BUSY, busy * 1000 / (busy + idle), 1000);
}

/* Read "0.20 0.18 0.12 1/80 11206": averages of 1, 5 and 15 minutes, runnable threads and all. */
static void load_sample(const struct cpus *c, struct machine_record *r)
{
	char path[256], text[128];
	unsigned whole, hundredths, runnable;
	snprintf(path, sizeof(path), "%s/proc/loadavg", c->root);
	if (!sample_read(path, text, sizeof(text)) ||
		sscanf(text, "%u.%2u %*s %*s %u/", &whole, &hundredths, &runnable) != 3)
		return;
	sample_set(r, V_LOAD, (uint64_t)whole * 100 + hundredths, RUNNABLE_MOST);
	sample_set(r, V_RUNNABLE, runnable, RUNNABLE_MOST);
}

/* ---- clocks ---- */

/* Read the clocks of some CPUs, in turns. */
static void cpufreq_read(struct cpus *c)
{
	for (uint32_t i = 0; i < CPUS_A_TURN && i < c->count; i++) {
		uint64_t khz;
		char path[256];
		snprintf(path, sizeof(path),
			"%s/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", c->root,
			c->next);
		bool is_known = sample_read_number(path, &khz) && khz / 1000 <= CLOCK_MHZ_MOST;
		c->has_cpufreq |= is_known;
		if (c->has_cpufreq)
			c->mhz[c->next] = is_known ? (uint32_t)(khz / 1000) : 0;
		c->next = (c->next + 1) % c->count;
	}
}

/* Read the clocks as virtual machines show them, where there is no cpufreq. */
static void cpuinfo_read(struct cpus *c)
{
	static char text[CPUINFO_BYTES];
	char path[256];
	uint32_t cpu = 0;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", c->root);
	if (!sample_read(path, text, sizeof(text)))
		return;
	for (const char *at = text; cpu < CPUS_MAX && (at = strstr(at, "\ncpu MHz"));) {
		const char *colon = strchr(++at, ':');
		double mhz = colon ? strtod(colon + 1, NULL) : 0;
		c->mhz[cpu++] = mhz > 0 && mhz <= CLOCK_MHZ_MOST ? (uint32_t)mhz : 0;
	}
}

static void clocks_sample(struct cpus *c, struct machine_record *r)
{
	uint64_t sum = 0, known = 0, least = UINT64_MAX;
	cpufreq_read(c);
	if (!c->has_cpufreq && c->turn % CPUINFO_TURNS == 0)
		cpuinfo_read(c);
	for (uint32_t i = 0; i < CPUS_MAX; i++) {
		if (!c->mhz[i])
			continue;
		sum += c->mhz[i];
		known++;
		least = c->mhz[i] < least ? c->mhz[i] : least;
	}
	if (!known)
		return;
	sample_set(r, V_CLOCK, sum / known, CLOCK_MHZ_MOST);
	sample_set(r, V_CLOCK_LEAST, least, CLOCK_MHZ_MOST);
}

void sample_host(const struct sample_source *source)
{
	static struct cpus cpus;
	static struct nics nics;
	long count = sysconf(_SC_NPROCESSORS_CONF);
	cpus.root = source->root;
	cpus.count = count < 1 ? 1 : count > (long)CPUS_MAX ? CPUS_MAX : (uint32_t)count;
	nics_open(&nics, source->root, "/sys/class/net");
	for (;; cpus.turn++) {
		struct machine_record r = {.kind = MACHINE_HOST_SAMPLE};
		time_sample(&cpus, &r);
		load_sample(&cpus, &r);
		clocks_sample(&cpus, &r);
		r.ns = sample_now_ns();
		if (r.reported)
			sample_put(&r);
		nics_sample(&nics);
		sample_wait();
	}
}

void sample_infiniband(const struct sample_source *source)
{
	static struct nics nics;
	nics_open(&nics, source->root, "/sys/class/infiniband");
	while (nics_sample(&nics))
		sample_wait();
}
