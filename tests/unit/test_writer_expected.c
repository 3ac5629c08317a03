/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_expected.c - tests of the comparison of programs that were announced with those that
 * have appeared.
 */
#include "tests/unit/test_writer.h"

#include "common/spool.h"
#include "writer/base/expected.h"

static struct known known;
static struct expectations expected;
static uint32_t last_id;

static void begin(void)
{
	expected_clear(&expected);
	known_clear(&known);
}

/* Add a program that the parent has started. */
static struct known_process *arrive(uint32_t pid, uint32_t parent_pid, uint64_t ns)
{
	struct known_process *p = known_add(&known, pid, ++last_id, ns);
	p->parent_pid = parent_pid;
	p->is_program = true;
	expected_arrived(&expected, p);
	return p;
}

static bool announce(uint32_t pid, uint32_t parent_pid, uint64_t ns)
{
	const struct expected e = {
		.pid = pid, .parent_pid = parent_pid, .ns = ns, .path = (char *)"/bin/sh"};
	return expected_add(&expected, &known, &e);
}

static uint32_t missing(void)
{
	expected_finish(&expected, &known);
	return expected.count;
}

#define MS UINT64_C(1000000)

static void by_pid(void)
{
	begin();
	arrive(10, 1, 100 * MS);
	tap(!announce(10, 1, 101 * MS), "a program that is known already is not waited for");
	tap(announce(11, 1, 102 * MS), "another one is waited for");
	arrive(11, 1, 90 * MS); /* the parent was delayed between its call and its record */
	tap_equal(missing(), 0, "and has appeared, even with an earlier time");
	begin();
	arrive(10, 1, 100 * MS);
	announce(10, 1, 101 * MS);
	announce(10, 1, 900 * MS);
	tap_equal(missing(), 1, "a pid that is used again needs a second program");
	begin();
	known_add(&known, 10, ++last_id, 100 * MS); /* a forked process */
	announce(10, 1, 101 * MS);
	tap_equal(missing(), 1, "a forked process is not a program that was started");
	begin();
	announce(7, 1, 100 * MS);
	arrive(1, 0, 100 * MS);
	tap_equal(missing(), 0,
		"the first process of a pid namespace has another pid for its parent");
}

static void shells(void)
{
	begin();
	for (uint32_t i = 0; i < 5000; i++) {
		announce(0, 1 + i % 2, (1000 + i) * MS);
		arrive(100 + i, 1 + i % 2, (1000 + i) * MS + 1);
	}
	tap(expected.count < 5000, "shells that have appeared are forgotten in between");
	announce(0, 1, 9000 * MS);
	tap_equal(missing(), 1, "one of many shells is missing");
	tap_equal((int64_t)expected.list[0].ns, 9000 * MS, "the last one");
	begin();
	arrive(20, 1, 100 * MS);
	announce(0, 1, 200 * MS);
	tap_equal(missing(), 1, "a program that was there before is not the shell");
	begin();
	announce(0, 1, 100 * MS);
	arrive(20, 1, 101 * MS);
	announce(20, 1, 102 * MS);
	tap_equal(missing(), 1, "a program that is announced by its pid is not the shell");
	begin();
	announce(0, 1, 100 * MS);
	announce(0, 2, 100 * MS);
	expected_withdraw(&expected, 1);
	tap(missing() == 1 && expected.list[0].parent_pid == 2,
		"a shell that was not started is not missing");
	begin();
	announce(0, 5, 100 * MS);
	arrive(30, 1, 101 * MS);
	tap_equal(missing(), 0, "a shell whose parent has ended has another parent");
}

static void refused(void)
{
	begin();
	announce(10, 1, 100 * MS);
	struct known_process *noted = known_add(&known, 10, ++last_id, 101 * MS);
	noted->is_noted = true;
	expected_arrived(&expected, noted);
	tap_equal(missing(), 0, "a program that has said why it is not traced is not listed twice");
	begin();
	const struct expected e = {.parent_pid = 1, .verdict = VERDICT_NO_ENTRY, .ns = 100 * MS};
	expected_add(&expected, &known, &e);
	arrive(20, 1, 101 * MS);
	tap_equal(missing(), 1, "a shell that cannot enter the tree is listed whatever appears");
}

static void without_end(void)
{
	begin();
	for (uint32_t i = 0; i < 100000; i++)
		announce(i % 3 ? i : 0, 1, i);
	tap(expected.count <= 16384 && expected.count + expected.unlisted >= 99999,
		"a hostile process can announce any number, and needs bounded memory");
	begin();
	for (uint32_t i = 1; i <= 20000; i++)
		announce(i, 1, i * MS);
	for (uint32_t i = 1; i <= 20000; i++)
		arrive(i, 1, i * MS);
	tap(!missing() && expected.unlisted == 20000 - 16384,
		"programs for which there was no room are still said to be missing, perhaps, when "
		"all others have appeared");
	for (uint32_t i = 1; i <= 1000; i++)
		expected_withdraw(&expected, 1);
	tap_equal(expected.unlisted, 20000 - 16384,
		"a program that was not started does not answer for one without room");
	begin();
	tap(!expected.count && !expected.list, "a list that was cleared is empty");
}

int main(void)
{
	by_pid();
	shells();
	refused();
	without_end();
	return tap_end();
}
