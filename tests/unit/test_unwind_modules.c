/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_modules.c - checks that the map of modules follows dlopen and dlclose, and that a
 * plugin that replaces another one at the same address is walked by its own tables.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "tests/unit/unwind_oracle.h"
#include "unwind/modules.h"

static char folder[] = "/tmp/libtrace-modules-XXXXXX";
static struct callchain_thread memory;
static uint32_t loaded, unloaded;
static uint32_t held;          /* 1 while this thread holds the loader's lock */
static uint32_t reported_held; /* notifications while it holds the lock */
static char last_path[MODULE_PATH_BYTES];

static bool on_loaded(void *arg, const struct module *module)
{
	(void)arg;
	loaded++;
	reported_held += held;
	strcpy(last_path, module->path);
	return true;
}

static void on_unloaded(void *arg, const struct module *module)
{
	(void)arg;
	(void)module;
	unloaded++;
	reported_held += held;
}

static int iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	held++;
	int result = dl_iterate_phdr(callback, arg);
	held--;
	return result;
}

/* Plugins with the same instructions except for the size of the frame: a rule that is cached for a
 * return address in one is wrong in the other. */
static bool build(const char *name, int bytes)
{
	char command[512];
	snprintf(command, sizeof(command),
		"cd %s && printf 'int f(int (*leaf)(void)) { volatile char room[%d]; room[0] = 1; "
		"return leaf() + room[0]; }' >%s.c && ${CC:-cc} -O1 -fPIC -shared -o %s.so %s.c",
		folder, bytes, name, name, name);
	return system(command) == 0;
}

static struct oracle_chain expected, found;
static struct callchain_result result;

static __attribute__((noinline)) int leaf(void)
{
	uint32_t id = callchain_take(&memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	oracle.flush_cache(*oracle.address_space, 0, 0);
	oracle_step(&expected);
	oracle_nodes(id, &found);
	return 0;
}

static void *plugin_open(const char *name, int (**ret_function)(int (*)(void)))
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	void *handle = dlopen(path, RTLD_NOW);
	*(void **)ret_function = handle ? dlsym(handle, "f") : NULL;
	return handle;
}

static void plugins_replace_each_other(void)
{
	static const char *const names[] = {"la", "lb"};
	uint64_t addresses[2] = {0, 0};
	uint32_t wrong = 0;
	for (int i = 0; i < 20; i++) {
		int (*function)(int (*)(void));
		void *handle = plugin_open(names[i & 1], &function);
		if (!handle)
			break;
		modules_refresh();
		function(leaf);
		wrong += !oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) || found.count < 4;
		function(leaf);
		wrong += !oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) || found.count < 4;
		addresses[i & 1] = (uint64_t)(uintptr_t)function;
		dlclose(handle);
		modules_refresh();
	}
	check(addresses[0] && addresses[0] == addresses[1],
		"two plugins are loaded at one address");
	check(wrong == 0, "each plugin is walked by its own tables: %u of 40 differ", wrong);
}

static void loads_and_unloads_are_reported(void)
{
	int (*function)(int (*)(void));
	uint32_t before = loaded, gone = unloaded, generation = modules_generation();
	modules_refresh();
	check(modules_generation() == generation, "the generation stays the same without a change");
	modules_forked();
	modules_refresh();
	check(loaded == 2 * before && unloaded == gone,
		"all modules are reported again after a fork");
	before = loaded;
	void *handle = plugin_open("la", &function);
	modules_refresh();
	check(loaded == before + 1 && strstr(last_path, "/la.so") && unloaded == gone,
		"a loaded module is reported once: %s", last_path);
	struct cfi_object object;
	check(modules_find((uint64_t)(uintptr_t)function, &object) && object.frame_header,
		"a loaded module is found by address, with its tables");
	dlclose(handle);
	modules_refresh();
	check(unloaded == gone + 1 && !modules_find((uint64_t)(uintptr_t)function, &object),
		"an unloaded module is reported and no longer found");
	check(reported_held == 0,
		"modules are reported without the loader's lock, because a report may wait");
}

struct listing {
	int count, same;
	struct dl_phdr_info info[64];
};

static int list_one(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct listing *listing = arg;
	(void)bytes;
	if (listing->count < 64)
		listing->info[listing->count++] = *info;
	return 0;
}

