/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer_session.h - a tracer for a unit test that is linked with it: a spool that nobody drains,
 * and the CUDA source switched on.
 */
#ifndef TESTS_UNIT_TRACER_SESSION_H
#define TESTS_UNIT_TRACER_SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/core/gate.h"
#include "tracer/session/session.h"
#include "tracer/core/spool_file.h"

#define SPOOL_LIMIT (256u << 20)

static struct tree_control tracer_control;
static char tracer_folder[] = "/tmp/libtrace-unit-XXXXXX";

/* Return false if there is no folder for the spool. */
static bool tracer_session_start(void)
{
	int error = 0;
	clock_init();
	if (!mkdtemp(tracer_folder))
		return false;
	snprintf(session.spool_path, sizeof(session.spool_path), "%s/spool", tracer_folder);
	session.spool = spool_file_create(session.spool_path, SPOOL_LIMIT, &error);
	if (!session.spool)
		return false;
	spool_file_publish(session.spool_path);
	session.spool->limit_bytes = SPOOL_LIMIT;
	session.control = &tracer_control;
	session.pid = (uint32_t)sys_getpid();
	session.state = SESSION_ON;
	session.config.cuda = session.config.cuda_cubins = true;
	session.config.cuda_buffers_bytes = 64u << 20;
	for (int i = 0; i < CHAIN_CLASSES; i++)
		session.config.backtrace_ns[i] = UINT64_MAX;
	tree_gate = 1;
	gate_use(true);
	for (int i = 0; i < CHAIN_CLASSES; i++)
		own_words.chains_ticks[i] = UINT64_MAX;
	clock_point_take(&session.spool->first);
	return true;
}

static void tracer_session_end(void)
{
	unlink(session.spool_path);
	rmdir(tracer_folder);
}

#endif
