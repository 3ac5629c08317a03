/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - a private map of the loaded modules.
 */
#define _GNU_SOURCE
#include "unwind/modules.h"

#include <fcntl.h>

#include "common/sys.h"
#include "common/text.h"

#define NOTE_BUILD_ID 3u

static struct modules_setup setup;
/* Entries are in chunks: most programs fit in the first, and mapped memory counts against the
 * program's limits. */
#define CHUNK_MODULES 32u
static struct module *chunks[MODULES_MAX / CHUNK_MODULES];
static uint32_t count; /* entries ever used */
static uint32_t loads; /* modules ever seen */
static uint32_t refreshes, generation;
static uint32_t unreported;  /* entries for which `loaded` is to be called */
static uint64_t adds, subs;  /* the loader's counters at the last refresh */
static uint32_t busy, again; /* a refresh is running; another was requested meanwhile */

void modules_init(const struct modules_setup *given)
{
	setup = *given;
}

uint32_t modules_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

/* ---- changing the map: one thread at a time ---- */

static void change_begin(struct module *m)
{
	__atomic_fetch_add(&m->sequence, 1, __ATOMIC_ACQ_REL);
}

static void change_end(struct module *m)
{
	__atomic_store_n(&m->sequence, m->sequence + 1, __ATOMIC_RELEASE);
}

/* Read the GNU build id from the notes at [at, end). */
static void find_build_id(struct module *m, uint64_t at, uint64_t end)
{
	while (end - at >= 16) {
		const uint32_t *note = (const uint32_t *)(uintptr_t)at;
		uint64_t name = at + 12, bytes = note[1];
		uint64_t text = name + ((note[0] + 3ull) & ~3ull);
		if (text < at || text > end || bytes > end - text)
			return;
		if (note[2] == NOTE_BUILD_ID && note[0] == 4 && note[3] == 0x554e47 &&
			bytes <= MODULE_BUILD_ID_BYTES) {
			bytes_copy(m->build_id, (const void *)(uintptr_t)text, bytes);
			m->build_id_bytes = (uint32_t)bytes;
			return;
		}
		at = text + ((bytes + 3) & ~3ull);
		if (at > end)
			return;
	}
}

static void read_headers(struct module *m, const struct dl_phdr_info *info)
{
	m->begin = UINT64_MAX;
	m->end = m->frame_header = 0;
	m->header_count = m->build_id_bytes = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + h->p_vaddr;
		if (h->p_type == PT_LOAD) {
			m->begin = at < m->begin ? at : m->begin;
			m->end = at + h->p_memsz > m->end ? at + h->p_memsz : m->end;
		} else if (h->p_type == PT_GNU_EH_FRAME) {
			m->frame_header = at;
		} else if (h->p_type == PT_NOTE && !m->build_id_bytes) {
			find_build_id(m, at, at + h->p_memsz);
		} else if (h->p_type != PT_DYNAMIC) {
			continue;
		}
		if (m->header_count < MODULE_HEADERS_MAX)
			m->header[m->header_count++] = *h;
	}
}

static void read_path(struct module *m, const char *name)
{
	long length = 0;
	if (!*name) /* the program */
		length = sys_readlink("/proc/self/exe", m->path, sizeof(m->path) - 1);
	if (length > 0)
		m->path[length] = 0;
	else
		text_append(m->path, sizeof(m->path), 0, name);
}

static bool is_same(const struct module *m, const struct dl_phdr_info *info)
{
	static struct module now; /* static, since only one refresh runs at a time */
	if (!m->number || m->bias != info->dlpi_addr ||
		(*info->dlpi_name && !text_begins(info->dlpi_name, m->path)))
		return false;
	read_headers(&now, info);
	if (now.begin != m->begin || now.end != m->end || now.frame_header != m->frame_header ||
		now.build_id_bytes != m->build_id_bytes)
		return false;
	for (uint32_t i = 0; i < now.build_id_bytes; i++)
		if (now.build_id[i] != m->build_id[i])
			return false;
	return true;
}

static struct module *module_at(uint32_t i)
{
	return &chunks[i / CHUNK_MODULES][i % CHUNK_MODULES];
}

