/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nics.c - network interfaces of /sys/class/net and /sys/class/infiniband, and their counts.
 */
#define _GNU_SOURCE
#include "reader/host/nics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "reader/host/sample.h"

#define LOOK_TURNS 10u /* turns between looks for new interfaces */
#define PORTS_MAX 8u
#define BYTES_MOST (UINT64_C(1) << 44) /* in a turn */

/* Order of the values of a record: the fields of NIC_SAMPLE from LINK on. */
enum { V_LINK, V_RX_BYTES, V_TX_BYTES, V_RX_PACKETS, V_TX_PACKETS, V_LOST, V_WAITS };
enum { LINK_ETHERNET = 1, LINK_INFINIBAND = 2 };

/* A file, the value that its number is added to, and the unit of the number. */
struct count_file {
	const char *name;
	uint32_t value;
	uint32_t unit;
};

/* The first two say whether the interface is active: the others are not read otherwise. */
#define FIRST_FILES 2u
static const struct count_file net_files[NIC_COUNTS] = {{"rx_packets", V_RX_PACKETS, 1},
	{"tx_packets", V_TX_PACKETS, 1}, {"rx_bytes", V_RX_BYTES, 1}, {"tx_bytes", V_TX_BYTES, 1},
	{"rx_errors", V_LOST, 1}, {"tx_errors", V_LOST, 1}, {"rx_dropped", V_LOST, 1},
	{"tx_dropped", V_LOST, 1}};
static const struct count_file infiniband_files[NIC_COUNTS] = {
	{"port_rcv_packets", V_RX_PACKETS, 1}, {"port_xmit_packets", V_TX_PACKETS, 1},
	{"port_rcv_data", V_RX_BYTES, 4}, {"port_xmit_data", V_TX_BYTES, 4},
	{"port_rcv_errors", V_LOST, 1}, {"port_xmit_discards", V_LOST, 1},
	{"port_xmit_wait", V_WAITS, 1}, {NULL, 0, 0}};

void nics_open(struct nics *n, const char *root, const char *folder)
{
	*n = (struct nics){.is_infiniband = strstr(folder, "infiniband") != NULL};
	snprintf(n->folder, sizeof(n->folder), "%s%s", root, folder);
}

/* ---- finding ---- */

static bool is_there(const struct nics *n, const char *name, uint32_t port)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (!strcmp(n->rows[i].name, name) && n->rows[i].port == port)
			return true;
	return false;
}

/* Add an interface, unless it is known. `counts`: the folder of its counts within its own. */
static void nic_add(
	struct nics *n, const char *name, uint32_t port, uint32_t link, const char *counts)
{
	struct nic nic = {.port = port, .link = link};
	if (n->count == NICS_MAX || is_there(n, name, port))
		return;
	snprintf(nic.name, sizeof(nic.name), "%s", name);
	int length = snprintf(nic.folder, sizeof(nic.folder), "%s/%s/%s", n->folder, name, counts);
	if (length > 0 && (size_t)length < sizeof(nic.folder))
		n->rows[n->count++] = nic;
}

/* Add the ports of an InfiniBand device, which may run Ethernet. */
static void ports_add(struct nics *n, const char *name)
{
	for (uint32_t port = 1; port <= PORTS_MAX; port++) {
		char path[2 * NIC_FOLDER_BYTES], layer[32], counts[64];
		snprintf(path, sizeof(path), "%s/%s/ports/%u/link_layer", n->folder, name, port);
		if (!sample_read(path, layer, sizeof(layer)))
			continue;
		snprintf(counts, sizeof(counts), "ports/%u/counters", port);
		nic_add(n, name, port, strncmp(layer, "Ether", 5) ? LINK_INFINIBAND : LINK_ETHERNET,
			counts);
	}
}

static void nics_find(struct nics *n)
{
	DIR *dir = opendir(n->folder);
	const struct dirent *entry;
	while (dir && n->count < NICS_MAX && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || !strcmp(entry->d_name, "lo") ||
			strlen(entry->d_name) >= MACHINE_NAME_BYTES)
			continue;
		if (n->is_infiniband)
			ports_add(n, entry->d_name);
		else
			nic_add(n, entry->d_name, 0, LINK_ETHERNET, "statistics");
	}
	if (dir)
		closedir(dir);
}

/* ---- counts ---- */

/* Read a count, and add what came since the turn before to the record. Return true if that is more
 * than nothing. */
static bool count_read(
	struct nic *nic, const struct count_file *file, uint32_t index, struct machine_record *r)
{
	char path[2 * NIC_FOLDER_BYTES];
	uint64_t count, *last = &nic->counts[index];
	snprintf(path, sizeof(path), "%s/%s", nic->folder, file->name);
	if (!sample_read_number(path, &count))
		return false;
	uint64_t more = count - *last;
	bool is_right = nic->ns && count >= *last && more <= BYTES_MOST;
	*last = count;
	if (!is_right || !more)
		return false;
	sample_set(r, file->value, r->values[file->value] + more * file->unit, UINT64_MAX);
	return true;
}

static void nic_sample(struct nic *nic, const struct count_file *files)
{
	struct machine_record r = {.kind = MACHINE_NIC_SAMPLE, .device = nic->port};
	const struct nic before = *nic;
	bool is_active = !nic->ns;
	uint64_t now = sample_now_ns();
	for (uint32_t i = 0; i < NIC_COUNTS && files[i].name && (i < FIRST_FILES || is_active); i++)
		is_active |= count_read(nic, &files[i], i, &r);
	bool is_first = !nic->ns;
	r.duration_ns = now - nic->ns;
	r.ns = nic->ns;
	nic->ns = now;
	if (is_first || (!is_active && !nic->was_active))
		return;
	nic->was_active = is_active;
	sample_set(&r, V_LINK, nic->link, LINK_INFINIBAND);
	memcpy(r.name, nic->name, sizeof(r.name));
	if (!sample_put(&r))
		*nic = before; /* the next record has what this one had */
}

bool nics_sample(struct nics *n)
{
	if (n->turn++ % LOOK_TURNS == 0)
		nics_find(n);
	for (uint32_t i = 0; i < n->count; i++)
		nic_sample(&n->rows[i], n->is_infiniband ? infiniband_files : net_files);
	return n->count != 0;
}
