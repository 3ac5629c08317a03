/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - which functions are wanted, and the table of those that have a stub.
 */
#define _GNU_SOURCE
#include "tracer/functions/functions.h"

#include <dlfcn.h>
#include <stddef.h>

#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/libc.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/diagnostic.h"
#include "unwind/rules.h"
#if MACHINE_FUNCTIONS
#include MACHINE_CALLING
#endif

struct function_tables *function_tables;
struct function_counts function_counts;
const struct call_hooks *call_hooks[CALL_HOOK_SOURCES];
const char *function_stubs_begin;
int (*function_find_object)(void *address, void *ret_object);

/* ---- patterns ---- */

static const char *const never_libraries[] = {"libc.so*", "libc-2.*", "ld-linux*", "ld-2.*",
	"ld.so*", "libpthread*", "libdl.so*", "libdl-2.*", "librt.so*", "librt-2.*", "libutil.so*",
	"libutil-2.*", "libresolv*", "libnsl*", "libnss_*", "libanl*", "libthread_db*", "libmvec*",
	"libgcc_s*", "libunwind*", "lib*san.so*", "libtrace.so", "libcupti*", "libHS*",
	"linux-vdso*"};

#define NEVER_WITHIN 9u /* the first rows, which begin with '*' */
static const char *const never_functions[] = {"*setjmp*", "*longjmp*", "*vfork*", "*getcontext*",
	"*setcontext*", "*swapcontext*", "*_fcontext", "*mcount*", "*returns_twice*",
	"makecontext*", "_Unwind_*", "__cxa_*", "__gxx_*", "__gcc_*", "__tls_get_addr*",
	"__fentry__", "savectx", "__morestack*", "__sanitizer_*", "__asan_*", "__tsan_*",
	"__ubsan_*", "__msan_*", "__lsan_*", "__interceptor_*", "_dl_*", "__libc_*",
	"__gmon_start__", "_ITM_*", "__stack_chk_fail", "dlopen", "dlmopen", "dlsym", "dlvsym",
	"dlclose", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr"};

static bool is_in(const char *text, const char *const *patterns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *p = patterns[i];
		if ((*p == '*' || *p == *text) && text_matches(text, p, p + text_length(p)))
			return true;
	}
	return false;
}

#define KEY(a, b, c, d) \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* Return false if no pattern of never_functions that begins with '*' can match: the name has none
 * of four letters of each of them. Most names are looked at only once that way. */
static bool may_contain_excluded(const char *name)
{
	uint32_t key = 0;
	for (; *name; name++) {
		key = key << 8 | (uint8_t)*name;
		switch (key) {
		case KEY('t', 'j', 'm', 'p'):
		case KEY('g', 'j', 'm', 'p'):
		case KEY('f', 'o', 'r', 'k'):
		case KEY('t', 'e', 'x', 't'):
		case KEY('o', 'u', 'n', 't'):
		case KEY('w', 'i', 'c', 'e'):
			return true;
		default:
			break;
		}
	}
	return false;
}

bool function_is_excluded(const char *name)
{
	const uint32_t count = sizeof(never_functions) / sizeof(never_functions[0]);
	/* Of C++ and Rust: none of these but vector functions. A search in their long names would
	 * take longer than the rest. */
	if (name[0] == '_' && name[1] == 'Z')
		return name[2] == 'G' && name[3] == 'V';
	if (may_contain_excluded(name))
		return is_in(name, never_functions, count);
	return is_in(name, never_functions + NEVER_WITHIN, count - NEVER_WITHIN);
}

bool function_library_is_excluded(const char *library)
{
	return is_in(text_base_name(library), never_libraries,
		sizeof(never_libraries) / sizeof(never_libraries[0]));
}

bool function_name_is_wanted(const char *name)
{
	for (uint32_t i = 0; i < function_tables->pattern_count; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if (text_matches(name, p->function, p->function_end))
			return true;
	}
	return false;
}

/* Return the hook of a function of a library of the row; 0 = it has none. */
static uint32_t hook_of_row(uint32_t row, const char *name)
{
	for (uint32_t i = 0; row && i < CALL_HOOK_SOURCES; i++) {
		const struct call_hooks *h = call_hooks[i];
		bool is_of_row = h && (h->row + 1 == row || h->row == CALL_ANY_ROW);
		uint32_t hook = is_of_row ? h->find(name) : 0;
		if (hook)
			return FUNCTION_HOOK(i, hook);
	}
	return 0;
}

