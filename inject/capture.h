/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - the signal of the capture range, for the other files of inject/.
 */
#ifndef INJECT_CAPTURE_H
#define INJECT_CAPTURE_H

/* Install the handler of the capture range's signal, if there is one. Called in our constructor. */
void capture_listen(void);

/* The handler itself, which the program must not see. */
void capture_on_signal(int number);

#endif
