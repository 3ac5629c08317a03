/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive.h - derived metrics: definitions, and the metrics they add to results.
 *
 * One thread; allocates.
 */
#ifndef READER_NCU_DERIVE_H
#define READER_NCU_DERIVE_H

#include "reader/ncu/displayed_metrics.h"
#include "reader/ncu/expression.h"

#define DEFINITIONS_MAX 1024u

struct ncu_definition {
	char *name;
	struct expression expression;
	const Ncu__MetricOptionFilter *filter,
		*section_filter; /* filter of the section's message, or NULL */
	uint32_t name_id;        /* NameId in the results */
	uint64_t added;          /* number of results that it was added to */
	const char *lacked;      /* metric that a result lacked, or that is a text; NULL = none */
};

struct ncu_definitions {
	struct ncu_definition *list;
	size_t count;
	uint32_t capacity;
};

/* Add a definition, or the definitions of a section file. Returns 0; -EINVAL with the problem of
 * the expression (column 0: of the name); -ENOMEM; -E2BIG. ncu_definitions_add_section() passes
 * invalid definitions to `problem` and skips them; `section` must outlive the definitions. */
int ncu_definitions_add(struct ncu_definitions *d, const char *name, const char *expression,
	struct expression_problem *ret_problem);
int ncu_definitions_add_section(struct ncu_definitions *d, const Ncu__ProfilerSection *section,
	void (*problem)(void *user, const char *name, const struct expression_problem *p),
	void *user);
/* Free all definitions. */
void ncu_definitions_release(struct ncu_definitions *d);

/* Assign name ids: those of the report, or new ones. Returns 0 or -ENOMEM. */
int ncu_definitions_name(struct ncu_definitions *d, struct ncu_results *results);

/*
 * Add to a result, which the caller may modify, all metrics that it lacks and that can be computed;
 * definitions may use each other, in any order. A definition is skipped if its filter does not
 * match or a metric is missing. Returns 0 or -ENOMEM.
 */
int ncu_derive(struct ncu_definitions *d, const struct ncu_results *results, Ncu__ProfileResult *r);

#endif
