/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON writer, which needs no memory however long the document is. The caller writes
 * keys, values and brackets in order and makes sure that they match.
 */
#ifndef RK_IO_JSON_WRITE_H
#define RK_IO_JSON_WRITE_H

#include "io/out.h"

typedef struct rk_json_writer {
    rk_out *out;
    bool indented; /* two blanks a level and one element a line; otherwise all on one line */
    int depth;     /* open brackets */
    bool started;  /* the innermost bracket holds something */
} rk_json_writer;

/* Writes a member's key; its value must follow.  `name` is ASCII that needs no escapes. */
void rk_json_key(rk_json_writer *writer, const char *name);

/* Starts an element of an array; its value must follow. */
void rk_json_item(rk_json_writer *writer);

/*
 * Writes a value that is JSON text already.  Numbers that are not finite, which JSON lacks
 * ("Infinity", "nan"), and "" are written as null.
 */
void rk_json_value(rk_json_writer *writer, const char *text);

/* Whether a text is a number as JSON writes it: no "+1", ".5", "1." or "01". */
bool rk_json_is_number(const char *text);

/* Writes a string as a value. */
void rk_json_text(rk_json_writer *writer, const char *text);

/* Write a member: a whole number, a number (null when it is not finite), a truth, a string. */
void rk_json_count(rk_json_writer *writer, const char *key, uint64_t value);
void rk_json_real(rk_json_writer *writer, const char *key, double value);
void rk_json_flag(rk_json_writer *writer, const char *key, bool value);
void rk_json_string(rk_json_writer *writer, const char *key, const char *text);

/* Open an object or an array as a member. */
void rk_json_open_member(rk_json_writer *writer, const char *key, const char *bracket);

/*
 * The version of answers, their first member: raised when a member changes its meaning or goes, not
 * when one is added.  docs/schema describes them.
 */
#define RK_SCHEMA_VERSION 1

/*
 * Opens an answer: an object that begins with the versions of the schema and of the library.  In a
 * file that ends in .html it is in the page pages/report.html, which shows it.
 */
void rk_json_open_answer(rk_json_writer *writer);

/*
 * Writes the member "performance": what differs from run to run, which is nowhere else in an
 * answer.  `wall_s` below 0: not measured.
 */
void rk_json_performance(rk_json_writer *writer, double cpu_s, double wall_s);

/* Opens or closes an object ("{", "}") or an array ("[", "]") as a value. */
void rk_json_open(rk_json_writer *writer, const char *bracket);
void rk_json_close(rk_json_writer *writer, const char *bracket);

#endif
