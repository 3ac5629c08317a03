/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_symbols.c - tests of names of addresses in real files, compiled by the installed
 * compilers.
 */
#define _GNU_SOURCE
#ifdef HAVE_LIBDW

#include "tests/unit/test_symbols.h"

#include <dlfcn.h>
#include <link.h>

#include "reader/symbols/demangle.h"

/* ---- a library that calls back: a callchain holds the address that the callback returns to
 * ---- */

static uint64_t returned_to;

__attribute__((noinline)) static void hook(void)
{
	returned_to = (uintptr_t)__builtin_return_address(0);
}

static void note_build_id(struct library *l, const uint8_t *p, const uint8_t *end)
{
	while (p + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const void *)p;
		const uint8_t *name = p + sizeof(*note),
			      *bits = name + ((note->n_namesz + 3) & ~3u);
		if (note->n_type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4))
			for (unsigned i = 0; i < note->n_descsz && i < 32; i++)
				sprintf(l->build_id + 2 * i, "%02x", bits[i]);
		p = bits + ((note->n_descsz + 3) & ~3u);
	}
}

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
	struct library *l = user;
	(void)size;
	if (strcmp(info->dlpi_name, l->path) != 0)
		return 0;
	l->bias = info->dlpi_addr;
	l->begin = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
		if (p->p_type == PT_LOAD) {
			l->begin = begin < l->begin ? begin : l->begin;
			l->end = end > l->end ? end : l->end;
		}
		if (p->p_type == PT_NOTE)
			note_build_id(l, (const uint8_t *)begin, (const uint8_t *)end);
	}
	return 1;
}

static bool library_run(struct library *l, const char *path)
{
	*l = (struct library){.path = path};
	void *handle = dlopen(path, RTLD_NOW);
	void (*run)(void (*)(void));
	*(void **)&run = handle ? dlsym(handle, "run") : NULL;
	if (!run)
		return false;
	run(hook);
	l->address = returned_to;
	return dl_iterate_phdr(note_module, l) == 1;
}

/* ---- the tests ---- */

static const char lib_source[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) int in2(void (*hook)(void))\n"
	"{\n\thook();\n\treturn sink;\n}\n"
	"static inline __attribute__((always_inline)) int in1(void (*hook)(void))\n"
	"{\n\treturn in2(hook) + 1;\n}\n"
	"__attribute__((noinline)) int outer(void (*hook)(void))\n"
	"{\n\treturn in1(hook) + 2;\n}\n"
	"void run(void (*hook)(void))\n{\n\tsink = outer(hook);\n}\n";
static const char lib_shown[] = "in2 lib.c:4 <- in1 lib.c:9 <- outer lib.c:13";

static const char *compiler(void)
{
	const char *cc = getenv("CC");
	return cc && *cc ? cc : "cc";
}

static void inlined_functions(const struct library *l)
{
	struct session s;
	session_start(&s, l, l->path, l->build_id, NULL);
	const struct symbol *symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
	is_shown(symbol, lib_shown, "inlined functions have their names and lines");
	Dl_info info;
	dladdr((void *)(uintptr_t)l->address, &info);
	check(symbol->offset == l->address - (uintptr_t)info.dli_saddr,
		"the offset counts from the start of the function that contains the inlined ones: "
		"%lu",
		(unsigned long)symbol->offset);
	check(symbol == symbols_find(&s.symbols, s.process, l->address, 1600, NULL),
		"the answer for an address is kept");
	symbol = symbols_find(&s.symbols, s.process, l->end + 100, 1500, NULL);
	is_shown(symbol, "? (not in any module)", "an address outside of all modules has no name");
	check(symbol->offset == l->end + 100,
		"an address outside of all modules keeps its address");
	symbol = symbols_find(&s.symbols, s.process, l->begin + 64, 1500, NULL);
	is_shown(symbol, "? (not in any function of the file's symbol table)", "no code");
	check(symbol->module && symbol->offset == l->begin + 64 - l->bias,
		"an address without a function is shown as module and offset");
	symbol = symbols_resolve(&s.symbols, s.process, l->address,
		module_map_find(&s.process->modules, l->address, 1500), 1500);
	is_shown(symbol, lib_shown, "an address is looked up in the module that the caller names");
	session_end(&s);
}

static void other_build(const struct library *l)
{
	struct session s;
	char expected[600];
	session_start(&s, l, l->path, "0123456789abcdef", NULL);
	snprintf(expected, sizeof(expected), "? (build-id of '%s' differs)", l->path);
	const struct symbol *symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
	is_shown(symbol, expected, "a file of another build is not used");
	session_end(&s);
	session_start(&s, l, l->path, "", NULL);
	symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
	is_shown(symbol, expected, "a file with a build-id is not used for a module without one");
	session_end(&s);
	session_start(&s, l, "/nowhere/lib.so", l->build_id, NULL);
	symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
	is_shown(symbol, "? (cannot open '/nowhere/lib.so': No such file or directory)",
		"a file that is missing is reported with its path");
	session_end(&s);
	session_start(&s, l, "linux-vdso.so.1", l->build_id, NULL);
	symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
	is_shown(symbol, "? (the vdso of this machine's kernel differs)",
		"a vdso of another kernel is not used");
	session_end(&s);
	static const char *const odd[] = {"/tmp", "/dev/null", "[vdso]", "", "/etc/passwd"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		session_start(&s, l, odd[i], "", NULL);
		symbol = symbols_find(&s.symbols, s.process, l->address, 1500, NULL);
		check(symbol && symbol->reason && !symbol->frames[0].function, "'%s': %s", odd[i],
			shown(symbol));
		session_end(&s);
	}
}

