/* SPDX-License-Identifier: Apache-2.0 */
/*
 * player.c - plays a capture of a real GPU on the simulated device: its calls, by its threads and
 * at its times, with its operations.
 *
 * Usage: player FILE SPEED LEAD_NS REPEAT [BASE_NS]
 *
 * FILE is written by tests/e2e/libreplay.py. Its first lines ("d") are the devices in the order in
 * which their contexts are created, which numbers the contexts; devices without a line follow. Then
 * come calls ("c", and "l" for operations without a call), each followed by its operations ("o");
 * times begin at 0 and are divided by SPEED. Operations are LEAD_NS later than calls, so that none
 * precedes its call on a busy machine.
 * BASE_NS: the time of CLOCK_MONOTONIC that stands for 0, one for all processes of a capture;
 * default: when it has started; 0: likewise, and calls are made at once, to measure what they cost.
 * Prints that time, the length of a repetition, the processor time of the threads that play, all in
 * ns, its pid, its processor time in ns, and the greatest size of its resident memory in KiB.
 */
#include "tests/cuda/did.h"
#include "tests/sim/play.h"

#include <cuda.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS_MAX = 22, THREADS_MAX = 64, DEVICES_MAX = 64, NAME_BYTES = 4096 };

struct did did;

struct entry {
	struct sim_played call;
	uint64_t start_ns, end_ns;
	int thread;
	struct sim_op *ops;
	size_t count;
};

static struct entry *entries;
static size_t entry_count;
static int devices[DEVICES_MAX], device_count; /* in the order of their contexts */
static uint64_t speed, lead_ns, repeats, base_ns, length_ns, used_ns;
static bool at_once;

static void op_fill(struct sim_op *op, const uint64_t *f, const char *name)
{
	switch (op->kind) {
	case SIM_GRAPH:
		break;
	case SIM_KERNEL:
		op->kernel.name = name;
		for (int i = 0; i < 3; i++) {
			op->kernel.grid[i] = (uint32_t)f[i];
			op->kernel.block[i] = (uint32_t)f[3 + i];
		}
		op->kernel.static_shared_bytes = (uint32_t)f[6];
		op->kernel.dynamic_shared_bytes = (uint32_t)f[7];
		op->kernel.registers = (uint32_t)f[8];
		op->kernel.local_bytes_per_thread = (uint32_t)f[9];
		op->kernel.launch_type = (uint8_t)f[10];
		op->kernel.grid_id = (int64_t)f[11];
		break;
	case SIM_COPY:
		op->copy.bytes = f[0];
		op->copy.copy_kind = (uint8_t)f[1];
		op->copy.source_kind = (uint8_t)f[2];
		op->copy.target_kind = (uint8_t)f[3];
		op->copy.async = true;
		break;
	case SIM_PEER_COPY:
		op->copy.bytes = f[0];
		op->copy.copy_kind = (uint8_t)f[1];
		op->copy.source_kind = (uint8_t)f[2];
		op->copy.target_kind = (uint8_t)f[3];
		op->copy.async = true;
		op->copy.source_device = (uint32_t)f[4];
		op->copy.source_context = (uint32_t)f[5];
		op->copy.target_device = (uint32_t)f[6];
		op->copy.target_context = (uint32_t)f[7];
		break;
	case SIM_MEMORY:
		op->memory.operation = (uint8_t)f[0];
		op->memory.memory_kind = (uint8_t)f[1];
		op->memory.address = f[2];
		op->memory.bytes = f[3];
		op->memory.pool_address = f[4];
		op->memory.pool_bytes = f[5];
		op->memory.pool_threshold_bytes = f[6];
		op->memory.pool_used_bytes = f[7];
		break;
	case SIM_SET:
		op->set.bytes = f[0];
		op->set.value = (uint32_t)f[1];
		op->set.memory_kind = (uint8_t)f[2];
		break;
	case SIM_SYNC:
		op->sync.type = (uint32_t)f[0];
		op->sync.event = (uint32_t)f[1];
		break;
	case SIM_EVENT:
		op->event.event = (uint32_t)f[0];
		break;
	case SIM_UNIFIED:
		op->unified.counter = (uint8_t)f[0];
		op->unified.value = f[1];
		op->unified.address = f[2];
		op->unified.source = (uint32_t)f[3];
		op->unified.target = (uint32_t)f[4];
		op->unified.flags = (uint32_t)f[5];
		break;
	default:
		RIGHT(!"kind of an operation");
	}
}

/* Split a line: a word, numbers, and the rest, a name. Return the number of numbers. */
static int line_split(char *line, uint64_t *fields, char **ret_name)
{
	int count = 0;
	char *at = line + 1, *end;

	line[strcspn(line, "\n")] = '\0';
	while (count < FIELDS_MAX) {
		uint64_t value = strtoull(at, &end, 10);
		if (end == at || (*end && *end != ' '))
			break;
		fields[count++] = value;
		at = end;
	}
	*ret_name = *at == ' ' ? at + 1 : at;
	return count;
}

