/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive.h - derived metrics: definitions, and the metrics that they add to a result.
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
		*section_filter; /* of the section's message, or NULL */
	uint32_t name_id;        /* of results */
	uint64_t added;          /* results that it was added to */
	const char *lacked; /* the metric that a result did not have, or that is a text; NULL */
};

struct ncu_definitions {
	struct ncu_definition *list;
	size_t count;
	uint32_t capacity;
};

/* Adds a definition. 0; -EINVAL with the problem of its expression (column 0: of its name);
 * -ENOMEM; -E2BIG. Filters stay the caller's. */
int ncu_definitions_add(struct ncu_definitions *d, const char *name, const char *expression,
	struct expression_problem *ret_problem);
int ncu_definitions_add_section(struct ncu_definitions *d, const Ncu__ProfilerSection *section,
	void (*problem)(void *user, const char *name, const struct expression_problem *p),
	void *user);
void ncu_definitions_release(struct ncu_definitions *d);

/* Gives the names their numbers: those that the report has, or new ones. 0 or -ENOMEM. */
int ncu_definitions_name(struct ncu_definitions *d, struct ncu_results *results);

/*
 * Adds to a result, which is the caller's to change, what it does not have yet and can be computed;
 * definitions may use each other, in any order. Where the filter of one does not match, or a metric
 * is missing, it is left out. 0 or -ENOMEM.
 */
int ncu_derive(struct ncu_definitions *d, const struct ncu_results *results, Ncu__ProfileResult *r);

#endif
