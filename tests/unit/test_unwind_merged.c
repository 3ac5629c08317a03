/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_merged.c - tests of chains of native and Python frames: reusing a part of the last
 * chain changes no chain, and Python frames take the place of their C frame.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "unwind/merged.h"

enum {
	NATIVE = 60,
	PYTHON = 90,
	ROUNDS = 20000,
	INTERPRETER = 0x10000,
	EVAL = 0x18000,
	END = 0x20000
};

static uint64_t seed = 1;
static struct callchain_thread native, native_before;
static struct python_thread python, python_before;
static struct merged_thread thread, fresh;
static const struct merged_interpreter interpreter = {INTERPRETER, END, EVAL, END};

static uint32_t random_to(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % limit;
}

static void *more(void *arg, uint32_t number)
{
	(void)arg;
	(void)number;
	return calloc(1, NODES_CHUNK_BYTES);
}

static void native_set(uint32_t number, uint64_t slot, uint64_t ip)
{
	native.frame[number].checks = (uint16_t)(number + 1);
	native.check[number] = (struct callchain_check){slot, ip};
}

/* Frames are 16 bytes each at least; the interpreter's are in its module. */
static uint32_t native_change(uint32_t count)
{
	count -= random_to(count < 6 ? count + 1 : 6);
	for (uint32_t left = random_to(7); left && count < NATIVE; left--, count++)
		native_set(count, 0x7000 - 64 * count - 16 * random_to(3),
			random_to(3) ? EVAL * (random_to(3) != 0) + random_to(4) * 16 + 16
				     : INTERPRETER + random_to(5));
	return count;
}

static void python_change(void)
{
	uint32_t count = python.count;
	count -= random_to(count < 6 ? count + 1 : 6);
	uint64_t at = count ? python.steps[count - 1].at : 0x7100;
	for (uint32_t left = random_to(7); left && count < PYTHON && at > 100; left--, count++) {
		at -= random_to(2) ? 0 : random_to(90);
		python.steps[count] =
			(struct python_step){.address = python.one_each || random_to(4)
					? PYTHON_ADDRESS(random_to(3), random_to(3))
					: 0,
				.at = at};
	}
	python.count = count;
	if (random_to(32) == 0)
		python.first = random_to(3);
	python.first = python.first < count ? python.first : 0;
}

static uint32_t same_native(uint32_t count)
{
	uint32_t i = 0;
	while (i < count &&
		!memcmp(&native.check[i], &native_before.check[i], sizeof(native.check[i])))
		i++;
	return i;
}

static uint32_t same_python(uint32_t count)
{
	uint32_t i = 0;
	while (i < count &&
		!memcmp(&python.steps[i], &python_before.steps[i], sizeof(python.steps[i])))
		i++;
	return i;
}

static void test_reused(bool one_each)
{
	uint32_t wrong = 0, reused = 0, whole = 0, count = 0, last_count = 0, last_steps = 0;
	memset(&python, 0, sizeof(python));
	memset(&thread, 0, sizeof(thread));
	python.one_each = one_each;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct callchain_result result = {0};
		native_before = native;
		python_before = python;
		if (random_to(4)) {
			count = native_change(count);
			python_change();
		}
		uint32_t kept = same_native(count < last_count ? count : last_count),
			 steps = same_python(python.count < last_steps ? python.count : last_steps);
		last_count = result.count = count;
		last_steps = python.count;
		result.kept = (uint8_t)(random_to(4) ? kept : random_to(kept + 1));
		result.end = random_to(16) ? CALLCHAIN_WHOLE : CALLCHAIN_CUT;
		python.kept = random_to(4) ? steps : random_to(steps + 1);
		uint32_t known = merged_begin(&thread);
		whole += result.kept == count && python.kept == python.count;
		reused += known > 4;
		struct python_thread other = python;
		uint32_t id =
			merged_take(&thread, known, &interpreter, &native, &result, &python, false);
		uint32_t true_id =
			merged_take(&fresh, 0, &interpreter, &native, &result, &other, false);
		wrong += id != true_id;
	}
	check(wrong == 0, "a chain is the same whether the last one is reused or not");
	check(reused > ROUNDS / 2 && whole > ROUNDS / 8, "and there was much to reuse");
}

static bool node_is(uint32_t *id, uint64_t address)
{
	struct callchain_node node;
	bool is = callchain_node(*id, &node) && node.address == address;
	*id = is ? node.parent : 0;
	return is;
}

static void test_places(void)
{
	struct callchain_result result = {.count = 4};
	uint64_t frames[3] = {PYTHON_ADDRESS(1, 1), PYTHON_ADDRESS(2, 2), PYTHON_ADDRESS(3, 3)};
	memset(&python, 0, sizeof(python));
	native_set(0, 0x1000, 0x500);
	native_set(1, 0xf00, EVAL + 8);
	native_set(2, 0xe00, 0x600);
	native_set(3, 0xd00, EVAL + 8);
	python.count = 4;
	python.steps[0] = (struct python_step){.address = frames[0], .at = 0xf80};
	python.steps[1] = (struct python_step){.address = frames[1], .at = 0xf80};
	python.steps[2] = (struct python_step){.at = 0xd80};
	python.steps[3] = (struct python_step){.address = frames[2], .at = 0xd80};
	uint32_t id = merged_take(&fresh, 0, &interpreter, &native, &result, &python, false);
	check(node_is(&id, frames[2]) && node_is(&id, 0x600) && node_is(&id, frames[1]) &&
			node_is(&id, frames[0]) && node_is(&id, 0x500) && id == 0,
		"Python frames are in the place of the C frame that runs them");
	python.one_each = true;
	python.first = 1;
	python.steps[2] = python.steps[3];
	python.count = 3;
	id = merged_take(&fresh, 0, &interpreter, &native, &result, &python, false);
	check(node_is(&id, frames[2]) && node_is(&id, 0x600) && node_is(&id, frames[1]) &&
			node_is(&id, 0x500) && id == 0,
		"or of the next C frame that evaluates; those beyond the depth are left out");
}

int main(void)
{
	const struct callchain_setup setup = {.more = more};
	callchain_init(&setup);
	test_places();
	test_reused(false);
	test_reused(true);
	return tap_done();
}
