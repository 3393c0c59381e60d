/* SPDX-License-Identifier: Apache-2.0 */
/* How the documents of machines write numbers: inside lib/system only. */
#ifndef RK_SYSTEM_DOC_FIELDS_H
#define RK_SYSTEM_DOC_FIELDS_H

#include "base/units.h"
#include "io/fields.h"
#include "system/system.h"

/* As rk_fields_read, into a struct of seconds, bytes and FLOP. */
rk_status rk_system_read_group(const json_t *object, const char *path, const rk_field *fields,
                               size_t count, void *out, rk_error *err);

/* The list of doubtful keys is for people and tests. */
rk_status rk_system_read_uncertain(const json_t *value, const char *path, void *out, rk_error *err);

/*
 * Far outside of any machine, and far inside of what times, energies and prices computed from them
 * can hold: no sum or quotient of theirs overflows.
 */
#define RATE_LEAST  1e-3 /* GB/s, TFLOP/s, GB: a megabyte a second, a gigaflop a second */
#define RATE_MOST   1e12 /* GB/s, TFLOP/s, GB, tokens */
#define SHARE_LEAST 0.01 /* of a rate */
#define POWER_LEAST 1    /* W */

/* A rate or a capacity; the key is written with its unit. */
#define RATE(key, type_, place, unit_, text)                                                       \
    RK_FIELD(key, NUMBER, offsetof(type_, place), .min = RATE_LEAST, .max = RATE_MOST,             \
             .unit = unit_, .help = text)
/* A number of at least 0 and at most `most` that may be absent. */
#define OPTIONAL(key, type_, place, most, unit_, text)                                             \
    RK_FIELD(key, NUMBER, offsetof(type_, place), .optional = true, .max = most, .unit = unit_,    \
             .help = text)
/* A share of a rate. */
#define SHARE(key, type_, place, text)                                                             \
    RK_FIELD(key, NUMBER, offsetof(type_, place), .min = SHARE_LEAST, .max = 1, .help = text)
/* One rate over another, which may be absent. */
#define RATIO(key, type_, place, most, text)                                                       \
    RK_FIELD(key, NUMBER, offsetof(type_, place), .optional = true, .min = SHARE_LEAST,            \
             .max = most, .help = text)
#define UNCERTAIN                                                                                  \
    RK_FIELD("uncertain", CUSTOM, 0, .optional = true, .read = rk_system_read_uncertain,           \
             .help = "a list of keys")

/* Reads a list of tiers; `out` is an rk_system, which has the tiers of its accelerator. */
rk_status rk_system_read_tiers(const json_t *value, const char *path, void *out, rk_error *err);

/* Readers of what an accelerator says of kernels; `out` is an rk_accelerator. */
rk_status rk_system_read_flash(const json_t *value, const char *path, void *out, rk_error *err);
rk_status rk_system_read_sparse(const json_t *value, const char *path, void *out, rk_error *err);
rk_status rk_system_read_delta(const json_t *value, const char *path, void *out, rk_error *err);

/* Of accelerators that do not say; what FlashMLA and DeepGEMM reach on H100: data/measured. */
extern const rk_sparse_rates rk_usual_sparse;

#endif
