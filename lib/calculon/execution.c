/* SPDX-License-Identifier: Apache-2.0 */
/* Legality of a mapping: degrees, batch, and settings that depend on one another. */
#include "calculon/execution.h"

#include "base/divisors.h"
#include "base/error.h"
#include "base/members.h"
#include "base/units.h"

#include <inttypes.h>

#define DEGREE(name)      RK_MEMBER(rk_calculon_exe, INT64, name, 1, INT64_C(1) << 31)
#define BATCH(name)       RK_MEMBER(rk_calculon_exe, INT64, name, 1, INT64_C(1) << 40)
#define KIND(name, most_) RK_MEMBER(rk_calculon_exe, ENUM, name, 0, most_)

/*
 * Every number is positive and small enough that products of two stay within 63 bits.  Whether a
 * datatype is known is asked after the networks, as the published tool does.
 */
static const rk_member members[] = {
    DEGREE(num_procs),
    DEGREE(tensor_par),
    DEGREE(pipeline_par),
    DEGREE(data_par),
    DEGREE(pipeline_interleaving),
    BATCH(batch_size),
    BATCH(microbatch_size),
    KIND(attention_type, RK_MULTIQUERY),
    KIND(activation_recompute, RK_RECOMPUTE_NONE),
    KIND(tensor_par_comm_type, RK_TP_RS_AG),
    KIND(tensor_par_overlap, RK_OVERLAP_PIPE),
};

/* The degrees multiply to the processors and split the batch; all values are in their bounds. */
static rk_status check_degrees(const rk_calculon_exe *exe, rk_error *err)
{
    const long long procs = exe->num_procs, batch = exe->batch_size, data = exe->data_par;
    const long long model = (long long)(exe->tensor_par * exe->pipeline_par); /* up to 2^62 */
    if (model > procs || model * data != procs) {
        return rk_fail_at(err, RK_ERR_INVALID, "num_procs",
                          "tensor_par * pipeline_par * data_par is %.0f, but num_procs is %lld",
                          (double)model * (double)data, procs);
    }
    if (batch % data) {
        const long long above = (batch / data + 1) * data;
        const bool up = above - batch <= batch % data || batch < data;
        return rk_fail_at(err, RK_ERR_INVALID, "batch_size",
                          "batch_size %lld is not a multiple of data_par %lld; the nearest is %lld",
                          batch, data, up ? above : above - data);
    }
    const long long local = batch / data, microbatch = exe->microbatch_size;
    if (local % microbatch) {
        return rk_fail_at(
            err, RK_ERR_INVALID, "microbatch_size",
            "batch_size / data_par is %lld, which is not a multiple of microbatch_size "
            "%lld; %lld would do",
            local, microbatch, (long long)rk_common_divisor(local, microbatch));
    }
    return RK_OK;
}

/* Settings that need another setting. */
static rk_status check_settings(const rk_calculon_exe *exe, rk_error *err)
{
    const bool recompute = exe->activation_recompute != RK_RECOMPUTE_NONE;
    const struct {
        bool broken;
        const char *key, *message;
    } rules[] = {
        {recompute && !exe->training, "activation_recompute",
         "recomputation needs training; use \"none\" for inference"},
        {exe->pipeline_par == 1 && exe->pipeline_interleaving > 1, "pipeline_interleaving",
         "interleaving needs pipeline_par above 1; use 1 without pipeline parallelism"},
        {exe->optimizer_sharding && exe->data_par == 1, "optimizer_sharding",
         "sharding the optimizer needs data_par above 1; use false"},
        {exe->tensor_par_overlap != RK_OVERLAP_NONE && exe->tensor_par == 1, "tensor_par_overlap",
         "overlap needs tensor_par above 1; use \"none\" without tensor parallelism"},
        {exe->seq_par_ag_redo && exe->tensor_par_comm_type != RK_TP_RS_AG, "seq_par_ag_redo",
         "repeating all-gathers needs tensor_par_comm_type \"rs_ag\"; use false"},
        {exe->seq_par_ag_redo && exe->activation_recompute == RK_RECOMPUTE_FULL, "seq_par_ag_redo",
         "full recomputation repeats all-gathers already; use false, or activation_recompute "
         "\"attn_only\" or \"none\""},
        {exe->data_par_overlap && !exe->training, "data_par_overlap",
         "overlap of gradients needs training; use false for inference"},
        {exe->data_par_overlap && exe->data_par == 1, "data_par_overlap",
         "overlap of gradients needs data_par above 1; use false"},
        {exe->optimizer_offload && !exe->training, "optimizer_offload",
         "inference has no optimizer to offload; use false"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].broken) {
            return rk_fail_at(err, RK_ERR_INVALID, rules[i].key, "%s", rules[i].message);
        }
    }
    return RK_OK;
}

rk_status rk_calculon_exe_check(const rk_calculon_exe *exe, rk_error *err)
{
    rk_status status;
    if ((status = rk_members_check(exe, "", members, COUNT(members), err)) ||
        (status = check_degrees(exe, err))) {
        return status;
    }
    return check_settings(exe, err);
}
