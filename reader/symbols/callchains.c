/* SPDX-License-Identifier: Apache-2.0 */
/* callchains.c - callchain nodes of a process. */
#include "reader/symbols/callchains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Gaps are left by lost blocks. A report with more of them is hostile; the limit bounds the time of
 * lookups. */
#define PIECES_MAX 4096u

void callchain_nodes_release(struct callchain_nodes *n)
{
	for (uint32_t i = 0; i < n->count; i++) {
		free(n->pieces[i].parents);
		free(n->pieces[i].addresses);
	}
	free(n->pieces);
	*n = (struct callchain_nodes){0};
}

/* Return the number of pieces that begin at or before `id`. */
static uint32_t pieces_until(const struct callchain_nodes *n, uint32_t id)
{
	uint32_t low = 0, high = n->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (n->pieces[middle].first_id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct callchain_piece *piece_before(const struct callchain_nodes *n, uint32_t id)
{
	uint32_t until = pieces_until(n, id);
	return until ? &n->pieces[until - 1] : NULL;
}

static struct callchain_piece *piece_new(struct callchain_nodes *n, uint32_t first_id)
{
	uint32_t at = pieces_until(n, first_id);
	if (array_room(&n->pieces, n->count, &n->capacity, sizeof(*n->pieces)))
		return NULL;
	memmove(&n->pieces[at + 1], &n->pieces[at], (n->count - at) * sizeof(*n->pieces));
	n->count++;
	n->pieces[at] = (struct callchain_piece){.first_id = first_id};
	return &n->pieces[at];
}

static int piece_reserve(struct callchain_piece *p)
{
	uint32_t parents = p->capacity, addresses = p->capacity;
	int error = array_room(&p->parents, p->count, &parents, sizeof(*p->parents));
	if (!error)
		error = array_room(&p->addresses, p->count, &addresses, sizeof(*p->addresses));
	if (!error)
		p->capacity = addresses;
	return error;
}

/* Add one node, or verify a node that is already defined. *piece: the piece that the previous node
 * was added to, or NULL. */
static int node_add(struct callchain_nodes *n, struct callchain_piece **piece, uint32_t id,
	uint32_t parent, uint64_t address, const char **ret_cause)
{
	struct callchain_piece *p = *piece;
	if (!p || id - p->first_id > p->count || p->count == UINT32_MAX)
		p = piece_before(n, id);
	uint32_t at = p ? id - p->first_id : 0;
	*ret_cause = "two different callchain nodes with the same id";
	if (p && at < p->count) {
		*piece = p;
		if (!p->addresses[at]) { /* a gap that the first definition left */
			p->parents[at] = parent;
			p->addresses[at] = address;
		}
		return p->parents[at] == parent && p->addresses[at] == address ? 0 : -EBADMSG;
	}
	*ret_cause = "too many gaps between callchain nodes";
	if (!p || at > p->count) {
		if (n->count == PIECES_MAX)
			return -EBADMSG;
		p = piece_new(n, id);
	}
	if (!p || piece_reserve(p))
		return -ENOMEM;
	p->parents[p->count] = parent;
	p->addresses[p->count++] = address;
	/* If the piece now touches the next piece, further nodes belong to the next piece. */
	uint32_t next = (uint32_t)(p - n->pieces) + 1;
	*piece = next < n->count && n->pieces[next].first_id == id + 1 ? NULL : p;
	return 0;
}

int callchain_nodes_add(
	struct callchain_nodes *n, const Libtrace__Callchains *entry, const char **ret_cause)
{
	struct callchain_piece *piece = NULL;
	uint64_t address = 0;
	*ret_cause = "different numbers of parents and addresses of callchain nodes";
	if (entry->n_parents != entry->n_addresses)
		return -EBADMSG;
	*ret_cause = "impossible id of a callchain node";
	if (!entry->first_id || entry->n_parents > UINT32_MAX - entry->first_id)
		return -EBADMSG;
	for (size_t i = 0; i < entry->n_parents; i++) {
		uint32_t id = entry->first_id + (uint32_t)i;
		address += (uint64_t)entry->addresses[i];
		*ret_cause = "parent of a callchain node does not precede it";
		if (entry->parents[i] >= id)
			return -EBADMSG;
		int error = node_add(n, &piece, id, entry->parents[i], address, ret_cause);
		if (error)
			return error;
	}
	return 0;
}

static void node_choose(const struct callchain_nodes *n, enum callchain_view view, uint32_t *parent,
	uint64_t *address)
{
	const bool is_python = (*address & ADDRESS_PYTHON) != 0;
	uint32_t callers_parent;
	uint64_t callers_address = 0;
	const bool has_caller = callchain_node(n, *parent, &callers_parent, &callers_address);
	if (view == CALLCHAINS_PYTHON && is_python) {
		if (callers_address == CALLCHAIN_NO_PYTHON)
			*parent = 0;
	} else if (view == CALLCHAINS_PYTHON) {
		*address = has_caller ? callers_address : CALLCHAIN_NO_PYTHON;
		*parent = has_caller ? callers_parent : *parent;
	} else if (is_python) {
		*address = CALLCHAIN_FOLDED_PYTHON;
		if (callers_address == CALLCHAIN_FOLDED_PYTHON)
			*parent = callers_parent;
	}
}

void callchain_nodes_choose(struct callchain_nodes *n, enum callchain_view view)
{
	if (view == CALLCHAINS_MERGED)
		return;
	/* A node's callers precede it, so they have been reduced already. */
	for (uint32_t i = 0; i < n->count; i++)
		for (uint32_t k = 0; k < n->pieces[i].count; k++)
			node_choose(n, view, &n->pieces[i].parents[k], &n->pieces[i].addresses[k]);
}

bool callchain_node(
	const struct callchain_nodes *n, uint32_t id, uint32_t *ret_parent, uint64_t *ret_address)
{
	const struct callchain_piece *p = id ? piece_before(n, id) : NULL;
	if (!p || id - p->first_id >= p->count)
		return false;
	*ret_parent = p->parents[id - p->first_id];
	*ret_address = p->addresses[id - p->first_id];
	return true;
}

uint32_t callchain_addresses(const struct callchain_nodes *n, uint32_t id, uint64_t *ret_addresses,
	uint32_t room, bool *ret_whole)
{
	uint32_t count = 0;
	while (id && count < room && callchain_node(n, id, &id, &ret_addresses[count]))
		count++;
	*ret_whole = !id;
	return count;
}
