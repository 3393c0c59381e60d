/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of structs that programs fill, as tables: one table checks every enumeration, number
 * and flag of a struct before anything is computed with it.
 */
#ifndef RK_BASE_MEMBERS_H
#define RK_BASE_MEMBERS_H

#include "reckon/predict.h"

typedef enum rk_member_kind {
    RK_MEMBER_FLAG,     /* bool */
    RK_MEMBER_ENUM,     /* an enumeration, whose values are least to most */
    RK_MEMBER_INT,      /* int */
    RK_MEMBER_UNSIGNED, /* unsigned */
    RK_MEMBER_INT64,    /* int64_t */
    RK_MEMBER_REAL,     /* double; never NaN or infinite */
    RK_MEMBER_COUNTS,   /* rk_counts, each value from least to most */
} rk_member_kind;

typedef struct rk_member {
    const char *name; /* as in the header: "states.weight" */
    rk_member_kind kind;
    size_t offset;      /* in the struct */
    double least, most; /* inclusive */
    bool or_zero;       /* 0 is legal too */
    bool above;         /* of a number: `least` itself is not */
    size_t to;          /* offset in the struct that rk_members_copy fills */
} rk_member;

#define RK_MEMBER_REAL_MAX 0x1p63 /* bound of numbers without another, as of options */

#define RK_FLAG(type, name_)                                                                       \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_FLAG, .offset = offsetof(type, name_), .most = 1         \
    }
#define RK_MEMBER(type, kind_, name_, least_, most_)                                               \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_##kind_, .offset = offsetof(type, name_),                \
        .least = (double)(least_), .most = (double)(most_)                                         \
    }

/* A number that 0 leaves open. */
#define RK_MEMBER_OR_ZERO(type, name_, least_, most_)                                              \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_REAL, .offset = offsetof(type, name_), .least = least_,  \
        .most = most_, .or_zero = true                                                             \
    }

#define RK_MEMBER_ABOVE(type, name_, least_, most_)                                                \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_REAL, .offset = offsetof(type, name_), .least = least_,  \
        .most = most_, .above = true                                                               \
    }

/* Refuses the first member out of its bounds; err->path is its name, behind `prefix`. */
rk_status rk_members_check(const void *given, const char *prefix, const rk_member *members,
                           size_t count, rk_error *err);

/*
 * Copies a struct of a program, which begins with its size and may be shorter or longer than ours,
 * and checks the members that it has.  `to` holds `known` bytes, and what the program's struct
 * lacks remains as it was.  Refuses NULL and a size that no version of the struct can have.
 */
rk_status rk_members_take(void *to, size_t known, const void *given, const char *type,
                          const rk_member *members, size_t count, rk_error *err);

/* Copies members of a struct to their places in another, where they have the same types. */
void rk_members_copy(void *to, const void *from, const rk_member *members, size_t count);

#endif