/* Return entry `i`; its chunk is allocated if it is missing. NULL = no room. */
static struct module *module_make(uint32_t i)
{
	if (i >= MODULES_MAX)
		return NULL;
	void **chunk = (void **)(void *)&chunks[i / CHUNK_MODULES];
	return sys_mmap_table(chunk, CHUNK_MODULES * sizeof(struct module)) ? module_at(i) : NULL;
}

/* Mark the entry of a module as seen. A new module gets a free entry, if there is one. */
static void enter(const struct dl_phdr_info *info)
{
	struct module *m = NULL;
	for (uint32_t i = 0; i < count; i++) {
		if (is_same(module_at(i), info)) {
			module_at(i)->seen = refreshes;
			return;
		}
		if (!module_at(i)->number && !m)
			m = module_at(i);
	}
	if (!m)
		m = module_make(count);
	if (!m)
		return;
	bool is_new = m == module_make(count);
	change_begin(m);
	m->bias = info->dlpi_addr;
	read_headers(m, info);
	read_path(m, info->dlpi_name);
	m->seen = refreshes;
	m->reported = 0;
	m->number = ++loads;
	change_end(m);
	unreported++;
	if (is_new)
		__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

static int see(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	enter(info);
	return 0;
}

static void report_loaded(void)
{
	for (uint32_t i = 0; i < count && unreported; i++)
		if (module_at(i)->number && !module_at(i)->reported && setup.loaded &&
			setup.loaded(setup.arg, module_at(i))) {
			module_at(i)->reported = 1;
			unreported--;
		}
}

/* Report unloaded modules, after the loader's lock was released: the hook may wait. */
static void report_gone(void)
{
	for (uint32_t i = 0; i < count; i++)
		if (module_at(i)->gone) {
			module_at(i)->gone = 0;
			if (setup.unloaded)
				setup.unloaded(setup.arg, module_at(i));
		}
}

static void forget(uint64_t begin, uint64_t end)
{
	if (setup.forget)
		setup.forget(begin, end);
}

static void forget_module(struct module *m)
{
	forget(m->begin, m->end);
	if (m->reported)
		m->gone = 1;
	else
		unreported--;
	change_begin(m);
	m->number = 0;
	change_end(m);
}

/* Return true if the module is loaded in another namespace. The loader lists only one namespace.
 * Call with the loader's lock held. */
static bool is_in_other_namespace(const struct module *m)
{
	struct dl_object object;
	return setup.find_object && setup.find_object((void *)(uintptr_t)m->begin, &object) == 0 &&
		(uint64_t)(uintptr_t)object.begin == m->begin && object.map->l_addr == m->bias;
}

/* Return true if a module that was listed is at its addresses now. */
static bool is_replaced(const struct module *m)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct module *other = module_at(i);
		if (other->number && other->seen == refreshes && other->begin < m->end &&
			m->begin < other->end)
			return true;
	}
	return false;
}

static uint64_t forget_unseen(void)
{
	uint64_t gone = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct module *m = module_at(i);
		if (!m->number || m->seen == refreshes ||
			(!is_replaced(m) && is_in_other_namespace(m)))
			continue;
		forget_module(m);
		gone++;
	}
	return gone;
}

/*
 * The loader calls this with its first module, and holds its lock meanwhile. The list is read in
 * here, so it is still the loader's list when modules that are not in it are forgotten. Otherwise a
 * module that is loaded again at its address in between would be forgotten while a thread is in it.
 */
static int bring_up_to_date(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	bool *changed = arg;
	(void)bytes;
	if (loads && adds == info->dlpi_adds && subs == info->dlpi_subs)
		return 1;
	*changed = true;
	refreshes++;
	setup.iterate(see, NULL);
	/* Something was loaded and unloaded in between, or replaced by a module that looks the
	 * same. */
	if (info->dlpi_subs - subs > forget_unseen() && loads)
		forget(0, UINT64_MAX);
	adds = info->dlpi_adds;
	subs = info->dlpi_subs;
	return 1;
}

