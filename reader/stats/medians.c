/* SPDX-License-Identifier: Apache-2.0 */
/* medians.c - the extra passes over a report that exact medians need. */
#include "reader/stats/medians.h"

int medians_find(const struct medians *m, const struct report *r,
	const struct contents_visitor *again, uint32_t *ret_passes)
{
	for (*ret_passes = 1;; ++*ret_passes) {
		bool more = false;
		for (uint32_t i = 0; i < m->count; i++) {
			int result = durations_pass_end(m->at(m->user, i));
			if (result < 0)
				return result;
			more |= result == 1;
		}
		int error = more ? contents_batches(r, again) : 0;
		if (error || !more)
			return error;
	}
}
