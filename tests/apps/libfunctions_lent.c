/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -Wl,-z,lazy
/*
 * libfunctions_lent.c - a plugin that calls a function of a library that it was not linked with.
 */
int f_which(void);
int lent_which(void);

int lent_which(void)
{
	return f_which();
}
