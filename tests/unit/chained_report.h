/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chained_report.h - a small report with callchains whose names are stored in it, so that the
 * output of commands does not depend on files.
 */
#ifndef TESTS_UNIT_CHAINED_REPORT_H
#define TESTS_UNIT_CHAINED_REPORT_H

#include "reader/file/schema.h"
#include "tests/unit/make_report.h"

static void chained_calls(struct make_report *m)
{
	const uint32_t read = make_string(m, "read"), poll = make_string(m, "poll");
	/* start, duration, function, result, errno, object, holder, flags, callchain, method */
	const int64_t first[][10] = {
		{2000, 100, read, 1, 0, 3, 0, 0, 3, 1},
		{3000, 200, read, 1, 0, 3, 0, 0, 2, 2},
		{4000, 50, poll, 1, 0, 3, 0, 0, 4, 1},
		{5000, 100, read, 1, 0, 3, 0, 0, 3, 1},
	};
	const int64_t second[][10] = {
		{2500, 1000, poll, 0, 0, 4, 0, 0, 5, 17},
		{4500, 10, read, 0, 0, 4, 0, 0, 0, 0},
		{6000, 5000, read, 0, 0, 4, 0, 4, 2, 1},
		{5500, 30, read, 0, 0, 4, 0, 0, 9, 1},
	};
	make_batch(m, KIND_OSRT_CALL, 1, 100, 4, 10, first[0]);
	make_batch(m, KIND_OSRT_CALL, 1, 101, 4, 10, second[0]);
}

/* Build the report, with the chains main <- run <- helper with an inlined function; run <- run; an
 * unknown function; a chain whose outer part is lost. */
__attribute__((unused)) static void make_chained(struct make_report *m, bool compress)
{
	const uint32_t parents[] = {0, 1, 2, 2, 0};
	const uint32_t lost = 8; /* nodes 6 to 8 are not in the file */
	const uint64_t addresses[] = {
		0x401010, 0x401020, 0x401030, 0x401021, 0x7f0000000999, 0x401040};
	const struct make_symbol symbols[] = {
		{0x401010, 0x10, "/bin/app", "", 1, {{"main", "/src/app.c", 30}}},
		{0x401020, 0x10, "/bin/app", "", 1, {{"run(int; char)", "/src/app.c", 20}}},
		{0x401021, 0x11, "/bin/app", "", 1, {{"run(int; char)", "/src/app.c", 21}}},
		{0x401030, 0x18, "/bin/app", "", 2,
			{{"std::inl<\"x\">", "/src/inl \"q\".h", 3}, {"helper", "/src/app.c", 10}}},
		{0x401040, 0x20, "/bin/app", "", 1, {{"lost", "", 0}}},
		{0x7f0000000999, 0x998, "/lib/liby.so", "no such file", 1, {{"", "", 0}}},
	};
	make_init(m, compress);
	make_session(m, 1000);
	make_process(m, 1, 100, 1, "/bin/app");
	const int64_t names[][4] = {{1000, make_string(m, "main"), 0, 1},
		{1500, make_string(m, "worker; \"\xc3\xa9\xff\""), 100, 0}};
	make_batch(m, KIND_THREAD_START, 1, 100, 1, 4, names[0]);
	make_batch(m, KIND_THREAD_START, 1, 101, 1, 4, names[1]);
	make_callchains(m, 1, 1, 5, parents, addresses);
	make_block_end(m);
	make_callchains(m, 1, 9, 1, &lost, addresses + 5);
	make_module(m, 1, 1000, 0x400000, 0x402000, 0, "/bin/app", "aa");
	make_module(
		m, 1, 1000, 0x7f0000000000, 0x7f0000001000, 0x7f0000000000, "/lib/liby.so", "bb");
	make_block_end(m);
	chained_calls(m);
	make_block_end(m);
	make_symbols(m, 1, 6, symbols);
	make_receipt(m, 1, 12, 0);
	make_block_end(m);
}

#endif