static int compare_one(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct listing *listing = arg;
	(void)bytes;
	for (int i = 0; i < listing->count; i++)
		listing->same += listing->info[i].dlpi_addr == info->dlpi_addr &&
			(!*listing->info[i].dlpi_name ||
				!strcmp(listing->info[i].dlpi_name, info->dlpi_name));
	return 0;
}

static void listing_is_that_of_the_loader(void)
{
	struct listing listing = {.count = 0};
	dl_iterate_phdr(list_one, &listing);
	modules_iterate(compare_one, &listing);
	check(listing.count >= 4 && listing.same == listing.count,
		"the map lists the loader's modules: %d of %d", listing.same, listing.count);
}

static void rules_do_without_the_loader(void)
{
	struct callchain_setup setup = {.more = oracle_more};
	callchain_init(&setup);
	callchain_unloaded(0, UINT64_MAX);
	leaf();
	check(oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) && result.end == CALLCHAIN_WHOLE,
		"without _dl_find_object the map is used: %d frames", found.count);
}

struct found_object {
	uint64_t flags;
	char *begin, *end, *link_map, *frame_header;
	uint64_t reserved[7];
};
static int (*real_find)(void *, void *);

/* Report only the part with the code, as for a program with gaps between its segments. */
static int find_code_only(void *address, void *ret_object)
{
	struct found_object *object = ret_object;
	int result = real_find(address, ret_object);
	object->begin = (char *)address - 1;
	object->end = (char *)address + 1;
	return result;
}

static void tables_may_lie_beyond_the_code(void)
{
	struct callchain_setup setup = {.more = oracle_more, .find_object = find_code_only};
	*(void **)&real_find = dlsym(RTLD_DEFAULT, "_dl_find_object");
	if (!real_find) {
		check(true, "# SKIP no _dl_find_object()");
		return;
	}
	callchain_init(&setup);
	callchain_unloaded(0, UINT64_MAX);
	leaf();
	check(oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) && result.end == CALLCHAIN_WHOLE,
		"tables outside of what _dl_find_object() names are read: %d frames", found.count);
}

static bool stop_refreshing;

/* A plugin may be loaded while the map considers it unloaded. */
static int find_slowly(void *address, void *ret_object)
{
	int answer = real_find(address, ret_object);
	if (answer != 0)
		usleep(500);
	return answer;
}

static void *refresh_all_the_time(void *unused)
{
	while (!__atomic_load_n(&stop_refreshing, __ATOMIC_RELAXED))
		modules_refresh();
	return unused;
}

/* A refresh that read the loader's list while the plugin was unloaded must not mark it as
 * unloaded later. */
static void a_reloaded_plugin_stays(void)
{
	int (*function)(int (*)(void));
	uint32_t opened = 0, lost = 0;
	pthread_t thread;
	pthread_create(&thread, NULL, refresh_all_the_time, NULL);
	for (int i = 0; i < 1000; i++) {
		struct cfi_object object;
		void *handle = plugin_open("la", &function);
		if (!handle)
			break;
		uint64_t address = (uint64_t)(uintptr_t)function;
		while (!modules_learn(address))
			;
		for (int look = 0; look < 10; look++, usleep(10))
			lost += !modules_find(address, &object);
		dlclose(handle);
		opened++;
	}
	__atomic_store_n(&stop_refreshing, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	check(opened == 1000 && lost == 0, "a plugin is found whenever it is loaded: %u misses",
		lost);
}

int main(void)
{
	struct modules_setup setup = {.iterate = iterate,
		.loaded = on_loaded,
		.unloaded = on_unloaded,
		.forget = callchain_unloaded};
	oracle_init();
	if (!mkdtemp(folder) || !build("la", 1000) || !build("lb", 3000)) {
		printf("1..0 # SKIP no compiler\n");
		return 0;
	}
	modules_init(&setup);
	modules_refresh();
	check(loaded >= 4 && unloaded == 0, "the first refresh reports the loaded modules: %u",
		loaded);
	listing_is_that_of_the_loader();
	loads_and_unloads_are_reported();
	plugins_replace_each_other();
	rules_do_without_the_loader();
	tables_may_lie_beyond_the_code();
	setup.iterate = dl_iterate_phdr; /* by two threads now */
	setup.find_object = find_slowly;
	modules_init(&setup);
	if (real_find)
		a_reloaded_plugin_stays();
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0 || tap_done();
}
