/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_names.c - names of NVTX domains and registered texts, by id. */
#include "reader/ncu/nvtx_names.h"

#include <stdbool.h>
#include <stdlib.h>

struct ncu_nvtx_name {
	uint64_t id;
	size_t place; /* of equal ids, the first is used */
	const char *text;
};

void ncu_nvtx_names_init(struct ncu_nvtx_names *n, const Ncu__NvtxState *state)
{
	*n = (struct ncu_nvtx_names){.state = state};
}

void ncu_nvtx_names_release(struct ncu_nvtx_names *n)
{
	free(n->domains.rows);
	free(n->texts.rows);
	ncu_nvtx_names_init(n, NULL);
}

static int by_id(const void *a, const void *b)
{
	const struct ncu_nvtx_name *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Call `one` for each name until it returns true. */
typedef bool name_visitor(void *user, uint64_t id, const char *text);

static void domains_each(const Ncu__NvtxState *s, name_visitor *one, void *user)
{
	for (size_t i = 0; i < s->n_domains; i++)
		if (s->domains[i]->name && one(user, s->domains[i]->id, s->domains[i]->name))
			return;
}

static void texts_each(const Ncu__NvtxState *s, name_visitor *one, void *user)
{
	for (size_t d = 0; d < s->n_domains; d++)
		for (size_t i = 0; i < s->domains[d]->n_strings; i++)
			if (s->domains[d]->strings[i]->value &&
				one(user, s->domains[d]->strings[i]->id,
					s->domains[d]->strings[i]->value))
				return;
}

static bool count_one(void *user, uint64_t id, const char *text)
{
	(void)id;
	(void)text;
	++*(size_t *)user;
	return false;
}

static bool row_add(void *user, uint64_t id, const char *text)
{
	struct ncu_nvtx_list *l = user;
	l->rows[l->count] = (struct ncu_nvtx_name){id, l->count, text};
	l->count++;
	return false;
}

static bool row_search(void *user, uint64_t id, const char *text)
{
	struct ncu_nvtx_name *wanted = user;
	if (id == wanted->id)
		wanted->text = text;
	return wanted->text != NULL;
}

static const char *name_of(const Ncu__NvtxState *s, struct ncu_nvtx_list *l,
	void (*each)(const Ncu__NvtxState *s, name_visitor *one, void *user), uint64_t id)
{
	struct ncu_nvtx_name wanted = {.id = id};
	size_t count = 0, begin = 0;
	if (!s)
		return NULL;
	if (!l->rows) {
		each(s, count_one, &count);
		l->rows = malloc(count * sizeof(*l->rows) + 1);
		if (l->rows) {
			each(s, row_add, l);
			qsort(l->rows, l->count, sizeof(*l->rows), by_id);
		}
	}
	if (!l->rows) {
		each(s, row_search, &wanted);
		return wanted.text;
	}
	for (size_t end = l->count; begin < end;) {
		const size_t middle = begin + (end - begin) / 2;
		if (l->rows[middle].id < id)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < l->count && l->rows[begin].id == id ? l->rows[begin].text : NULL;
}

const char *ncu_nvtx_domain(struct ncu_nvtx_names *n, uint64_t id)
{
	return name_of(n->state, &n->domains, domains_each, id);
}

const char *ncu_nvtx_text(struct ncu_nvtx_names *n, uint64_t handle)
{
	return name_of(n->state, &n->texts, texts_each, handle);
}
