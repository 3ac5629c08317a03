/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_near.h - which known names somebody may have meant by one that is not known. Thread-safe.
 */
#ifndef READER_CLI_BASE_NAMES_NEAR_H
#define READER_CLI_BASE_NAMES_NEAR_H

#include <stddef.h>

/*
 * The nearest of the names that name_at() gives (NULL behind the last), up to three of them, as
 * "a, b or c": those that differ by a third of their letters at most, or have the whole word in
 * them. The caller frees; NULL = none is near.
 */
char *names_near(const char *word, size_t bytes, const char *(*name_at)(size_t n));

#endif