static bool pattern_has(const struct function_pattern *p, const char *name)
{
	return text_matches(name, p->function, p->function_end) &&
		(p->row != FUNCTION_HOOK_ROW || hook_of_row(p->row, name));
}

/* Return the file name of a library. The program has an empty path. */
static const char *library_name(const char *library)
{
	return text_base_name(*library ? library : session.exe);
}

bool function_is_wanted(const char *name, const char *library)
{
	const char *base = library_name(library);
	for (uint32_t i = 0; i < function_tables->pattern_count; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if (text_matches(base, p->library, p->library_end) &&
			(!name || pattern_has(p, name)))
			return true;
	}
	return false;
}

bool function_is_recorded(const char *name, const char *library)
{
	const char *base = library_name(library);
	for (uint32_t i = 0; i < function_tables->pattern_count; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if (p->row != FUNCTION_HOOK_ROW && text_matches(base, p->library, p->library_end) &&
			text_matches(name, p->function, p->function_end))
			return true;
	}
	return false;
}

#define FRAME_WORD(member) (offsetof(struct function_frame, member) / sizeof(uint64_t))

/* Note where a word of a call is, and how its value follows from it. */
static void word_add(struct kept_words *kept, uint32_t i, const struct prototype_word *word)
{
	uint8_t index = word->index;
	kept->words[i] = (struct kept_word){.index = index,
		.slot = (uint8_t)(index < CALL_REGISTER_WORDS
				? FRAME_WORD(words) + index
				: FRAME_WORD(arguments) + index - CALL_REGISTER_WORDS),
		.mask = word_mask(word->type),
		.sign = word_sign(word->type)};
	if (kept->readable <= index)
		kept->readable = (uint8_t)(index + 1);
}

/* Return the index of the prototype from `text` to `end`, both of which stay valid; add it if it is
 * new. Return 0 if it cannot be read, or there is no room for it. `is_whole`: the function has no
 * further arguments on the stack. */
static uint32_t prototype_find(const char *text, const char *end, bool is_whole)
{
	struct function_tables *f = function_tables;
	struct prototype read;
	f->prototype_count += !f->prototype_count; /* number 0 */
	for (uint32_t i = 1; i < f->prototype_count; i++)
		if (f->prototypes[i].text == text && f->prototypes[i].is_whole == is_whole)
			return i;
	if (f->prototype_count == FUNCTION_PROTOTYPES_MAX || !prototype_read(text, end, &read))
		return 0;
	struct kept_words *kept = &f->prototypes[f->prototype_count];
	*kept = (struct kept_words){
		.text = text, .end = end, .count = (uint8_t)read.count, .is_whole = is_whole};
	for (uint32_t i = 0; i < read.count; i++)
		word_add(kept, i, &read.words[i]);
	return f->prototype_count++;
}

/* Read "LIBRARY:FUNCTION" or "LIBRARY:FUNCTION(PROTOTYPE)", from `s` to `end`. */
static bool pattern_read(const char *s, const char *end)
{
	struct function_tables *f = function_tables;
	const char *colon = s, *function_end = s;
	while (colon < end && *colon != ':')
		colon++;
	while (function_end < end && *function_end != '(')
		function_end++;
	if (colon == s || colon + 1 >= function_end || f->pattern_count == FUNCTION_PATTERNS_MAX)
		return false;
	uint32_t prototype = 0;
	if (function_end < end) {
		prototype = end[-1] == ')' ? prototype_find(function_end + 1, end - 1, false) : 0;
		if (!prototype)
			return false;
	}
	f->patterns[f->pattern_count++] =
		(struct function_pattern){s, colon, colon + 1, function_end, prototype, 0};
	return true;
}

/* Read the list of patterns, separated by commas. Return false if one is not of the form above. */
static bool patterns_read(const char *list)
{
	struct function_tables *f = function_tables;
	if (text_length(list) >= sizeof(f->text))
		return false;
	text_append(f->text, sizeof(f->text), 0, list);
	for (const char *s = f->text; *s; s += *s == ',') {
		const char *begin = s;
		for (bool inside = false; *s && (*s != ',' || inside); s++)
			inside = *s == '(' || (inside && *s != ')');
		if (begin < s && !pattern_read(begin, s))
			return false;
	}
	return f->pattern_count <= FUNCTION_PATTERNS_MAX - OWN_PATTERNS_MAX;
}

