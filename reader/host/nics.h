/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nics.h - counts of network interfaces, as the kernel shows them in /sys.
 *
 * Names and contents of files are not trusted: what is not a number, counts backwards, or is more
 * than any interface can send, is left out. At most 64 interfaces.
 */
#ifndef READER_HOST_NICS_H
#define READER_HOST_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/machine/record.h"

#define NICS_MAX 64u
#define NIC_COUNTS 8u
#define NIC_FOLDER_BYTES 512u

struct nic {
	char name[MACHINE_NAME_BYTES];
	char folder[NIC_FOLDER_BYTES]; /* folder of its files of counts */
	uint32_t port, link;
	uint64_t ns;                 /* when its counts were read; 0 = never */
	uint64_t counts[NIC_COUNTS]; /* by index in its list of files */
	bool was_active;             /* its last record was not all zero */
};

struct nics {
	char folder[NIC_FOLDER_BYTES];
	bool is_infiniband;
	struct nic rows[NICS_MAX];
	uint32_t count, turn;
};

/* Begin: `root` and `folder` are the path of the class, /sys/class/net or /sys/class/infiniband. */
void nics_open(struct nics *n, const char *root, const char *folder);

/* Write a record for each interface that sent or received anything since the turn before, and one
 * of zeros when it stops. Look for new interfaces once a second. Return false if the class has no
 * interface. */
bool nics_sample(struct nics *n);

#endif
