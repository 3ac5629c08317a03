/* SPDX-License-Identifier: Apache-2.0 */
/* proto.c - buffer for protobuf messages. */
#include "reader/export/proto.h"

#include <errno.h>
#include <stdlib.h>

#include "common/utf8.h"

void proto_release(struct proto *p)
{
	free(p->bytes);
	*p = (struct proto){0};
}

bool proto_grow(struct proto *p, size_t bytes)
{
	size_t room = p->room ? p->room : 2 * (size_t)PROTO_FLUSH_BYTES;
	while (room - p->used < bytes)
		room *= 2;
	uint8_t *larger = p->failed ? NULL : realloc(p->bytes, room);
	if (!larger) {
		p->failed = true;
		return false;
	}
	p->bytes = larger;
	p->room = room;
	return true;
}

int proto_flush(struct proto *p, FILE *out, bool all)
{
	if (p->failed)
		return -ENOMEM;
	if (!all && p->used < PROTO_FLUSH_BYTES)
		return 0;
	bool written = !p->used || fwrite(p->bytes, 1, p->used, out) == p->used;
	p->used = 0;
	return written ? 0 : -EPIPE;
}

void proto_clean(struct proto *p, uint32_t field, const char *text, size_t bytes)
{
	size_t clean_bytes = utf8_clean_bytes(text, bytes);
	if (clean_bytes == bytes) {
		proto_text(p, field, text, bytes);
		return;
	}
	char *copy = malloc(clean_bytes + 1);
	if (copy) {
		utf8_clean(text, bytes, copy);
		proto_text(p, field, copy, clean_bytes);
	}
	p->failed |= !copy;
	free(copy);
}