static const char *text_end(const char *text)
{
	return text + text_length(text);
}

/* Add a row of libraries.def: a pattern for each pair of a file and a function. */
static void library_add(const struct library *l, uint32_t row)
{
	struct function_tables *f = function_tables;
	for (const char *files = l->files, *end; files; files = library_pattern_next(end)) {
		end = library_pattern_end(files);
		for (const char *names = l->functions, *names_end; names;
			names = library_pattern_next(names_end)) {
			names_end = library_pattern_end(names);
			if (f->pattern_count < FUNCTION_PATTERNS_MAX)
				f->patterns[f->pattern_count++] = (struct function_pattern){
					files, end, names, names_end, 0, row};
		}
	}
	f->prototype_count += !f->prototype_count; /* its threads have room for words */
}

/* Add the libraries whose calls are requested. */
static void libraries_add(void)
{
	for (uint32_t i = 0; i < LIBRARY_ROWS; i++)
		if (session.config.libraries[i])
			library_add(&library_rows[i], i + 1);
}

/* Add the patterns of the sources that look at calls without recording them. */
static void hooks_add(void)
{
	struct function_tables *f = function_tables;
	for (uint32_t i = 0; i < CALL_HOOK_SOURCES; i++) {
		const struct call_hooks *h = call_hooks[i];
		for (uint32_t n = 0; n < 2 && h && h->row == LIBRARY_ROWS; n++)
			f->patterns[f->pattern_count++] = (struct function_pattern){h->files,
				text_end(h->files), h->functions[n], text_end(h->functions[n]), 0,
				FUNCTION_HOOK_ROW};
	}
}

uint32_t function_library_row(const char *library)
{
	const char *base = text_base_name(library);
	for (uint32_t i = 0; i < function_tables->pattern_count; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if (p->row && text_matches(base, p->library, p->library_end))
			return p->row;
	}
	return 0;
}

/* Return the prototype of the first pattern that matches the function and has one; 0 = none. */
static uint32_t prototype_of(const char *name, const char *library)
{
	const char *base = text_base_name(library);
	for (uint32_t i = 0; i < function_tables->pattern_count; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if ((!p->prototype && !p->row) || !text_matches(base, p->library, p->library_end) ||
			!text_matches(name, p->function, p->function_end))
			continue;
		const struct library_call *call = p->row && p->row != FUNCTION_HOOK_ROW
			? library_call_find(p->row - 1, name)
			: NULL;
		return call
			? prototype_find(call->arguments, text_end(call->arguments), call->is_whole)
			: p->prototype;
	}
	return 0;
}

/* ---- stubs ---- */

