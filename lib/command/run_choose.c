/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reckon run` asked for a cluster: which of several systems, and how many accelerators, meet a
 * deadline, a budget or a limit of power.
 */
#include "command/clusters.h"

#include "base/error.h"
#include "request/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number with a unit and its prefix: "30d", "20MW"; infinite where `text` is NULL. */
static rk_status read_measure(const char *option, const char *text, const char *unit, double *value,
                              rk_error *err)
{
    static const char prefixes[] = "kMG";
    char *end;
    *value = HUGE_VAL;
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

/* "h100-sxm:4096,b200-sxm". */
static rk_status read_systems(rk_clusters *c, rk_error *err)
{
    for (const char *at = c->args->request.system; *at;) {
        const size_t length = strcspn(at, ",");
        if (c->offered_count == RK_OFFERED_MAX || length >= sizeof(c->offered[0].name)) {
            return rk_fail(err, RK_ERR_INVALID, "--system takes at most %d systems here",
                           RK_OFFERED_MAX);
        }
        rk_offered *o = &c->offered[c->offered_count++];
        *o = (rk_offered){.most = 0};
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

rk_status rk_run_choose(rk_job *job, const rk_run_args *args, rk_error *err)
{
    rk_clusters *c = calloc(1, sizeof(*c));
    if (!c) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a choice of clusters");
    }
    c->args = args;
    rk_status status = RK_OK;
    if (args->budget > 0 && args->price < 0 && !args->prices) {
        status = rk_fail(err, RK_ERR_INVALID, "--budget needs --price or --prices");
    }
    status = status ? status : read_measure("deadline", args->deadline, "d", &c->deadline, err);
    status = status ? status : read_measure("max-power", args->max_power, "W", &c->max_power, err);
    status = status ? status : read_systems(c, err);
    for (int i = 0; i < c->offered_count && !status; i++) {
        status = rk_clusters_add(job, c, &c->offered[i], err);
    }
    if (!status && c->count == 0 && c->stuck.code) {
        *err = c->stuck;
        status = err->code;
    }
    if (!status && args->request.global_batch == 0) {
        rk_request one = args->request;
        one.accelerators = 1;
        one.seq = one.seq > 0 ? one.seq : c->model.seq;
        status = rk_run_best_batch(&one, one.seq, c->tokens, &c->best_batch, err);
        if (c->best_batch == rk_request_batch_of(&one, one.seq, RK_USUAL_BATCH_TOKENS)) {
            c->best_batch = 0;
        }
    }
    if (!status) {
        rk_clusters_choose(c);
        status = rk_clusters_write(job, c, err);
        rk_job_set_found(job, c->fastest >= 0);
    }
    free(c);
    return status;
}
