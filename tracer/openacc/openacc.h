/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openacc.h - OpenACC: constructs, data movements and waits, as a runtime reports them to a
 * profiling library.
 *
 * An event with a begin and an end is one row, written at its end. The thread that the event is
 * about; no allocation, lock or system call, but for a thread's first event, the end of a chunk,
 * and a name that was not seen before.
 */
#ifndef TRACER_OPENACC_OPENACC_H
#define TRACER_OPENACC_OPENACC_H

#include <stdbool.h>

#include "tracer/openacc/acc_abi.h"

/* Have a runtime call us for all of its events. Return false if there is no memory. Once. */
bool openacc_listen(acc_register *add);

#endif