static void *grown(void *array, size_t count, size_t bytes)
{
	void *larger = array;
	if (!(count & (count - 1))) /* a power of two: it is full */
		larger = realloc(array, (count ? 2 * count : 1) * bytes);
	if (!larger)
		exit(3);
	return larger;
}

static void call_add(const char *line, const uint64_t *f, const char *name)
{
	struct entry *e;

	entries = grown(entries, entry_count, sizeof(*entries));
	e = &entries[entry_count++];
	*e = (struct entry){.start_ns = f[0], .end_ns = f[1], .thread = (int)f[2]};
	if (*line == 'c')
		e->call = (struct sim_played){.domain = (enum sim_domain)f[3],
			.cbid = (uint32_t)f[4],
			.result = (uint32_t)f[5],
			.name = strdup(name)};
	if (f[1] > length_ns)
		length_ns = f[1];
}

static void op_add(const uint64_t *f, const char *name)
{
	struct entry *e = &entries[entry_count - 1];
	struct sim_op *op;

	e->ops = grown(e->ops, e->count, sizeof(*e->ops));
	op = &e->ops[e->count++];
	*op = (struct sim_op){.kind = (enum sim_op_kind)f[0],
		.start_ns = f[1],
		.end_ns = f[2],
		.device = (uint32_t)f[3],
		.context = (uint32_t)f[4],
		.stream = (uint32_t)f[5],
		.graph_node = f[6],
		.graph = (uint32_t)f[7]};
	op_fill(op, f + 8, *name ? strdup(name) : "");
	if (f[2] > length_ns)
		length_ns = f[2];
}

static void device_add(int device)
{
	for (int i = 0; i < device_count; i++)
		if (devices[i] == device)
			return;
	RIGHT(device_count < DEVICES_MAX);
	devices[device_count++] = device;
}

static void contexts_create(void)
{
	CUcontext context;
	int count;

	CHECK(cuDeviceGetCount(&count));
	for (int i = 0; i < count; i++)
		device_add(i);
	for (int i = 0; i < device_count; i++)
		CHECK(cuDevicePrimaryCtxRetain(&context, devices[i]));
	CHECK(cuCtxSetCurrent(context));
}

static void file_read(const char *path)
{
	static char line[NAME_BYTES + 512];
	FILE *file = fopen(path, "re");

	if (!file)
		exit(3);
	while (fgets(line, sizeof line, file)) {
		uint64_t fields[FIELDS_MAX] = {0};
		char *name;
		line_split(line, fields, &name);
		if (*line == 'd')
			device_add((int)fields[0]);
		else if (*line != 'o')
			call_add(line, fields, name);
		else if (entry_count)
			op_add(fields, name);
	}
	fclose(file);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	while (clock_ns(CLOCK_MONOTONIC) < ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Play an entry in the repetition that begins at `zero_ns`. */
static void entry_play(const struct entry *e, uint64_t zero_ns)
{
	struct sim_op ops[64];
	struct sim_played call = e->call;
	size_t done = 0;

	if (!at_once) {
		wait_until(zero_ns + e->start_ns / speed);
		call.until_ns = zero_ns + e->end_ns / speed;
	}
	do {
		size_t count = 0;
		for (; done < e->count && count < 64; done++, count++) {
			ops[count] = e->ops[done];
			ops[count].start_ns = zero_ns + lead_ns + ops[count].start_ns / speed;
			ops[count].end_ns = zero_ns + lead_ns + ops[count].end_ns / speed;
		}
		sim_play(e->call.name ? &call : NULL, ops, count);
	} while (done < e->count);
}

static void *thread_play(void *number)
{
	for (uint64_t round = 0; round < repeats; round++)
		for (size_t i = 0; i < entry_count; i++)
			if (entries[i].thread == (int)(intptr_t)number)
				entry_play(&entries[i], base_ns + round * (length_ns / speed));
	__atomic_add_fetch(&used_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	struct rusage usage;
	int highest = 0;

	if (argc < 5 || argc > 6)
		return 2;
	file_read(argv[1]);
	speed = strtoull(argv[2], NULL, 10);
	lead_ns = strtoull(argv[3], NULL, 10);
	repeats = strtoull(argv[4], NULL, 10);
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i].thread > highest)
			highest = entries[i].thread;
	if (!speed || highest >= THREADS_MAX)
		return 2;
	CHECK(cuInit(0));
	contexts_create();
	base_ns = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	at_once = argc > 5 && !base_ns;
	if (!base_ns)
		base_ns = clock_ns(CLOCK_MONOTONIC) + 1000000;
	for (intptr_t i = 0; i <= highest; i++)
		RIGHT(!pthread_create(&threads[i], NULL, thread_play, (void *)i));
	for (int i = 0; i <= highest; i++)
		RIGHT(!pthread_join(threads[i], NULL));
	wait_until(base_ns + repeats * (length_ns / speed) + lead_ns);
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %ld\n", base_ns,
		length_ns / speed, used_ns, (int)getpid(), clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		usage.ru_maxrss);
	return did.wrong;
}