static uint32_t hash_of(uint64_t real)
{
	return (uint32_t)(real * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (2 * FUNCTIONS_MAX);
}

static void *stub_at(uint32_t number)
{
	return (void *)(uintptr_t)(function_stubs_begin + number * FUNCTION_STUB_BYTES);
}

static bool is_name(const struct name *known, const char *name)
{
	uint32_t i = 0;
	while (i < known->bytes && name[i] == known->text[i])
		i++;
	return i == known->bytes && (!name[i] || known->is_cut);
}

/* Return the place of a function in the hash table, or a free one. After a library was unloaded,
 * another one may have a function of that name at that address. */
static uint16_t *place_of(uint64_t real, const char *name, const char *library)
{
	struct function_tables *f = function_tables;
	for (uint32_t i = hash_of(real);; i = (i + 1) % (2 * FUNCTIONS_MAX)) {
		if (!f->hash[i])
			return &f->hash[i];
		const struct traced_function *known = &f->functions[f->hash[i] - 1];
		if (known->real == real && is_name(known->name, name) &&
			is_name(known->name->domain, library))
			return &f->hash[i];
	}
}

void *function_stub_known(uint64_t real, const char *name, const char *library)
{
	uint16_t number = *place_of(real, name, library_name(library));
	return number ? stub_at(number - 1u) : NULL;
}

bool function_stub_is_given(uint64_t real, const char *name, const char *library)
{
	uint16_t number = *place_of(real, name, library_name(library));
	return number &&
		__atomic_load_n(
			&function_tables->functions[number - 1u].is_given, __ATOMIC_RELAXED);
}

#define SYMBOL_BYTES_MAX 4000u

static struct name *name_make(const char *name, const char *library)
{
	size_t bytes = text_length(name);
	bool is_cut = bytes > SYMBOL_BYTES_MAX;
	struct name *domain =
		names_intern(true, NULL, library, (uint32_t)text_length(library), false, NULL);
	return domain ? names_intern(false, domain, name,
				(uint32_t)(is_cut ? SYMBOL_BYTES_MAX : bytes), is_cut, NULL)
		      : NULL;
}

/* Intern the text of the prototype. Return its index; 0 = there is none, or no memory. */
static uint32_t prototype_name(uint32_t prototype)
{
	struct kept_words *kept = &function_tables->prototypes[prototype];
	if (prototype && !kept->name)
		kept->name = names_intern(
			false, NULL, kept->text, (uint32_t)(kept->end - kept->text), false, NULL);
	return kept->name ? prototype : 0;
}

/* Return traced_function.copied of a function with this prototype. */
static uint16_t copied_of(uint32_t prototype)
{
	const struct kept_words *kept = &function_tables->prototypes[prototype];
	uint32_t words =
		kept->readable > CALL_REGISTER_WORDS ? kept->readable - CALL_REGISTER_WORDS : 0;
	return prototype && kept->is_whole ? (uint16_t)((words + 1) / 2 * 16) : COPIED_BY_FRAME;
}

/* Return the hook of a function, and prepare it; 0 = it has none. */
static uint32_t hook_of(uint64_t real, const char *name, const char *library)
{
	uint32_t hook = hook_of_row(function_library_row(library), name);
	const struct call_hooks *h = call_hooks[hook / CALL_HOOK_NUMBERS];
	if (!hook)
		return 0;
	if (h->found) {
		h->found(hook % CALL_HOOK_NUMBERS, real);
		libc_error_forget();
	}
	if (h->has_before && !h->has_before(hook % CALL_HOOK_NUMBERS))
		hook |= FUNCTION_HOOK_AFTER;
	return function_is_recorded(name, library) ? hook : hook | FUNCTION_HOOK_ONLY;
}

void function_matched_note(const char *name, const char *library)
{
	const char *base = library_name(library);
	for (uint32_t i = 0; i < FUNCTION_USER_PATTERNS_MAX; i++) {
		const struct function_pattern *p = &function_tables->patterns[i];
		if (i == function_tables->pattern_count || p->row)
			return;
		if (text_matches(base, p->library, p->library_end) &&
			text_matches(name, p->function, p->function_end))
			__atomic_fetch_or(&function_counts.matched_patterns[i / 64],
				UINT64_C(1) << i % 64, __ATOMIC_RELAXED);
	}
}

/* Modules are patched with the loader's lock held, functions are looked up without it. */
static uint32_t stubs_lock;

/* Return the stub, with the lock held. */
static void *stub_make(uint64_t real, const char *name, const char *library, uint32_t hook)
{
	struct function_tables *f = function_tables;
	uint16_t *place = place_of(real, name, library);
	if (*place)
		return stub_at(*place - 1u);
	uint32_t number = function_counts.functions;
	struct name *text = number < FUNCTIONS_MAX ? name_make(name, library) : NULL;
	if (!text || !text->domain)
		return NULL;
	uint32_t prototype = prototype_of(name, library);
	f->functions[number] = (struct traced_function){.real = real,
		.name = text,
		.prototype = prototype_name(prototype),
		.copied = copied_of(prototype),
		.hook = hook};
	function_counts.functions++;
	__atomic_store_n(place, (uint16_t)(number + 1), __ATOMIC_RELEASE);
	return stub_at(number);
}

static void given_note(const void *stub)
{
	uint64_t offset = (uint64_t)(uintptr_t)stub - (uint64_t)(uintptr_t)function_stubs_begin;
	bool *is_given = &function_tables->functions[offset / FUNCTION_STUB_BYTES].is_given;
	__atomic_store_n(is_given, true, __ATOMIC_RELAXED);
	__atomic_fetch_add(&function_counts.looked_up, 1, __ATOMIC_RELAXED);
}

static void *stub_find(uint64_t real, const char *name, const char *library, bool is_looked_up)
{
	library = library_name(library);
	/* A source may ask the loader: before the lock is taken. */
	const bool is_new = !*place_of(real, name, library);
	uint32_t hook = is_new ? hook_of(real, name, library) : 0;
	if (is_new)
		function_matched_note(name, library);
	bool is_held = bounded_lock_take(&stubs_lock);
	void *stub = is_held ? stub_make(real, name, library, hook)
			     : function_stub_known(real, name, library);
	if (!stub)
		__atomic_fetch_add(&function_counts.no_room, 1, __ATOMIC_RELAXED);
	else if (is_looked_up)
		given_note(stub);
	if ((is_looked_up || !is_held) && session.spool && session_is_ours())
		session.spool->function = function_counts;
	if (is_held)
		bounded_lock_give(&stubs_lock);
	return stub;
}

void *function_stub(uint64_t real, const char *name, const char *library)
{
	return stub_find(real, name, library, false);
}

void *function_looked_up(uint64_t real, const char *name, const char *library)
{
	return stub_find(real, name, library, true);
}

static uint64_t taken_bit(const char *name, uint64_t **ret_word)
{
	uint32_t bit = rtld_hash(name) * 0x9e3779b1u >> 14;
	_Static_assert(FUNCTION_TAKEN_BITS == 1u << (32 - 14), "a bit for each number");
	*ret_word = &function_tables->taken[bit / 64];
	return UINT64_C(1) << bit % 64;
}

void function_taken_note(const char *name)
{
	uint64_t *word, bit = taken_bit(name, &word);
	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

bool function_is_taken(const char *name)
{
	uint64_t *word, bit = taken_bit(name, &word);
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

const void *function_real(const void *address)
{
	uint64_t offset = (uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)function_stubs_begin;
	uint64_t number = offset / FUNCTION_STUB_BYTES;
	return number < function_counts.functions && offset % FUNCTION_STUB_BYTES == 0
		? (const void *)(uintptr_t)function_tables->functions[number].real
		: address;
}

uint64_t function_names(uint32_t number)
{
	struct traced_function *function = &function_tables->functions[number];
	struct name *name = function->name;
	uint32_t epoch = names_epoch; /* a handler may fork meanwhile */
	names_ref(function_tables->prototypes[function->prototype].name);
	uint64_t library = names_ref((struct name *)(uintptr_t)name->domain);
	function->names = library << 32 | names_ref(name);
	__atomic_store_n(&function->epoch, epoch, __ATOMIC_RELEASE);
	return function->names;
}

/* ---- start ---- */

static void refuse(const char *why)
{
	diagnostic_line(why);
	function_tables = NULL;
}

#if MACHINE_FUNCTIONS
static bool can_save_vectors(void)
{
	return machine_can_save_vectors();
}
#else
static bool can_save_vectors(void)
{
	return false;
}
#endif

void functions_start(void)
{
	static void *place;
	const char *list = session.config.function_patterns;
	const bool is_asked = session.config.functions;
	if (!is_asked && !call_hooks[CALL_HOOKS_OPENMP])
		return;
	*(void **)(void *)&function_find_object = libc.dlsym(RTLD_DEFAULT, "_dl_find_object");
	if (!function_stubs_begin || !function_find_object || !can_save_vectors() ||
		!(rules_cache || rules_open())) {
		refuse(is_asked ? "calls of library functions are not recorded on " MACHINE_TEXT
				  " with this C library: they need glibc 2.35 or later"
				: "OpenMP of GNU's libgomp, which has no interface for tools "
				  "(OMPT), is recorded with glibc 2.35 or later only");
		return;
	}
	function_tables = sys_mmap_table(&place, sizeof(*function_tables));
	if (!function_tables || (list && !patterns_read(list))) {
		refuse("LIBTRACE_FUNCTIONS is not a list of LIBRARY:FUNCTION; it has no effect");
		return;
	}
	libraries_add();
	hooks_add();
	function_counts.is_on = is_asked;
	functions_describe(session.spool);
}

void functions_describe(struct spool_header *spool)
{
	spool->function = function_counts;
}

/* ---- the stacks of open calls ---- */

void functions_thread_start(struct thread *t)
{
	struct function_stack *stack = function_tables ? function_stack_of(t->lane) : NULL;
	for (uint32_t i = 0; stack && i < FUNCTION_STACK_MAX && stack->open[i].sp; i++)
		stack->open[i] = (struct function_open){0};
	if (stack)
		stack->depth = 0;
}

void functions_forked(void)
{
	bounded_lock_give(&stubs_lock);
	for (uint32_t i = 0; function_tables && i < SPOOL_LANES_MAX; i++)
		function_tables->stacks[i] = NULL;
}
