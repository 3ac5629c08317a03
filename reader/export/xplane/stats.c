/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - encoding of stats of an XSpace. */
#include "reader/export/xplane/stats.h"

static const char *const stat_names[] = {
	"",
#define STAT(id, name) name,
#include "reader/export/xplane/stats.def"
};

const char *xplane_stat_name(enum xplane_stat stat)
{
	return stat_names[stat];
}

void xplane_stat_u64(struct proto *p, uint32_t field, enum xplane_stat stat, uint64_t value)
{
	size_t message = proto_open(p, field);
	proto_u64(p, STAT_METADATA, stat);
	proto_u64(p, STAT_U64, value);
	proto_close(p, message);
}

void xplane_stat_i64(struct proto *p, uint32_t field, enum xplane_stat stat, int64_t value)
{
	size_t message = proto_open(p, field);
	proto_u64(p, STAT_METADATA, stat);
	proto_u64(p, STAT_I64, (uint64_t)value);
	proto_close(p, message);
}
