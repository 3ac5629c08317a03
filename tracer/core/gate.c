/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - mapping of the tree's gate, and opening and closing of the process's own.
 */
#define _GNU_SOURCE
#include "tracer/core/gate.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/state.h"

union own_pages own_pages __attribute__((aligned(GATE_PAGE)));
/* A common symbol is at the end of .bss, so the mapping does not split .bss. Each fork copies every
 * mapping. */
uint32_t tree_page[TREE_PAGE / sizeof(uint32_t)] __attribute__((common, aligned(TREE_PAGE)));

/* Map the page from the file again, where the kernel does not map a mapping twice (qemu-user). */
static bool place_from_file(const char *tree, uint64_t offset)
{
	int error, dir = tree_open_dir(tree);
	int fd = dir < 0 ? dir : tree_open_file(dir, "control", O_RDONLY);
	void *place = fd < 0 ? NULL
			     : sys_mmap(tree_page, sizeof(tree_page), PROT_READ,
				       MAP_SHARED | MAP_FIXED, fd, offset, &error);
	if (fd >= 0)
		sys_close(fd);
	if (dir >= 0)
		sys_close(dir);
	return place != NULL;
}

/* Call mremap() with an old size of 0, which maps the same page again. */
bool gate_place(const struct tree_control *control, const char *tree)
{
	const uint32_t *gate = capture_gate(control);
	long place = SYS5(
		SYS_mremap, gate, 0, sizeof(tree_page), MREMAP_MAYMOVE | MREMAP_FIXED, tree_page);
	if (place == (long)(uintptr_t)tree_page)
		return true;
	sys_mmap(tree_page, sizeof(tree_page),
		PROT_READ | PROT_WRITE, /* the failed call may have left a hole */
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, NULL);
	return place_from_file(tree, (uint64_t)((const char *)gate - (const char *)control));
}

void gate_wipe_on_fork(void)
{
	/* Without it (before Linux 4.14) only forks by functions of the C library are noticed. */
	sys_madvise(&own_pages, sizeof(own_pages), MADV_WIPEONFORK);
}

void gate_use(bool opened)
{
	own_words.alive = 1;
	__atomic_store_n(&own_words.osrt_mask, opened && session.config.osrt, __ATOMIC_RELEASE);
	__atomic_store_n(&own_words.session_mask, opened, __ATOMIC_RELEASE);
}

bool gate_is_wiped(void)
{
	uint32_t state = __atomic_load_n(&session.state, __ATOMIC_ACQUIRE);
	return !own_words.alive && (state == SESSION_ON || state == SESSION_FORKED);
}

void gate_shut(const char *reason)
{
	gate_use(false);
	__atomic_store_n(&session.state, SESSION_OFF, __ATOMIC_RELEASE);
	diagnostic_note(TREE_NOTE_LINE, reason);
	if (!session.spool)
		return;
	text_append(session.spool->off_reason, sizeof(session.spool->off_reason), 0, reason);
	__atomic_store_n(&session.spool->state, SPOOL_OFF, __ATOMIC_RELEASE);
}
