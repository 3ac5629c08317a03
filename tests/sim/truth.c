/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.c - writes the log of the simulated device.
 */
#include "tests/sim/truth.h"
#include "tests/sim/call.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *file;
static pid_t owner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Return the log of this process, or NULL if no log is wanted. A forked child gets a log of its own
 * if the name contains %p. Called with `mutex` held. */
static FILE *log_file(void)
{
	const char *pattern = getenv("SIM_LOG");
	const char *mark;
	char path[4096];

	if (!pattern || owner == getpid())
		return file;
	owner = getpid();
	mark = strstr(pattern, "%p");
	if (mark)
		snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - pattern), pattern, (int)owner,
			mark + 2);
	else
		snprintf(path, sizeof path, "%s", pattern);
	file = fopen(path, "ae");
	if (file)
		setvbuf(file, NULL, _IOLBF,
			0); /* however the process ends, whole lines are in the file */
	else
		fprintf(stderr, "simulated device: cannot write '%s'\n", path);
	return file;
}

/* Lock `mutex` and return the log; `mutex` stays locked until log_end(). Return NULL, with `mutex`
 * unlocked, if there is no log. */
static FILE *log_begin(void)
{
	FILE *out;

	if (!getenv("SIM_LOG"))
		return NULL;
	pthread_mutex_lock(&mutex);
	out = log_file();
	if (!out)
		pthread_mutex_unlock(&mutex);
	return out;
}

static void log_end(void)
{
	pthread_mutex_unlock(&mutex);
}

/* Write a text as JSON: names of kernels may contain quotes and backslashes, which are escaped. */
static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":\"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc((unsigned char)*text < ' ' ? ' ' : *text, out);
	}
	putc('"', out);
}

void truth_call(const struct sim_call *call)
{
	FILE *out = log_begin();

	if (!out)
		return;
	fprintf(out,
		"{\"type\":\"api\",\"domain\":\"%s\",\"name\":\"%s\",\"cbid\":%u,"
		"\"correlation\":%u,"
		"\"nested\":%s,\"start\":%" PRIu64 ",\"end\":%" PRIu64
		",\"result\":%u,\"tid\":%d}\n",
		call->domain == SIM_DRIVER_API ? "driver" : "runtime", call->name, call->cbid,
		call->correlation, call->outer ? "true" : "false", call->start_ns, call->end_ns,
		call->result, (int)gettid());
	log_end();
}

static void put_kernel(FILE *out, const struct sim_op *op)
{
	put_text(out, "name", op->kernel.name);
	fprintf(out,
		",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"cluster\":[%u,%u,%u],\"static_"
		"shared\":%u,"
		"\"dynamic_shared\":%u,\"registers\":%u,\"launch_type\":%u,\"grid_id\":%" PRId64,
		op->kernel.grid[0], op->kernel.grid[1], op->kernel.grid[2], op->kernel.block[0],
		op->kernel.block[1], op->kernel.block[2], op->kernel.cluster[0],
		op->kernel.cluster[1], op->kernel.cluster[2], op->kernel.static_shared_bytes,
		op->kernel.dynamic_shared_bytes, op->kernel.registers, op->kernel.launch_type,
		op->kernel.grid_id);
}

static void put_memory(FILE *out, const struct sim_op *op)
{
	fprintf(out,
		",\"operation\":%u,\"memory_kind\":%u,\"address\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"async\":%s,\"pool\":%" PRIu64 ",\"pool_held\":%" PRIu64
		",\"pool_used\":%" PRIu64 ",\"used\":%" PRIu64,
		op->memory.operation, op->memory.memory_kind, op->memory.address, op->memory.bytes,
		op->memory.async ? "true" : "false", op->memory.pool_address, op->memory.pool_bytes,
		op->memory.pool_used_bytes, op->memory.used_bytes);
}

static void put_copy(FILE *out, const struct sim_op *op)
{
	fprintf(out,
		",\"bytes\":%" PRIu64
		",\"copy_kind\":%u,\"source_kind\":%u,\"target_kind\":%u,\"async\":%s",
		op->copy.bytes, op->copy.copy_kind, op->copy.source_kind, op->copy.target_kind,
		op->copy.async ? "true" : "false");
	if (op->kind == SIM_PEER_COPY)
		fprintf(out, ",\"source_device\":%u,\"target_device\":%u", op->copy.source_device,
			op->copy.target_device);
}

static void put_facts(FILE *out, const struct sim_op *op)
{
	switch (op->kind) {
	case SIM_KERNEL:
		put_kernel(out, op);
		break;
	case SIM_COPY:
	case SIM_PEER_COPY:
		put_copy(out, op);
		break;
	case SIM_SET:
		fprintf(out, ",\"bytes\":%" PRIu64 ",\"value\":%u,\"memory_kind\":%u,\"async\":%s",
			op->set.bytes, op->set.value, op->set.memory_kind,
			op->set.async ? "true" : "false");
		break;
	case SIM_SYNC:
		fprintf(out, ",\"sync_type\":%u,\"event\":%u", op->sync.type, op->sync.event);
		break;
	case SIM_EVENT:
		fprintf(out, ",\"event\":%u", op->event.event);
		break;
	case SIM_UNIFIED:
		fprintf(out,
			",\"counter\":%u,\"value\":%" PRIu64 ",\"address\":%" PRIu64
			",\"flags\":%u",
			op->unified.counter, op->unified.value, op->unified.address,
			op->unified.flags);
		break;
	case SIM_MEMORY:
		put_memory(out, op);
		break;
	case SIM_POOL:
		fprintf(out, ",\"operation\":%u,\"address\":%" PRIu64 ",\"bytes\":%" PRIu64,
			op->pool.operation, op->pool.address, op->pool.bytes);
		break;
	case SIM_OVERHEAD:
		fprintf(out, ",\"overhead_kind\":%u", op->overhead.kind);
		break;
	default:
		break;
	}
}

void truth_op(const struct sim_op *op)
{
	static const char *const types[SIM_OP_KIND_COUNT] = {"kernel", "memcpy", "memcpy_peer",
		"memset", "synchronization", "event", "graph", "unified_memory", "memory",
		"memory_pool", "overhead", "jit"};
	FILE *out = log_begin();

	if (!out)
		return;
	fprintf(out,
		"{\"type\":\"%s\",\"start\":%" PRIu64 ",\"end\":%" PRIu64
		",\"device\":%u,\"context\":%u,"
		"\"stream\":%u,\"correlation\":%u,\"graph\":%u,\"graph_node\":%" PRIu64,
		types[op->kind], op->start_ns, op->end_ns, op->device, op->context, op->stream,
		op->correlation, op->graph, op->graph_node);
	put_facts(out, op);
	fputs("}\n", out);
	log_end();
}

void truth_resource(const struct sim_resource *resource)
{
	FILE *out = log_begin();

	if (!out)
		return;
	fprintf(out,
		"{\"type\":\"resource\",\"cbid\":%u,\"context\":%u,\"device\":%u,"
		"\"stream\":%u,"
		"\"module\":%u,\"cubin_bytes\":%zu,\"correlation\":%u}\n",
		resource->cbid, resource->context_id, resource->device_id, resource->stream_id,
		resource->module_id, resource->cubin_bytes, resource->correlation);
	log_end();
}

void truth_violation(const char *rule)
{
	FILE *out = log_begin();

	if (!out)
		return;
	fputs("{\"type\":\"violation\"", out);
	put_text(out, "rule", rule);
	fputs("}\n", out);
	log_end();
}
