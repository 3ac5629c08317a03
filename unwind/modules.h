/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - a private map of the loaded modules: for the report, for libunwind while it runs in
 * the tracer's guard, and for finding tables where the C library has no _dl_find_object().
 *
 * modules_refresh() brings it up to date, at safe places only, since it asks the loader (the real
 * dl_iterate_phdr(), which locks). Lookups take no lock: an entry that is being changed at that
 * moment is skipped.
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

struct dl_phdr_info; /* declared in <link.h>, with _GNU_SOURCE */

struct module {
	uint32_t sequence;     /* odd: being changed */
	uint32_t number;       /* counts loads, from 1; 0 = free entry */
	uint32_t seen;         /* number of the last refresh that saw it */
	uint32_t reported;     /* `loaded` has accepted it */
	uint32_t gone;         /* the module was reported, and `unloaded` is to be called */
	uint64_t bias;         /* address - address in the file */
	uint64_t begin, end;   /* address range of all PT_LOAD */
	uint64_t frame_header; /* .eh_frame_hdr, 0 = none */
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	uint32_t header_count;
	ElfW(Phdr) header[MODULE_HEADERS_MAX]; /* the headers that an unwinder reads */
	char path[MODULE_PATH_BYTES];          /* truncated if longer */
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
	int (*find_object)(void *, void *); /* _dl_find_object(), or NULL if there is none */
	/*
	 * A module was loaded or unloaded: called by modules_refresh() and modules_report().
	 * `loaded` returns false to be called again later; `unloaded` is called only for modules
	 * for which `loaded` has returned true. Neither is called with the loader's lock held. NULL
	 * = not called.
	 */
	bool (*loaded)(void *arg, const struct module *module);
	void (*unloaded)(void *arg, const struct module *module);
	void *arg;
	/*
	 * Addresses in [begin, end) mean something else from now on: callchain_unloaded() if chains
	 * are taken, NULL = nothing is remembered about them. Called with the loader's lock held:
	 * it must not wait.
	 */
	void (*forget)(uint64_t begin, uint64_t end);
};

/* Initialize, once, before anything else. *setup is copied. */
void modules_init(const struct modules_setup *setup);

/*
 * Bring the map up to date: at library start, and after the application's dlopen() or dlclose() has
 * returned. May wait for the loader's lock, so never call it inside another intercepted call. Calls
 * `forget` for modules that were unloaded. Any thread; a second thread at the same time leaves the
 * work to the first. Takes about 70 ns if nothing has changed, 4 us for a new module.
 */
void modules_refresh(void);

/*
 * Add the module at `address`, a return address of the calling thread (so it stays loaded), if it
 * is not in the map: a module of a dlopen() that has not returned yet. Lock-free if there is
 * _dl_find_object(), else it does nothing. Return false if another thread is changing the map: try
 * again. Any thread.
 */
bool modules_learn(uint64_t address);

/* Call `loaded` for modules that it has not accepted yet. Return false if some are left. Any
 * thread; a second thread at the same time does nothing. */
bool modules_report(void);

/* Prepare the map in a forked child: all modules are to be reported again, and the next refresh
 * rereads the entries that another thread was changing at the fork. */
void modules_forked(void);

/* Return the number of changes so far. Any thread. */
uint32_t modules_generation(void);

/* Find the module at `address`. Any thread, lock-free, async-signal-safe. */
bool modules_find(uint64_t address, struct cfi_object *ret_object);

/* Iterate as dl_iterate_phdr() does, over the map. Any thread, lock-free. */
int modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *arg);

#endif
