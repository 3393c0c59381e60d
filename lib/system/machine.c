/* SPDX-License-Identifier: Apache-2.0 */
/* Parses accelerator counts with systems, such as "64xh100", "h100:8" and TPU slice names. */
#include "system/machine.h"

#include "base/error.h"
#include "io/catalogue.h"
#include "io/json.h"
#include "system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/* Bytes of what joins a number and a system: x, * or the sign of multiplication; 0: neither. */
static size_t joint_length(const char *at)
{
    static const char sign[] = "\xc3\x97";
    return *at == 'x' || *at == 'X' || *at == '*' ? 1 : strncmp(at, sign, 2) == 0 ? 2 : 0;
}

/* Reads a number that has no sign; false: it is none, or too large. */
static bool read_number(const char *text, size_t length, int64_t *number)
{
    char own[20];
    if (length == 0 || length >= sizeof(own) || strspn(text, digits) < length) {
        return false;
    }
    memcpy(own, text, length);
    own[length] = '\0';
    *number = strtoll(own, NULL, 10);
    return true;
}

static bool set_name(rk_machine *machine, const char *name, size_t length)
{
    if (length == 0 || length >= sizeof(machine->system)) {
        return false;
    }
    memcpy(machine->system, name, length);
    machine->system[length] = '\0';
    return true;
}

/* "8x8xh100": their product may be what is meant, or nodes. */
static rk_status fail_two_numbers(const char *word, int64_t first, const char *rest, rk_error *err)
{
    const size_t length = strspn(rest, digits);
    int64_t second = 0;
    const bool fits = read_number(rest, length, &second) && second > 0 && first > 0 &&
                      first <= INT32_MAX && second <= INT32_MAX;
    if (!fits) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%.200s has two numbers; write one, of accelerators, as in 64xh100", word);
    }
    const char *name = rest + length + joint_length(rest + length);
    return rk_fail(err, RK_ERR_INVALID,
                   "%.200s has two numbers; write their product, %" PRId64
                   "x%.200s, or --nodes %" PRId64 " --gpus-per-node %" PRId64 " --system %.200s",
                   word, first * second, name, first, second, name);
}

static bool is_system(const char *name)
{
    return rk_catalogue_find("accelerators", name) || rk_catalogue_find("systems", name);
}

/* "v5p-128": the number counts TensorCores, of which a chip has several. */
static rk_status read_slice(const char *word, rk_machine *machine, bool *found, rk_error *err)
{
    const char *dash = strrchr(word, '-');
    rk_system system;
    int64_t cores = 0;
    *found = false;
    if (!dash || !read_number(dash + 1, strlen(dash + 1), &cores) || cores < 1 ||
        rk_catalogue_find("models", word) || !set_name(machine, word, (size_t)(dash - word)) ||
        !rk_catalogue_find("accelerators", machine->system)) {
        return RK_OK;
    }
    rk_status status = rk_system_load(machine->system, &system, err);
    if (status) {
        return status;
    }
    const int64_t each = system.accelerator.tensor_cores;
    if (each == 0 && is_system(word)) { /* "a100-80"; "v5p-1024" may end in a date, too */
        status = RK_OK;
    } else if (each == 0) {
        status =
            rk_fail(err, RK_ERR_INVALID,
                    "%.200s is no system; write the accelerators first, as in %" PRId64 "x%.200s",
                    word, cores, machine->system);
    } else {
        *found = cores >= each && cores % each == 0;
        machine->count = cores / each;
        status = *found ? RK_OK
                        : rk_fail(err, RK_ERR_INVALID,
                                  "%.200s is no slice: its number counts TensorCores, of which a "
                                  "chip has %" PRId64 "; write the chips, as in 64x%.200s",
                                  word, each, machine->system);
    }
    rk_system_clear(&system);
    return status;
}

/*
 * "2xv5e-256": slices joined by the data-centre network alone.  Slices that are no whole pods
 * become a document of their own, whose torus ends with the slice.
 */
