/* SPDX-License-Identifier: Apache-2.0 */
/* The storage tiers where a run saves checkpoints, chosen or compared. */
#include "whole_run/whole_run.h"

#include "base/error.h"

static rk_status load_tiers(const rk_run_question *question, rk_storage *storage, rk_error *err)
{
    return rk_storage_load(
        question->asked.storage_tiers ? question->asked.storage_tiers : "published", storage, err);
}

/* Whether a tier has room for two checkpoints. */
static bool has_room(const rk_whole_run *run, const rk_storage_tier *tier)
{
    const rk_training *t = &run->training;
    return rk_storage_holds(tier, t->checkpoint, 2, t->accelerators, run->reliability.node);
}

/* Seconds to write or read a checkpoint. */
static double copy_seconds(const rk_whole_run *run, const rk_storage_tier *tier)
{
    const rk_training *t = &run->training;
    return rk_storage_time_s(tier, t->checkpoint, t->accelerators, run->reliability.node);
}

static rk_status check_room(const rk_whole_run *run, const rk_storage_tier *tier, rk_error *err)
{
    return has_room(run, tier)
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID,
                         "two checkpoints do not fit into the tier %s; take another tier",
                         tier->name);
}

/* Checkpoints in a tier that survives all interruptions, with latency folded into bandwidth. */
static void save_far(const rk_whole_run *run, const rk_storage_tier *tier, rk_training *t)
{
    t->storage = t->checkpoint / copy_seconds(run, tier);
}

/* Checkpoints in nearby memory: their cost, and the interruptions after which they help. */
static void save_near(const rk_whole_run *run, const rk_storage_tier *tier, rk_training *t)
{
    t->near_write = t->near_read = copy_seconds(run, tier);
    t->near_share = tier->survives == RK_SURVIVES_PROCESS
                        ? 1 - rk_reliability_hardware_share(&run->reliability)
                        : rk_reliability_one_node_share(&run->reliability);
}

static rk_status fill_far(rk_whole_run *run, const rk_storage *storage, rk_error *err)
{
    const rk_storage_tier *tier = rk_storage_find(storage, run->question->far, err);
    if (!tier) {
        return err->code;
    }
    if (tier->survives != RK_SURVIVES_SYSTEM) {
        return rk_fail(err, RK_ERR_INVALID,
                       "checkpoints in the tier %s are lost with their nodes; use "
                       "--near-checkpoint %s, and another tier or --storage for the rest",
                       tier->name, tier->name);
    }
    save_far(run, tier, &run->training);
    return check_room(run, tier, err);
}

rk_status rk_run_fill_tiers(rk_whole_run *run, rk_error *err)
{
    const rk_run_question *question = run->question;
    rk_storage storage;
    if (!question->asked.near_checkpoint && !question->far && !question->compare_tiers) {
        return RK_OK;
    }
    rk_status status = load_tiers(question, &storage, err);
    if (!status && question->far) {
        status = fill_far(run, &storage, err);
    }
    const rk_storage_tier *tier =
        status || !question->asked.near_checkpoint
            ? NULL
            : rk_storage_find(&storage, question->asked.near_checkpoint, err);
    if (!status && question->asked.near_checkpoint && !tier) {
        return err->code;
    }
    if (tier) {
        save_near(run, tier, &run->training);
        status = check_room(run, tier, err);
    }
    return status;
}

rk_status rk_run_compare_tiers(rk_whole_run *run, rk_error *err)
{
    rk_storage storage = {0};
    run->tier_count = 0;
    if (!run->question->compare_tiers) {
        return RK_OK;
    }
    const rk_status status = load_tiers(run->question, &storage, err);
    for (int i = 0; i < storage.count && !status; i++) {
        const rk_storage_tier *tier = &storage.tiers[i];
        rk_run_tier *out = &run->tiers[run->tier_count++];
        rk_training t = run->training;
        rk_training_result result;
        rk_error refused;
        t.near_write = t.near_read = t.near_share = 0;
        *out = (rk_run_tier){.tier = *tier};
        out->holds = has_room(run, tier);
        out->copy_s = copy_seconds(run, tier);
        out->restart_s = t.restart + out->copy_s;
        if (tier->survives == RK_SURVIVES_SYSTEM) {
            save_far(run, tier, &t);
            out->share = 1;
        } else {
            save_near(run, tier, &t);
            out->share = t.near_share;
        }
        if (out->holds && !rk_training_run(&t, &result, &refused)) {
            out->interval_s = result.interval;
            out->goodput = result.goodput;
            out->total_s = result.total;
        }
    }
    return status;
}
