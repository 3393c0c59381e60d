/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and the version; included by every other header of libreckon. */
#ifndef RECKON_BASE_H
#define RECKON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* Marks exported symbols. */
#define RK_API __attribute__((visibility("default")))
/* Marks the index of a printf format and of its first argument. */
#define RK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RK_API
#define RK_PRINTF(fmt, args)
#endif

/* Version of these headers; rk_version returns the library's. */
#define RK_VERSION "0.2.0"
/* The same as a number: 10000 major + 100 minor + patch. */
#define RK_VERSION_NUMBER 200

/* ---- errors ---------------------------------------------------------------------------- */

/* Result of a call. */
typedef enum rk_status {
    RK_OK = 0,          /* done */
    RK_ERR_MEMORY = 1,  /* the machine ran out of memory */
    RK_ERR_IO = 2,      /* a file could not be opened, read or written */
    RK_ERR_SYNTAX = 3,  /* a document is not JSON; line and column are set */
    RK_ERR_INVALID = 4, /* a document or an argument is wrong; file and path say where */
    RK_ERR_LIMIT = 5,   /* a size is too large to compute with */
    RK_ERR_STOPPED = 6, /* stopped by the caller */
} rk_status;

/* Filled by a function that fails; `message` is one sentence, without file or path. */
typedef struct rk_error {
    rk_status code;    /* what the function returned */
    int line, column;  /* 1-based, of a syntax error; 0 otherwise */
    char file[256];    /* document at fault, "" when the fault is in no document */
    char path[128];    /* JSON path of the value at fault, e.g. "networks[1].bandwidth", or the
                          member of a struct, e.g. "states.weight" */
    char message[512]; /* what was found and what is expected */
} rk_error;

/*
 * Writes "file:line:column: path: message" (the parts that are set) to `out`, always terminated.
 * Returns out.
 */
RK_API const char *rk_error_text(const rk_error *err, char *out, size_t size);

/* Returns the version of the loaded library, e.g. "0.2.0". */
RK_API const char *rk_version(void);

#ifdef __cplusplus
}
#endif

#endif