static rk_status join_slices(const char *word, rk_machine *machine, rk_error *err)
{
    char name[64];
    rk_machine slice;
    rk_system system;
    bool found = false;
    if (strlen(machine->system) >= sizeof(name)) {
        return RK_OK;
    }
    memcpy(name, machine->system, strlen(machine->system) + 1);
    rk_status status = read_slice(name, &slice, &found, err);
    if (status || !found) {
        return status;
    }
    if (machine->count > INT64_MAX / slice.count) {
        return rk_fail(err, RK_ERR_INVALID, "%.200s is more than can be counted", word);
    }
    status = rk_system_load(slice.system, &system, err);
    if (status) {
        return status;
    }
    const int64_t slices = machine->count;
    machine->count = slices * slice.count;
    if (slices == 1 || system.tier_count < 2 || slice.count == system.tiers[0].size) {
        *machine = (rk_machine){.count = machine->count};
        (void)set_name(machine, slice.system, strlen(slice.system));
    } else {
        (void)snprintf(machine->system, sizeof(machine->system),
                       "{\"name\": \"%.60s\", \"accelerator\": \"%.60s\", \"tiers\": "
                       "[{\"as\": \"%s\", \"size\": %" PRId64 "}, {\"as\": \"%s\"}]}",
                       word, slice.system, system.tiers[0].name, slice.count, system.tiers[1].name);
    }
    rk_system_clear(&system);
    return RK_OK;
}

/* "h100:64", "h100x64", "4090x2". */
static bool read_number_last(const char *word, rk_machine *machine)
{
    const size_t length = strlen(word);
    size_t start = length;
    while (start > 0 && strchr(digits, word[start - 1])) {
        start--;
    }
    return start > 1 && start < length && strchr(":xX*", word[start - 1]) && !is_system(word) &&
           read_number(word + start, length - start, &machine->count) && machine->count > 0 &&
           set_name(machine, word, start - 1) && is_system(machine->system);
}

rk_status rk_machine_read_number_first(const char *word, rk_machine *machine, rk_error *err)
{
    const size_t sign = *word == '-' || *word == '+';
    const size_t length = sign + strspn(word + sign, "0123456789.,_eEkKmMgGtT+-");
    const size_t joint = joint_length(word + length);
    const bool starts = word[sign] >= '0' && word[sign] <= '9';
    *machine = (rk_machine){.count = 0};
    if (!starts || joint == 0 || word[length + joint] == '\0' || strchr(word + length, ',')) {
        return RK_OK;
    }
    if (!read_number(word, length, &machine->count) || machine->count < 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%.200s needs a whole number of 1 or more before the %.*s, in digits, as in "
                       "64xh100, not '%.*s'",
                       word, (int)joint, word + length, (int)(length < 40 ? length : 40), word);
    }
    const char *name = word + length + joint;
    const size_t second = strspn(name, digits);
    if (second > 0 && joint_length(name + second) > 0 &&
        name[second + joint_length(name + second)]) {
        return fail_two_numbers(word, machine->count, name, err);
    }
    if (name[second] == '\0' && !is_system(name) && read_number_last(word, machine)) {
        return RK_OK;
    }
    return set_name(machine, name, strlen(name)) ? join_slices(word, machine, err) : RK_OK;
}

rk_status rk_machine_read(const char *word, rk_machine *machine, rk_error *err)
{
    bool found = false;
    rk_status status = rk_machine_read_number_first(word, machine, err);
    if (status || machine->system[0] || rk_json_is_file(word) || rk_json_is_text(word)) {
        return status;
    }
    found = read_number_last(word, machine);
    status = found ? RK_OK : read_slice(word, machine, &found, err);
    if (!found) {
        machine->system[0] = '\0';
    }
    return status;
}

/* Whether a document may say what its name counts; most do not, and are not read further. */
static rk_status find_unit(const char *name, bool *found, rk_error *err)
{
    rk_json_doc doc;
    const bool document = rk_json_is_file(name) || rk_json_is_text(name);
    *found = false;
    if (!document && !rk_catalogue_find("systems", name)) {
        return RK_OK;
    }
    const rk_status status = rk_json_load(name, "systems", &doc, err);
    if (!status) {
        *found = json_object_get(doc.root, "unit") != NULL;
        rk_json_clear(&doc);
    }
    return status;
}

rk_status rk_machine_unit(const char *name, int64_t *each, rk_error *err)
{
    rk_system system;
    bool found;
    *each = 1;
    rk_status status = find_unit(name, &found, err);
    status = status || !found ? status : rk_system_load(name, &system, err);
    if (!status && found) {
        *each = system.unit == RK_UNIT_ACCELERATOR ? 1 : rk_system_unit_size(&system);
        rk_system_clear(&system);
    }
    return status == RK_ERR_MEMORY ? status : RK_OK;
}