static void symbol_path_places(const struct library *l)
{
	struct session s;
	char search[1200], debug[600];
	snprintf(debug, sizeof(debug), ".build-id/%.2s", l->build_id);
	shell("mkdir -p moved whole/nowhere ids/%s && cp lib.so moved/ && cp lib.so "
	      "whole/nowhere/lib.so && objcopy --only-keep-debug lib.so ids/%s/%s.debug",
		debug, debug, l->build_id + 2);
	static const char *const places[] = {"moved", "whole", "ids"};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(search, sizeof(search), "/not/there::%s", in_folder("%s", places[i]));
		session_start(&s, l, "/nowhere/lib.so", l->build_id, search);
		is_shown(symbols_find(&s.symbols, s.process, l->address, 1500, NULL), lib_shown,
			places[i]);
		session_end(&s);
	}
}

static void separate_debug_file(const struct library *l)
{
	struct session s;
	if (!shell("mkdir -p apart/.debug && cp lib.so apart/lib.so && objcopy "
		   "--only-keep-debug apart/lib.so apart/.debug/lib.debug && strip "
		   "--strip-all apart/lib.so && objcopy "
		   "--add-gnu-debuglink=apart/.debug/lib.debug apart/lib.so")) {
		check(true, "a stripped file finds its separate debug file # SKIP no objcopy");
		return;
	}
	session_start(&s, l, in_folder("apart/lib.so"), l->build_id, NULL);
	is_shown(symbols_find(&s.symbols, s.process, l->address, 1500, NULL), lib_shown,
		"a stripped file finds its debug file by .gnu_debuglink");
	session_end(&s);
	shell("mkdir stripped && cp apart/lib.so stripped/");
	session_start(&s, l, in_folder("stripped/lib.so"), l->build_id, NULL);
	is_shown(symbols_find(&s.symbols, s.process, l->address, 1500, NULL), "outer",
		"a stripped file without its debug file has exported names");
	session_end(&s);
	session_start(&s, l, in_folder("stripped/lib.so"), l->build_id, in_folder("ids"));
	is_shown(symbols_find(&s.symbols, s.process, l->address, 1500, NULL), lib_shown,
		"a stripped file finds its debug file below the symbol path");
	session_end(&s);
}

