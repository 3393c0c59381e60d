/* SPDX-License-Identifier: Apache-2.0 */
/* Values of launches in the words of options. */
#ifndef RK_REQUEST_LAUNCH_WORDS_H
#define RK_REQUEST_LAUNCH_WORDS_H

#define RK_LAUNCH_LIST_SIZE 256

/* A list as options take it, "a,b", of one between commas, blanks or '+', or of JSON. */
const char *rk_launch_list_of(const char *value, char out[RK_LAUNCH_LIST_SIZE]);

/* Names of a list that are among those of an option; the others are left out. */
const char *rk_launch_choose(const char *value, const char *const *names,
                             char out[RK_LAUNCH_LIST_SIZE]);

/* Frameworks' words for the ways of context parallelism; others are refused by the option. */
const char *rk_launch_cp_kind(const char *word);

#endif
