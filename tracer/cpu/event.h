/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - CPU samples triggered by perf's clock (LIBTRACE_SAMPLING_TRIGGER=perf).
 */
#ifndef TRACER_CPU_EVENT_H
#define TRACER_CPU_EVENT_H

#include <stdint.h>

/*
 * Send SIGURG to a thread of this process after each `period_ns` of its processor time, counted in
 * user mode and kernel mode; a period that ends in kernel mode sends none. Return what
 * cpu_event_close() ends, or NULL with a negative errno: EPERM or EACCES, the system does not
 * permit it, or the user may not lock another page of memory; EAGAIN, no task could be created. A
 * forked child and another program have no event. Any thread, async-signal-safe; about 50 us.
 */
void *cpu_event_open(uint32_t tid, uint64_t period_ns, int *ret_error);

/* End an event, of any thread of this process. A signal that it has sent may still arrive. */
void cpu_event_close(void *event);

#endif
