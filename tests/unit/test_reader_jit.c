/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_jit.c - tests of names of code generated at run time: perf maps and jitdump files.
 */
#define _GNU_SOURCE
#include "tests/unit/test_symbols.h"

static void perf_map(void)
{
	struct session s;
	struct library nothing = {.begin = 1, .end = 2};
	char map[512];
	snprintf(map, sizeof(map),
		"7f0000001000 100 old name\nnonsense\n7f0000001000 80 Interpreter:~ run()\n"
		"0x7f0000001080 10 java.lang.String::hashCode\n7f0000003000 0 empty\n"
		"ffffffffffffffff 2 past the end\n7f0000004000 zz bad size\n7f0000005000 10 last");
	mkdir(in_folder("jit"), 0700);
	write_file(in_folder("jit/perf-100.map"), map, strlen(map));
	session_start(&s, &nothing, "", "", in_folder("jit"));
	s.process->facts->pid = 100;
	const struct symbol *symbol =
		symbols_find(&s.symbols, s.process, 0x7f0000001011, 1500, NULL);
	is_shown(symbol, "Interpreter:~ run()", "a perf map: the last name holds");
	check(symbol->offset == 0x11 && !strcmp(symbol->module, in_folder("jit/perf-100.map")),
		"the module of a name from a perf map is the map");
	is_shown(symbols_find(&s.symbols, s.process, 0x7f0000001081, 1, NULL),
		"java.lang.String::hashCode", "addresses of a perf map may have the prefix 0x");
	is_shown(symbols_find(&s.symbols, s.process, 0x7f0000001100, 1, NULL), "old name",
		"new code replaces only the addresses that it covers");
	is_shown(symbols_find(&s.symbols, s.process, 0x7f0000003001, 1, NULL),
		"? (not in any module)", "an empty entry");
	session_end(&s);
	chmod(in_folder("jit/perf-100.map"), 0600);
	if (geteuid() == 0 && !chown(in_folder("jit/perf-100.map"), 12345, 12345)) {
		session_start(&s, &nothing, "", "", in_folder("jit"));
		s.process->facts->pid = 100;
		is_shown(symbols_find(&s.symbols, s.process, 0x7f0000001011, 1, NULL),
			"? (not in any module)",
			"a map of another user is not read: root's own only");
		session_end(&s);
	}
}

struct dump_bytes {
	uint8_t data[4096];
	size_t bytes;
};

static void put(struct dump_bytes *d, const void *data, size_t bytes)
{
	memcpy(d->data + d->bytes, data, bytes);
	d->bytes += bytes;
}

static void put_load(
	struct dump_bytes *d, uint64_t ns, uint64_t address, uint64_t bytes, const char *name)
{
	size_t name_bytes = strlen(name) + 1;
	uint32_t head[] = {0, (uint32_t)(16 + 40 + name_bytes + 4)}, ids[] = {100, 101};
	uint64_t fields[] = {address, address, bytes, 1};
	put(d, head, 8);
	put(d, &ns, 8);
	put(d, ids, 8);
	put(d, fields, 32);
	put(d, name, name_bytes);
	put(d, "code", 4);
}

static void put_lines(struct dump_bytes *d, uint64_t address)
{
	uint32_t head[] = {2, 16 + 16 + 2 * 16 + 6 + 2}, line[] = {7, 0};
	uint64_t zero = 0, fields[] = {address, 2}, second = address + 8;
	put(d, head, 8);
	put(d, &zero, 8);
	put(d, fields, 16);
	put(d, &address, 8);
	put(d, line, 8);
	put(d, "/a.js", 6);
	line[0] = 9;
	put(d, &second, 8);
	put(d, line, 8);
	put(d, "\xff", 2);
}

static void jit_dump(void)
{
	struct session s;
	struct library nothing = {.begin = 1, .end = 2};
	struct dump_bytes d = {.bytes = 0};
	uint32_t head[] = {0x4a695444, 1, 40, 62, 0, 100};
	uint64_t times[] = {0, 0};
	put(&d, head, 24);
	put(&d, times, 16);
	put_lines(&d, 0x10000);
	put_load(&d, 1000, 0x10000, 64, "first");
	put_load(&d, 2000, 0x10000, 64, "second");
	uint32_t move_head[] = {1, 16 + 48}, ids[] = {100, 101};
	uint64_t ns = 3000, move[] = {0, 0x10000, 0x20000, 64, 1};
	put(&d, move_head, 8);
	put(&d, &ns, 8);
	put(&d, ids, 8);
	put(&d, move, 40);
	mkdir(in_folder("dump"), 0700);
	write_file(in_folder("dump/jit-100.dump"), d.data, d.bytes);
	session_start(&s, &nothing, "", "", in_folder("dump"));
	s.process->facts->pid = 100;
	is_shown(symbols_find(&s.symbols, s.process, 0x10009, 1500, NULL), "first a.js:9",
		"a jitdump: the code of the time, and its line");
	is_shown(symbols_find(&s.symbols, s.process, 0x10008, 1500, NULL), "first a.js:7",
		"an address of a jitdump has the line before it");
	is_shown(symbols_find(&s.symbols, s.process, 0x10009, 2500, NULL), "second",
		"code that replaced other code has its own name");
	is_shown(symbols_find(&s.symbols, s.process, 0x20009, 3500, NULL), "second",
		"code that was moved keeps its name");
	session_end(&s);
	for (size_t bytes = 0; bytes < d.bytes; bytes++) {
		d.data[bytes] ^= 0x81;
		write_file(in_folder("dump/jit-100.dump"), d.data, d.bytes - bytes % 50);
		session_start(&s, &nothing, "", "", in_folder("dump"));
		s.process->facts->pid = 100;
		symbols_find(&s.symbols, s.process, 0x10009, 1500, NULL);
		session_end(&s);
		d.data[bytes] ^= 0x81;
	}
	check(true, "damaged jitdumps do not crash the reader");
}

/* Check that, without the symbol path, a map is read only if it was written during the process's
 * life. */
static void stale_map(void)
{
	struct session s;
	const uint64_t start =
		1700000000123456789u; /* the session of make_session() starts at 1000 */
	const char line[] = "10000 40 fresh\n";
	for (int i = 0; i < 3; i++) {
		const char *path = in_folder("work/perf-4000000000.map");
		mkdir(in_folder("work"), 0700);
		write_file(path, line, sizeof(line) - 1);
		int64_t ns = (int64_t)start + (i - 1) * INT64_C(100000000000);
		struct timespec times[2] = {{ns / 1000000000, 0}, {ns / 1000000000, 0}};
		utimensat(0, path, times, 0);
		make_init(&s.made, false);
		make_session(&s.made, 1000);
		session_read(&s, NULL);
		Libtrace__Process *facts = s.process->facts;
		facts->pid = 4000000000u;
		facts->has_start_ns = facts->has_end_ns = true;
		facts->start_ns = 1000;
		facts->end_ns = 20000000000;
		facts->work_directory = strdup(in_folder("work"));
		is_shown(symbols_find(&s.symbols, s.process, 0x10009, 1500, NULL),
			i == 1 ? "fresh" : "? (not in any module)",
			i == 1          ? "a map of the process's time"
				: i < 1 ? "a map of an earlier process"
					: "a map of a later process");
		session_end(&s);
	}
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	perf_map();
	jit_dump();
	stale_map();
	shell("rm -rf '%s'", folder);
	return tap_done();
}
