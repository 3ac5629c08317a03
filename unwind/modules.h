/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - a private map of the loaded modules: for the report, for libunwind while it runs in
 * the tracer's guard, and for finding tables where the C library has no _dl_find_object().
 *
 * It is brought up to date by modules_refresh(), at safe places only, because that asks the loader
 * (real dl_iterate_phdr(), which locks). Looking something up takes no lock: an entry that is being
 * changed at that moment is passed over.
 */
#ifndef UNWIND_MODULES_H
#define UNWIND_MODULES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

#define MODULES_MAX 1024u
#define MODULE_HEADERS_MAX 16u
#define MODULE_PATH_BYTES 512u
#define MODULE_BUILD_ID_BYTES 32u

struct dl_phdr_info; /* of <link.h>, with _GNU_SOURCE */

struct module {
	uint32_t sequence;     /* odd: being changed */
	uint32_t number;       /* counts loads, from 1; 0 = free entry */
	uint32_t seen;         /* by that refresh */
	uint32_t told;         /* `loaded` has been called */
	uint32_t gone;         /* it was told, and `unloaded` is to be called */
	uint64_t bias;         /* address - address in the file */
	uint64_t begin, end;   /* of all PT_LOAD */
	uint64_t frame_header; /* .eh_frame_hdr, 0 = none */
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	uint32_t header_count;
	ElfW(Phdr) header[MODULE_HEADERS_MAX]; /* those an unwinder looks at */
	char path[MODULE_PATH_BYTES];          /* cut where longer */
};

/* struct dl_find_object of glibc 2.35 and later, which older headers lack. */
struct dl_object {
	uint64_t flags;
	void *begin, *end;
	struct link_map *map;
	void *frame_header;
	uint64_t reserved[7];
};

struct modules_setup {
	/* The C library's dl_iterate_phdr(). */
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	int (*find_object)(void *, void *); /* _dl_find_object(), or NULL where there is none */
	/*
	 * A module has come or gone: called by modules_refresh() and modules_tell(). `loaded`
	 * returns false to be asked again; `unloaded` comes only for what it took. Neither is
	 * called with the loader's lock held. NULL = nobody wants to know.
	 */
	bool (*loaded)(void *arg, const struct module *module);
	void (*unloaded)(void *arg, const struct module *module);
	void *arg;
};

/* Once, before anything else. *setup is copied. */
void modules_init(const struct modules_setup *setup);

/*
 * Brings the map up to date: at library start, and after the application's dlopen() or dlclose()
 * has returned. May wait for the loader's lock, so never inside an intercepted call of another
 * kind. Forgets rules and remembered chains of what has gone. Any thread; two at once: the second
 * leaves it to the first. About 70 ns when nothing has changed; 4 us for a new module.
 */
void modules_refresh(void);

/*
 * Adds the module at `address`, a return address of the calling thread (so it stays loaded), when
 * it is not in the map: what dlopen() brought. Lock-free where there is _dl_find_object(), else
 * nothing is done. False = another thread is changing the map: to be tried again. Any thread.
 */
bool modules_learn(uint64_t address);

/* Calls `loaded` for what it has not taken yet. False = something is left. Any thread; of two at
 * once the second does nothing. */
bool modules_tell(void);

/* In a forked child: everything is to be told again, and what another thread was changing at that
 * moment is read again at the next refresh. */
void modules_forked(void);

/* Counts changes: equal numbers, equal maps. */
uint32_t modules_generation(void);

/* The module at `address`. Any thread, lock-free, async-signal-safe. */
bool modules_find(uint64_t address, struct cfi_object *ret_object);

/* As dl_iterate_phdr(), from the map. Any thread, lock-free. */
int modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *arg);

#endif
