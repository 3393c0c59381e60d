/* SPDX-License-Identifier: Apache-2.0 */
/* Values of launches in the words of options. */
#ifndef RK_REQUEST_LAUNCH_WORDS_H
#define RK_REQUEST_LAUNCH_WORDS_H

#include <stdbool.h>

#define RK_LAUNCH_LIST_SIZE 256

/* Whether a compiler is on by the fact "compile", "true" or "model+loss"; NULL: it is off. */
bool rk_launch_compiles(const char *parts);

/* A list as options expect it, "a,b", from one with commas, blanks or '+', or from JSON. */
const char *rk_launch_list_of(const char *value, char out[RK_LAUNCH_LIST_SIZE]);

/* The names of a list that an option knows. */
const char *rk_launch_choose(const char *value, const char *const *names,
                             char out[RK_LAUNCH_LIST_SIZE]);

/*
 * The option's word for a framework's value of a field, and what that word leaves uncounted (NULL:
 * nothing).  A value without such a word is returned as it is, and the option refuses it.
 */
const char *rk_launch_word_of(const char *field, const char *value, const char **note);

#endif
