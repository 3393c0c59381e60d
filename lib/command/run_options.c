/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the values of `reckon run`: phases, batch ramps, durations and powers with units. */
#include "command/run_options.h"

#include "base/error.h"
#include "base/extremes.h"
#include "request/derived_sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- phases ---------------------------------------------------------------------------------- */

/* A sequence length or a batch; 0 if it is out of range. */
static int64_t count_of(double amount)
{
    return amount < INT32_MAX ? (int64_t)amount : 0;
}

static bool read_phase(const char **at, const rk_request *request, rk_run_phase *phase)
{
    phase->seq = count_of(rk_option_amount(at, true));
    if (phase->seq < 1 || **at != ':') {
        return false;
    }
    (*at)++;
    phase->tokens = rk_option_amount(at, false);
    phase->assumed_batch = request->assumed_batch && **at != ':';
    phase->batch = phase->assumed_batch
                       ? rk_request_batch_of(request, phase->seq, RK_USUAL_BATCH_TOKENS)
                       : request->global_batch;
    if (**at == ':') {
        (*at)++;
        phase->batch = count_of(rk_option_amount(at, false));
    }
    return phase->tokens >= 1 && phase->batch >= 1 && (**at == ',' || **at == '\0');
}

static rk_status read_phases(const char *text, rk_run_question *question, rk_error *err)
{
    const rk_request *request = &question->request;
    bool more = text != NULL;
    question->phase_count = 0;
    for (const char *at = text; more; at += more) {
        if (question->phase_count == RK_PHASES_MAX ||
            !read_phase(&at, request, &question->phases[question->phase_count])) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--phases: expected at most %d of SEQUENCE:TOKENS:BATCH as "
                           "8k:15T:2048,128k:100G:128; without the batch it is --global-batch",
                           RK_PHASES_MAX);
        }
        const rk_run_phase *phase = &question->phases[question->phase_count++];
        const rk_status status =
            rk_run_check_length("phases", phase->tokens, phase->batch, phase->seq, err);
        if (status) {
            return status;
        }
        more = *at == ',';
    }
    return RK_OK;
}

/* ---- a rising batch -------------------------------------------------------------------------- */

#define USUAL_STEPS 8

/* "256:250G:8": sequences at first, tokens until the batch is whole, equal steps. */
static rk_status read_ramp(const char *text, rk_batch_ramp *out, rk_error *err)
{
    const char *at = text;
    *out = (rk_batch_ramp){.steps = USUAL_STEPS};
    out->from = rk_option_amount(&at, false);
    bool good = out->from >= 1 && *at == ':';
    at += good;
    out->tokens = good ? rk_option_amount(&at, false) : 0;
    if (*at == ':') {
        at++;
        out->steps = (int64_t)rk_min(rk_option_amount(&at, false), RK_PHASES_MAX);
    }
    good = good && out->tokens >= 1 && out->steps >= 1 && out->steps < RK_PHASES_MAX && !*at;
    return good ? RK_OK
                : rk_fail(err, RK_ERR_INVALID,
                          "--batch-ramp: expected BATCH:TOKENS:STEPS with at most %d steps as "
                          "256:250G:8, found \"%s\"",
                          RK_PHASES_MAX - 1, text);
}

/* ---- numbers with a unit, pairs -------------------------------------------------------------- */

/* A number with a unit and its prefix: "30d", "20MW"; 0 where `text` is NULL. */
static rk_status read_measure(const char *option, const char *text, const char *unit, double *value,
                              rk_error *err)
{
    static const char prefixes[] = "kMG";
    char *end;
    *value = 0;
    if (!text) {
        return RK_OK;
    }
    *value = strtod(text, &end);
    const char *prefix = *end ? strchr(prefixes, *end) : NULL;
    for (; prefix && prefix >= prefixes; prefix--) {
        *value *= 1000;
    }
    end += *end && strchr(prefixes, *end);
    if (end == text || !(*value > 0) || !(*value < HUGE_VAL) || (*end && strcmp(end, unit) != 0)) {
        return rk_fail(err, RK_ERR_INVALID, "--%s: expected a number above 0 as 30%s, found \"%s\"",
                       option, unit, text);
    }
    return RK_OK;
}

static rk_status read_pair(const char *option, const char *text, const char *what, double *first,
                           double *second, rk_error *err)
{
    char *end;
    *first = strtod(text, &end);
    const bool colon = end != text && *end == ':';
    *second = colon ? strtod(end + 1, &end) : 0;
    if (!colon || *end || !(*first > 0) || !(*second > 0) || !(*first < 1e12) ||
        !(*second < 1e12)) {
        return rk_fail(err, RK_ERR_INVALID, "--%s: expected %s, found \"%s\"", option, what, text);
    }
    return RK_OK;
}

rk_status rk_run_read_options(rk_run_options *o, rk_error *err)
{
    rk_run_question *q = &o->question;
    rk_status status = read_phases(o->phases, q, err);
    if (!status && o->batch_ramp) {
        status = read_ramp(o->batch_ramp, &q->ramp, err);
    }
    if (!status && o->maintenance) {
        status = read_pair("maintenance", o->maintenance,
                           "hours and the days from one window to the next as 4:30",
                           &q->window_hours, &q->window_days, err);
    }
    if (!status && o->slow_devices) {
        status = read_pair("slow-devices", o->slow_devices,
                           "percent of the accelerators and by how many percent as 0.5:10",
                           &q->slow_percent, &q->slow_by, err);
    }
    if (!status && !(q->slow_percent < 100)) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "--slow-devices: make the share of slow accelerators less than 100 "
                         "percent");
    }
    status = status ? status : read_measure("deadline", o->deadline, "d", &q->deadline, err);
    return status ? status : read_measure("max-power", o->max_power, "W", &q->max_power, err);
}

/* ---- systems to choose from ------------------------------------------------------------------ */

rk_status rk_run_read_systems(const char *system, rk_clusters *c, rk_error *err)
{
    for (const char *at = system; *at;) {
        const size_t length = strcspn(at, ",");
        if (c->offered_count == RK_SYSTEM_CHOICE_MAX || length >= sizeof(c->offered[0].name)) {
            return rk_fail(err, RK_ERR_INVALID, "--system takes at most %d systems here",
                           RK_SYSTEM_CHOICE_MAX);
        }
        rk_system_choice *o = &c->offered[c->offered_count++];
        *o = (rk_system_choice){.most = 0};
        memcpy(o->name, at, length);
        char *limit = strrchr(o->name, ':');
        if (limit) {
            char *end;
            *limit = '\0';
            o->most = strtoll(limit + 1, &end, 10);
            if (*end || o->most < 1) {
                return rk_fail(err, RK_ERR_INVALID,
                               "--system: expected accelerators after ':', found \"%s\"",
                               limit + 1);
            }
        }
        at += length + (at[length] == ',');
    }
    return RK_OK;
}
