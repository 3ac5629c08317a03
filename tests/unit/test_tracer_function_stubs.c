/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_function_stubs.c - the table of functions that have a stub, while a thread holds its
 * lock: functions that get no stub are counted, and stubs that exist are found.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "tracer_session.h"

#include "tracer/functions/table.c"

int main(void)
{
	static struct function_tables tables;
	static char stubs[2 * FUNCTION_STUB_BYTES];
	if (!tracer_session_start())
		return 1;
	function_tables = &tables;
	function_stubs_begin = stubs;
	const void *stub = function_looked_up(1, "f_one", "libone.so");
	check(stub == stubs && function_stub_is_given(1, "f_one", "libone.so"),
		"a function that is looked up gets a stub");
	check(!function_stub_is_given(2, "f_two", "libone.so"), "another one was not looked up");
	stubs_lock = LOCK_HELD;
	check(!function_stub(2, "f_two", "libone.so") && function_counts.no_room == 1 &&
			session.spool->function.no_room == 1,
		"a function without a stub is counted if the lock is not free");
	check(function_looked_up(1, "f_one", "libone.so") == stub && function_counts.no_room == 1,
		"a stub that exists is found");
	bounded_lock_give(&stubs_lock);
	check(function_stub(2, "f_two", "libone.so") == stubs + FUNCTION_STUB_BYTES &&
			!function_stub_is_given(2, "f_two", "libone.so"),
		"the function gets its stub when the lock is free");
	tracer_session_end();
	return tap_done();
}
