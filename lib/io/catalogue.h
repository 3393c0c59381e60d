/* SPDX-License-Identifier: Apache-2.0 */
/* The documents and tables of data/, embedded in the program. */
#ifndef RK_IO_CATALOGUE_H
#define RK_IO_CATALOGUE_H

#include "reckon/reckon.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct rk_catalogue_entry {
    const char *kind; /* folder below data/, e.g. "calculon/applications" */
    const char *name; /* file name without .json or .csv */
    const char *text; /* size bytes, not terminated */
    size_t size;
} rk_catalogue_entry;

/* All entries, sorted by kind and name; generated at build time from data/. */
extern const rk_catalogue_entry rk_catalogue[];
extern const size_t rk_catalogue_count;

/* The first entry of a kind, which those up to *end follow. */
const rk_catalogue_entry *rk_catalogue_of(const char *kind, const rk_catalogue_entry **end);

/*
 * Returns the entry, or NULL.  Models, accelerators and systems are also found by the other names
 * of data/aliases, regardless of case, hyphens, an organisation before a slash and an ending such
 * as "-instruct".
 */
const rk_catalogue_entry *rk_catalogue_find(const char *kind, const char *name);

/*
 * Returns the entry whose name, or other name of data/aliases, covers most of the letters of `text`
 * as whole words ("NVIDIA L40S-48GB" is l40s, "H20-96GB" is h20 and no H200), or NULL.
 */
const rk_catalogue_entry *rk_catalogue_find_inside(const char *kind, const char *text);

/*
 * Appends the names of `kind` that begin with `start` to a list such as "a, b", as far as they fit.
 * Returns their number.
 */
size_t rk_catalogue_list(const char *kind, const char *start, char *list, size_t size);

/* The same for names that end in the word `end`: "70b" ends llama3-70b. */
size_t rk_catalogue_list_ending(const char *kind, const char *end, char *list, size_t size);

/* The same for the names of the family of `name`, its letters up to the first digit: "gpt" of gpt4.
 * Returns 0 without a digit, or with fewer than three letters before it. */
size_t rk_catalogue_list_family(const char *kind, const char *name, char *list, size_t size);

#define RK_CATALOGUE_WORDS_SIZE 160

/*
 * Refuses an accelerator or instance that is known, but not in the catalogue, with the fact that no
 * source states (data/aliases/missing.csv).  RK_OK: it is not known.
 */
rk_status rk_catalogue_check_missing(const char *name, rk_error *err);

/*
 * Writes the parts of a model other than its language model, "vision tower"
 * (data/aliases/left-out.csv).  False: none is known.
 */
bool rk_catalogue_left_out(const char *name, char words[RK_CATALOGUE_WORDS_SIZE]);

/* Returns the name nearest to `name` among the entries of `kind`, or NULL. */
const char *rk_catalogue_nearest(const char *kind, const char *name);

#endif