static void refresh_once(void)
{
	bool changed = false;
	setup.iterate(bring_up_to_date, &changed);
	if (!changed)
		return;
	report_gone();
	report_loaded();
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

void modules_refresh(void)
{
	if (!setup.iterate)
		return;
	__atomic_store_n(&again, 1, __ATOMIC_SEQ_CST);
	do {
		if (__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST))
			return;
		__atomic_store_n(&again, 0, __ATOMIC_SEQ_CST);
		refresh_once();
		__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&again, __ATOMIC_SEQ_CST));
}

/* Describe an object by its program headers, which follow the ELF header at the beginning of the
 * first segment. */
static bool describe(const struct dl_object *object, struct dl_phdr_info *ret_info)
{
	const ElfW(Ehdr) *elf = object->begin;
	const struct link_map *map = object->map;
	if (elf->e_ident[0] != ELFMAG0 || elf->e_ident[1] != ELFMAG1 ||
		elf->e_ident[2] != ELFMAG2 || elf->e_ident[3] != ELFMAG3)
		return false;
	*ret_info = (struct dl_phdr_info){.dlpi_addr = map->l_addr,
		.dlpi_name = map->l_name,
		.dlpi_phdr = (const void *)((const char *)object->begin + elf->e_phoff),
		.dlpi_phnum = elf->e_phnum};
	return true;
}

bool modules_learn(uint64_t address)
{
	struct cfi_object known;
	struct dl_object object;
	struct dl_phdr_info info;
	if (!setup.find_object || modules_find(address, &known) ||
		setup.find_object((void *)(uintptr_t)address, &object) != 0 ||
		!describe(&object, &info))
		return true;
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST))
		return false;
	enter(&info);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
	return true;
}

bool modules_report(void)
{
	if (!__atomic_load_n(&unreported, __ATOMIC_RELAXED))
		return true;
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST))
		return false;
	report_loaded();
	bool all = !unreported;
	__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
	return all;
}

void modules_forked(void)
{
	busy = again = unreported = 0;
	adds = subs = 0; /* the next refresh looks at all modules */
	for (uint32_t i = 0; i <= count && module_make(i); i++) {
		if (module_at(i)->sequence & 1) {
			module_at(i)->number = 0;
			change_end(module_at(i));
		}
		module_at(i)->reported = module_at(i)->gone = 0;
		unreported += module_at(i)->number != 0;
	}
}

/* ---- lookups ---- */

static uint32_t read_begin(const struct module *m)
{
	return __atomic_load_n(&m->sequence, __ATOMIC_ACQUIRE);
}

/* Return true if the entry has not changed meanwhile. Adding 0 keeps the reads before it, as a
 * fence would; sanitizers do not support fences. */
static bool read_end(struct module *m, uint32_t sequence)
{
	return !(sequence & 1) && __atomic_fetch_add(&m->sequence, 0, __ATOMIC_ACQ_REL) == sequence;
}

bool modules_find(uint64_t address, struct cfi_object *ret_object)
{
	uint32_t used = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < used; i++) {
		struct module *m = module_at(i);
		uint32_t sequence = read_begin(m);
		struct cfi_object found = {m->begin, m->end, m->frame_header};
		bool here = m->number && address >= found.begin && address < found.end;
		if (here && read_end(m, sequence)) {
			*ret_object = found;
			return true;
		}
	}
	return false;
}

int modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	uint32_t used = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
	int result = 0;
	for (uint32_t i = 0; i < used && !result; i++) {
		struct module *m = module_at(i);
		ElfW(Phdr) header[MODULE_HEADERS_MAX];
		struct dl_phdr_info info = {.dlpi_phdr = header, .dlpi_name = m->path};
		uint32_t sequence = read_begin(m), number = m->number;
		info.dlpi_addr = m->bias;
		info.dlpi_phnum = (ElfW(Half))m->header_count;
		info.dlpi_adds = adds;
		info.dlpi_subs = subs;
		bytes_copy(header, m->header, sizeof(header));
		if (number && read_end(m, sequence))
			result = callback(&info, sizeof(info), arg);
	}
	return result;
}
