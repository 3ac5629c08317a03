// SPDX-License-Identifier: Apache-2.0
// LINK: -ldl -rdynamic
/*
 * nccl_loader.c - a stand-in for NCCL: it looks for a profiler plug-in as NCCL does, takes the
 * newest version up to the one given, and reports two all-reduces and a message in the order that
 * NCCL documents: a collective ends when it is enqueued, its network operations and kernels follow,
 * on the proxy's thread. Prints what the plug-in asked for.
 *
 *   nccl_loader VERSION [kill|communicators|open]
 *     communicators  there are many, with one mask
 *     open           many messages are open at once
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/nccl/plugin_abi.h"

#define FOREIGN ((void *)5) /* a handle of this process, too: the second event */
#define MANY 33000          /* more events, or communicators, than libtrace has room for */

static const struct nccl_plugin *plugin;
static void *context, *reduces[2];
static int mask, version;

static void *plugin_open(void)
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN");
	char path[256];
	const int is_static = name && !strcmp(name, "STATIC_PLUGIN");
	const char *wanted = name && *name ? name : "libnccl-profiler.so";
	void *library = dlopen(is_static ? NULL : wanted, RTLD_NOW | RTLD_LOCAL);
	if (library || !name)
		return library;
	snprintf(path, sizeof(path), "libnccl-profiler-%s.so", name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *begin(int kind, void *parent, struct nccl_event *event)
{
	void *handle = NULL;
	event->type = 1u << kind;
	if (version <= 4)
		event->type |= (uint64_t)0xabcdef << 8; /* not of the structure */
	event->parent = parent;
	event->rank = 1;
	if (mask & 1 << kind && plugin->start(context, &handle, event))
		puts("start failed");
	if (event->parent != parent)
		puts("the parent was changed");
	return handle;
}

static void end(void *handle)
{
	if (handle && plugin->stop(handle))
		puts("stop failed");
}

static void step(void *parent, int number)
{
	struct nccl_event event = {.step = {number}};
	size_t bytes = 65536;
	void *handle = begin(NCCL_PROXY_STEP, parent, &event);
	if (handle)
		plugin->state(handle, 9, &bytes);
	end(handle);
}

static void *proxy(void *unused)
{
	for (int i = 0; i < 2; i++) {
		struct nccl_event send = {.proxy = {(int)getpid(), 3, 2, 2, 131072, 1}};
		struct nccl_event receive = {.proxy = {(int)getpid() + 1, 4, 0, 1, 4096, 0}};
		struct nccl_event kernel = {.kernel = {5, 1000 + (uint64_t)i}};
		uint64_t timer = 5000 + (uint64_t)i;
		void *running =
			version < 3 ? NULL : begin(NCCL_KERNEL_CHANNEL, reduces[i], &kernel);
		void *operation = begin(NCCL_PROXY_OP, reduces[i], &send);
		void *foreign = begin(NCCL_PROXY_OP, FOREIGN, &receive);
		step(operation, 0);
		step(operation, 1);
		end(foreign);
		end(operation);
		if (running && version > 3)
			plugin->state(running, NCCL_STATE_KERNEL_STOP, &timer);
		end(running);
	}
	return unused;
}

static int init(void)
{
	return version < 4     ? plugin->init_1(&context, &mask)
		: version == 4 ? plugin->init_4(&context, &mask, "world", 0xabcd, 1, 4, 1, NULL)
			       : plugin->init_5(&context, 0xabcd, &mask, "world", 1, 4, 1, NULL);
}

static void communicators(void)
{
	void *const first = context;
	int wanted = mask;
	for (int i = 1; i < MANY / 10 && wanted; i++)
		wanted = init() ? 0 : wanted & mask;
	puts(wanted && wanted == mask ? "one mask" : "the mask was changed");
	context = first;
}

static void messages(void)
{
	static void *open[MANY];
	for (int i = 0; i < MANY; i++)
		open[i] = begin(NCCL_P2P, NULL,
			&(struct nccl_event){.p2p = {"Send", NULL, "ncclInt8", 1, 3, 2, NULL}});
	for (int i = 0; i < MANY; i++)
		end(open[i]);
}

/* Report what report() does, in the layouts of versions 1 to 3. */
static void report_old(void *whole)
{
	struct nccl_event_old e = {.comm_name = "world", .comm = 0xabcd}, message = e;
	for (uint64_t i = 0; i < 2; i++) {
		const char *algorithm = i ? "TREE" : "RING";
		memset(&e.coll_1, 0xff, sizeof(e.coll_1));
		e.coll_3.sequence = 7 + i;
		e.coll_3.function = "AllReduce";
		e.coll_3.count = 1 << 20;
		e.coll_3.root = 0;
		e.coll_3.type = "ncclFloat32";
		e.coll_3.channels = 4;
		e.coll_3.algorithm = algorithm;
		e.coll_3.protocol = "SIMPLE";
		if (version == 2) {
			e.coll_2.traffic_bytes = 1 << 22;
			e.coll_2.channels = 4;
			e.coll_2.algorithm = algorithm;
			e.coll_2.protocol = "SIMPLE";
		} else if (version == 1) { /* numbers of NCCL 2.23 */
			e.coll_1.function = 4;
			e.coll_1.type = 7;
			e.coll_1.channels = 4;
			e.coll_1.algorithm = !i;
			e.coll_1.protocol = 2;
		}
		reduces[i] = begin(NCCL_COLL, whole, (struct nccl_event *)(void *)&e);
		end(reduces[i]);
	}
	message.p2p_2.count = 4096;
	message.p2p_2.peer = 3;
	message.p2p_2.function = "Send";
	message.p2p_2.type = "ncclInt8";
	if (version == 1) {
		message.p2p_1.function = 6;
		message.p2p_1.type = 0;
	}
	end(begin(NCCL_P2P, whole, (struct nccl_event *)(void *)&message));
}

static void report_new(void *whole)
{
	for (uint64_t i = 0; i < 2; i++) {
		struct nccl_event reduce = {
			.coll = {7 + i, "AllReduce", NULL, NULL, 1 << 20, 0, "ncclFloat32", 4, 8,
				i ? "TREE" : "RING", "SIMPLE", version < 5 ? NULL : whole}};
		reduces[i] = begin(NCCL_COLL, version < 5 ? whole : NULL, &reduce);
		end(reduces[i]);
	}
	struct nccl_event message = {
		.p2p = {"Send", NULL, "ncclInt8", 4096, 3, 2, version < 5 ? NULL : whole}};
	end(begin(NCCL_P2P, version < 5 ? whole : NULL, &message));
}

static void report(void)
{
	struct nccl_event group = {.parent = NULL};
	void *whole = begin(NCCL_GROUP, NULL, &group);
	pthread_t thread;
	if (version < NCCL_VERSION_NEW)
		report_old(whole);
	else
		report_new(whole);
	end(whole);
	pthread_create(&thread, NULL, proxy, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	void *library = NULL;
	char name[] = "ncclProfiler_v0";
	version = argc > 1 ? atoi(argv[1]) : 5;
	library = plugin_open();
	for (; library && !plugin && version >= NCCL_VERSION_FIRST; version -= !plugin) {
		name[sizeof(name) - 2] = (char)('0' + version);
		plugin = dlsym(library, name);
	}
	if (!plugin || init()) {
		puts("no profiler");
		return 0;
	}
	printf("version %d mask 0x%x\n", version, (unsigned)mask);
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "communicators"))
		communicators();
	report();
	if (argc > 2 && !strcmp(argv[2], "open"))
		messages();
	if (argc > 2 && !strcmp(argv[2], "kill"))
		raise(SIGKILL);
	plugin->finalize(context);
	puts("done");
	return 0;
}