static void damaged_file(const struct library *l)
{
	struct session s;
	FILE *f = fopen(l->path, "r");
	static uint8_t whole[1 << 20], bytes[1 << 20];
	size_t size = f ? fread(whole, 1, sizeof(whole), f) : 0;
	unsigned seed = 1, survived = 0;
	if (f)
		fclose(f);
	for (int round = 0; round < 300 && size; round++) {
		memcpy(bytes, whole, size);
		for (int i = 0; i < 1 + round % 20; i++)
			bytes[rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
		const char *path = in_folder("damaged.so");
		write_file(path, bytes, round % 3 ? size : rand_r(&seed) % size);
		session_start(&s, l, path, l->build_id, NULL);
		for (uint64_t at = l->begin; at < l->end; at += 61)
			symbols_find(&s.symbols, s.process, at, 1500, NULL);
		survived += symbols_find(&s.symbols, s.process, l->address, 1500, NULL) != NULL;
		session_end(&s);
	}
	check(survived == 300, "%u damaged files do not crash the reader", survived);
}

static void c_library(void)
{
	struct library l;
	write_file(in_folder("lib.c"), lib_source, strlen(lib_source));
	if (!shell("%s -O2 -g -fPIC -shared -Wl,--build-id -o lib.so lib.c", compiler()) ||
		!library_run(&l, in_folder("lib.so"))) {
		check(false, "no library could be built with '%s'", compiler());
		return;
	}
	inlined_functions(&l);
	other_build(&l);
	symbol_path_places(&l);
	separate_debug_file(&l);
	damaged_file(&l);
	if (shell("clang -O2 -g -fPIC -shared -Wl,--build-id -o libclang.so lib.c") &&
		library_run(&l, in_folder("libclang.so"))) {
		struct session s;
		session_start(&s, &l, l.path, l.build_id, NULL);
		is_shown(symbols_find(&s.symbols, s.process, l.address, 1500, NULL), lib_shown,
			"inlined functions of a file from clang have names and lines");
		session_end(&s);
	}
}

static void cxx_names(void)
{
	static const char source[] =
		"#include <string>\n#include <vector>\nnamespace shop {\n"
		"template <class T> struct Cart {\n\tvolatile int sum = 0;\n"
		"\t__attribute__((noinline)) int add(const std::vector<T> &v, void (*hook)())\n"
		"\t{ hook(); return sum + (int)v.size(); }\n};\n}\n"
		"extern \"C\" void run(void (*hook)())\n"
		"{\n\tshop::Cart<std::string> c; c.sum = c.add({\"a\"}, hook);\n}\n";
	struct library l;
	struct session s;
	write_file(in_folder("cart.cc"), source, strlen(source));
	if (!shell("g++ -O2 -g -fPIC -shared -Wl,--build-id -o libcart.so cart.cc") ||
		!library_run(&l, in_folder("libcart.so"))) {
		check(true, "C++ names # SKIP no g++");
		return;
	}
	session_start(&s, &l, l.path, l.build_id, NULL);
	const struct symbol *symbol = symbols_find(&s.symbols, s.process, l.address, 1500, NULL);
	shown(symbol);
	check(begins("shop::Cart<std::") && strstr(text, "::add(std::vector<") &&
			strstr(text, "cart.cc:7"),
		"C++: %s", text);
	session_end(&s);
}

static void rust_names(void)
{
	static const char source[] =
		"mod depot {\n    pub struct Lorry(pub u32);\n    impl Lorry {\n"
		"        #[inline(never)]\n        pub fn load(&mut self, hook: extern \"C\" fn()) "
		"{\n"
		"            hook();\n            self.0 += 1;\n        }\n    }\n}\n"
		"#[no_mangle]\npub extern \"C\" fn run(hook: extern \"C\" fn()) {\n"
		"    let mut l = depot::Lorry(1);\n    l.load(hook);\n"
		"    std::hint::black_box(&l);\n}\n";
	static const char *const styles[] = {"legacy", "v0"};
	write_file(in_folder("rust.rs"), source, strlen(source));
	for (int i = 0; i < 2; i++) {
		struct library l;
		struct session s;
		if (!shell("rustc -C symbol-mangling-version=%s %s -C debuginfo=2 -C opt-level=1 "
			   "-C link-arg=-Wl,--build-id --crate-type cdylib -o librust%d.so rust.rs",
			    styles[i], i ? "" : "-Z unstable-options", i) &&
			!shell("rustc %s -C debuginfo=2 -C opt-level=1 -C "
			       "link-arg=-Wl,--build-id --crate-type cdylib -o librust%d.so "
			       "rust.rs",
				i ? "-C symbol-mangling-version=v0" : "", i)) {
			check(true, "Rust names, %s # SKIP no rustc", styles[i]);
			continue;
		}
		if (!check(library_run(&l, in_folder("librust%d.so", i)), "the Rust library runs"))
			continue;
		session_start(&s, &l, l.path, l.build_id, NULL);
		shown(symbols_find(&s.symbols, s.process, l.address, 1500, NULL));
		check(strstr(text, "depot::Lorry") && strstr(text, "load rust.rs:6"),
			"Rust, %s: %s", styles[i], text);
		session_end(&s);
	}
}

static void own_program(void)
{
	struct library l = {.path = ""};
	struct session s;
	dl_iterate_phdr(note_module, &l);
	hook();
	l.address = returned_to;
	session_start(&s, &l, "/proc/self/exe", l.build_id, NULL);
	const struct symbol *symbol = symbols_find(&s.symbols, s.process, l.address, 1500, NULL);
	shown(symbol);
	check(strstr(text, "own_program test_reader_symbols.c:") != NULL, "this program: %s", text);
	symbol = symbols_find(&s.symbols, s.process, (uintptr_t)contents_read + 1, 1500, NULL);
	shown(symbol);
	check(begins("contents_read contents.c:"), "another unit of it: %s", text);
	session_end(&s);
}

static void readable_names(void)
{
	static const struct {
		const char *name, *expected;
	} rows[] = {
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
			"std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
		{"_Z9vectorAddPKfS0_Pfi", "vectorAdd(float const*, float const*, float*, int)"},
		{"main", ""},
		{"_start", ""},
		{"_Z", ""},
	};
	static char out[DEMANGLED_BYTES_MAX], bomb[900];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*out = 0;
		size_t bytes = demangle(rows[i].name, out);
		check(bytes == strlen(rows[i].expected) &&
				(!bytes || !strcmp(out, rows[i].expected)),
			"%s -> %s", rows[i].name, out);
	}
	/* each argument doubles the name */
	strcpy(bomb, "_Z1fP1aPS_");
	for (int i = 0; i < 30; i++)
		sprintf(bomb + strlen(bomb), "1tIS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTU"[i],
			"0123456789ABCDEFGHIJKLMNOPQRSTU"[i]);
	check(demangle(bomb, out) < DEMANGLED_BYTES_MAX,
		"a mangled name that expands exponentially is cut");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	unsetenv("DEBUGINFOD_URLS");
	readable_names();
	own_program();
	c_library();
	cxx_names();
	rust_names();
	shell("rm -rf '%s'", folder);
	return tap_done();
}

#else

#include "tests/unit/tap.h"

int main(void)
{
	check(true, "functions of files # SKIP built without libdw");
	return tap_done();
}

#endif
