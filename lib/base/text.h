/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and names as text. */
#ifndef RK_BASE_TEXT_H
#define RK_BASE_TEXT_H

#include "reckon/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RK_NUMBER_TEXT_SIZE 40

/*
 * Writes the shortest decimal text that reads back as the same double ("0.1", "1e-05", "312").
 * Integral values below 1e16 have no decimal point.  NaN and infinities become "NaN", "Infinity",
 * "-Infinity".  Returns out.
 */
const char *rk_double_text(double value, char out[RK_NUMBER_TEXT_SIZE]);

#define RK_INTEGER_TEXT_SIZE 21

/* Writes an integer into RK_INTEGER_TEXT_SIZE bytes.  Returns out. */
const char *rk_integer_text(int64_t value, char *out);

/* The same as Python writes a float: integral values below 1e16 end in ".0".  Returns out. */
const char *rk_python_float_text(double value, char out[RK_NUMBER_TEXT_SIZE]);

/* The published styles of human-readable numbers: three decimals, a blank, a letter, a suffix. */
typedef enum rk_human_style {
    RK_HUMAN_BASE10,     /* steps of 1000, no suffix */
    RK_HUMAN_BASE2,      /* steps of 1024, no suffix */
    RK_HUMAN_BYTES,      /* 1024, "iB" */
    RK_HUMAN_BANDWIDTH,  /* 1000, "B/s" */
    RK_HUMAN_FLOPS,      /* 1000, "Ops" */
    RK_HUMAN_THROUGHPUT, /* 1000, "Op/s" */
} rk_human_style;

/*
 * Writes e.g. "52.080 GiB"; NaN prints "n/a iB".  Values past the letter E keep that letter.
 * Returns out.
 */
const char *rk_human_text(double value, rk_human_style style, char out[RK_NUMBER_TEXT_SIZE]);

/* A count of parameters or tokens: "70.55 B", "15.6 T", "512".  Returns out. */
const char *rk_count_text(double value, char out[RK_NUMBER_TEXT_SIZE]);

/* A whole number with commas between thousands: "15,904,064". */
#define RK_COMMAS_SIZE 32
const char *rk_with_commas(uint64_t number, char out[RK_COMMAS_SIZE]);

/* A number of things, by the word for one: "1 accelerator", "16,384 accelerators". */
#define RK_COUNTED_SIZE 64
const char *rk_counted(uint64_t number, const char *noun, char out[RK_COUNTED_SIZE]);

/*
 * Returns the name nearest to `given` among names[0..count), or NULL when none is near enough to
 * be a misspelling (edit distance above a third of the length; of three letters, one).
 */
const char *rk_nearest_name(const char *given, const char *const *names, size_t count);

/* The same with an edit distance of at most `most`. */
const char *rk_nearest_name_within(const char *given, const char *const *names, size_t count,
                                   size_t most);

/* Reads one character of UTF-8 and moves on; 0xFFFD for what is none or is illegal in XML. */
uint32_t rk_next_character(const unsigned char **text);

/* Characters in the first `size` bytes of a UTF-8 text. */
size_t rk_count_characters(const char *text, size_t size);

/*
 * Marks in a text for people, which have no width: what follows the first two, up to the third, is
 * the recommendation, or tight.  rk_job_print colours it on a terminal, and drops the marks
 * elsewhere.
 */
#define RK_MARK_BEST  "\x01"
#define RK_MARK_TIGHT "\x02"
#define RK_MARK_END   "\x03"
#define RK_MARKS      RK_MARK_BEST RK_MARK_TIGHT RK_MARK_END

/* A text that grows at its end and is cut off at the end of its room. */
typedef struct rk_growing_text {
    char *text;
    size_t size, used; /* used may pass size */
} rk_growing_text;

void rk_text_add(rk_growing_text *to, const char *format, ...) RK_PRINTF(2, 3);

/* A letter of ASCII in lower case, whatever the locale; any other character as it is. */
char rk_lower(char c);

/* Returns whether `text` is one of words[0..count). */
bool rk_is_among(const char *text, const char *const *words, size_t count);

/* Returns whether `text` ends in `suffix`. */
bool rk_ends_with(const char *text, const char *suffix);

/*
 * The path of a file that a document names: an absolute one as it is, another from the folder of
 * the document.  Returns false when it does not fit into `size` bytes.
 */
bool rk_path_beside(const char *name, const char *document, char *out, size_t size);

#endif
