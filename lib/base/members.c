/* SPDX-License-Identifier: Apache-2.0 */
/* Checks struct members against tables of types and bounds, within the size the caller declares. */
#include "base/members.h"

#include "base/error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SIZE_MOST = 1 << 16, NAME_SIZE = 96 }; /* later versions of a struct are longer */

/* Bytes of a member. */
static size_t size_of(rk_member_kind kind)
{
    static const size_t sizes[] = {
        [RK_MEMBER_FLAG] = sizeof(bool),        [RK_MEMBER_ENUM] = sizeof(int),
        [RK_MEMBER_INT] = sizeof(int),          [RK_MEMBER_UNSIGNED] = sizeof(unsigned),
        [RK_MEMBER_INT64] = sizeof(int64_t),    [RK_MEMBER_REAL] = sizeof(double),
        [RK_MEMBER_COUNTS] = sizeof(rk_counts),
    };
    return sizes[kind];
}

/*
 * The value of a scalar member, which may be anything: memory is read as numbers only.  Beyond 2^53
 * it is rounded, as are bounds.
 */
static double value_of(const void *given, const rk_member *member)
{
    const char *place = (const char *)given + member->offset;
    union {
        unsigned char flag;
        int number;
        unsigned bits;
        int64_t count;
        double real;
    } value = {0};
    assert(member->kind != RK_MEMBER_COUNTS);
    memcpy(&value, place, size_of(member->kind));
    switch (member->kind) {
    case RK_MEMBER_FLAG:
        return value.flag;
    case RK_MEMBER_ENUM:
    case RK_MEMBER_INT:
        return value.number;
    case RK_MEMBER_UNSIGNED:
        return value.bits;
    case RK_MEMBER_INT64:
        return (double)value.count;
    default:
        return value.real;
    }
}

static const char *expectation(rk_member_kind kind)
{
    switch (kind) {
    case RK_MEMBER_FLAG:
        return "true (1) or false (0)";
    case RK_MEMBER_ENUM:
        return "a value of its enumeration";
    case RK_MEMBER_UNSIGNED:
        return "a set of bits";
    case RK_MEMBER_REAL:
        return "a number";
    default:
        return "a whole number";
    }
}

static rk_status refuse(const rk_member *member, const char *prefix, double value, rk_error *err)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%s%s", prefix, member->name);
    if (member->kind == RK_MEMBER_FLAG) {
        return rk_fail_at(err, RK_ERR_INVALID, name, "expected %s, found %g",
                          expectation(member->kind), value);
    }
    if (member->above) {
        return rk_fail_at(err, RK_ERR_INVALID, name,
                          "expected a number above %.10g and at most %.10g, found %.10g",
                          member->least, member->most, value);
    }
    return rk_fail_at(err, RK_ERR_INVALID, name, "expected %s%s from %.10g to %.10g, found %.10g",
                      member->or_zero ? "0, or " : "", expectation(member->kind), member->least,
                      member->most, value);
}

static bool within(const rk_member *member, double value)
{
    const bool enough = member->above ? value > member->least : value >= member->least;
    return (enough && value <= member->most) || (member->or_zero && value == 0);
}

static rk_status check_counts(const void *given, const char *prefix, const rk_member *member,
                              rk_error *err)
{
    rk_counts list;
    char name[NAME_SIZE];
    memcpy(&list, (const char *)given + member->offset, sizeof(list));
    if (list.count < 0 || list.count > RK_COUNTS_MAX) {
        (void)snprintf(name, sizeof(name), "%s%s.count", prefix, member->name);
        return rk_fail_at(err, RK_ERR_INVALID, name, "expected 0 to %d numbers, found %d",
                          RK_COUNTS_MAX, list.count);
    }
    for (int i = 0; i < list.count; i++) {
        if (!within(member, (double)list.values[i])) {
            return refuse(member, prefix, (double)list.values[i], err);
        }
    }
    return RK_OK;
}

/* Members beyond `size` bytes are not the program's. */
static rk_status check(const void *given, size_t size, const char *prefix, const rk_member *members,
                       size_t count, rk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const rk_member *member = &members[i];
        if (member->offset + size_of(member->kind) > size) {
            continue;
        }
        if (member->kind == RK_MEMBER_COUNTS) {
            const rk_status status = check_counts(given, prefix, member, err);
            if (status) {
                return status;
            }
            continue;
        }
        const double value = value_of(given, member);
        if (!within(member, value)) {
            return refuse(member, prefix, value, err);
        }
    }
    return RK_OK;
}

rk_status rk_members_check(const void *given, const char *prefix, const rk_member *members,
                           size_t count, rk_error *err)
{
    return check(given, SIZE_MAX, prefix, members, count, err);
}

rk_status rk_members_take(void *to, size_t known, const void *given, const char *type,
                          const rk_member *members, size_t count, rk_error *err)
{
    size_t size;
    if (!given) {
        return rk_fail(err, RK_ERR_INVALID, "the %s is NULL", type);
    }
    memcpy(&size, given, sizeof(size));
    if (size < sizeof(size) || size > SIZE_MOST) {
        return rk_fail_at(err, RK_ERR_INVALID, "size",
                          "no %s has %zu bytes; set size to sizeof(%s), and members that are not "
                          "meant to 0",
                          type, size, type);
    }
    const rk_status status = check(given, size, "", members, count, err);
    if (!status) {
        memcpy(to, given, size < known ? size : known);
        memcpy(to, &known, sizeof(known));
    }
    return status;
}

void rk_members_copy(void *to, const void *from, const rk_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)to + members[i].to, (const char *)from + members[i].offset,
               size_of(members[i].kind));
    }
}
