/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.c - per-source state, stored with a spool or with the whole tree.
 */
#include "writer/spool/slots.h"

#include <stdlib.h>

void *slot_get(struct slot *o, size_t bytes, void (*release)(void *data))
{
	if (!o->data) {
		o->data = calloc(1, bytes);
		o->release = release;
	}
	return o->data;
}

void slot_release(struct slot *o)
{
	if (o->data && o->release)
		o->release(o->data);
	free(o->data);
	o->data = NULL;
}
