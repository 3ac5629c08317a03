/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pytorch.h - NVTX ranges of PyTorch's autograd, which the program does not turn on itself.
 *
 * By option only (LIBTRACE_PYTORCH=autograd-nvtx): once `torch` is imported, a pending call of the
 * interpreter enters torch.autograd.profiler.emit_nvtx() in the main thread, and leaves it entered.
 * Errors are a diagnostic and do not reach the program.
 */
#ifndef TRACER_CORE_PYTORCH_H
#define TRACER_CORE_PYTORCH_H

#include <stdbool.h>

#include "tracer/core/thread.h"

/* True from the start of the session, if the option is given, until PyTorch has been asked. */
extern bool pytorch_may_come __attribute__((visibility("hidden")));

/* Read the option. Once, when the session starts. */
void pytorch_start(void);

/*
 * Ask the interpreter for a pending call that looks for `torch`, at most every 10 ms. Call while
 * pytorch_may_come, within a call of the program that takes none of the interpreter's locks. In the
 * guard; errno is kept.
 */
void pytorch_look(struct thread *t);

#endif
