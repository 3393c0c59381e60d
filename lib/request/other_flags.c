/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: torchtitan/config/job_config.py of pytorch/torchtitan, deepspeed/launcher/runner.py of
 * DeepSpeed, transformers/training_args.py, and vLLM's and nanotron's names of degrees.
 */
#include "request/other_flags.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "request/deepspeed_config.h"
#include "request/launch_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- values --------------------------------------------------------------------------------- */

/* Words of other tools for the values of an option; the last pair is NULL. */
typedef const char *const word_pair[2];

static word_pair recomputes[] = {
    {"none", "none"}, {"false", "none"}, {"selective", "selective"},
    {"full", "full"}, {"true", "full"},  {"uniform", "full"},
    {NULL, NULL},
};

/* torch.distributed.pipelining.schedules */
static word_pair schedules[] = {
    {"1F1B", "1f1b"},
    {"GPipe", "gpipe"},
    {"Interleaved1F1B", "interleaved"},
    {NULL, NULL},
};

/* torch.distributed.fsdp.ShardingStrategy */
static word_pair shardings[] = {
    {"FULL_SHARD", "3"}, {"SHARD_GRAD_OP", "2"}, {"NO_SHARD", "0"}, {NULL, NULL}};

static const char *find_word(word_pair *pairs, const char *value)
{
    for (; (*pairs)[0]; pairs++) {
        if (strcasecmp((*pairs)[0], value) == 0) {
            return (*pairs)[1];
        }
    }
    return NULL;
}

/* ---- flags ---------------------------------------------------------------------------------- */

static const struct {
    const char *flag, *option;
    word_pair *words; /* of the value; NULL: it is taken as it is */
} flags[] = {
    {"gpu", "system", NULL},
    {"gpu-type", "system", NULL},
    {"hardware", "system", NULL},
    {"cluster", "system", NULL},
    {"machine", "system", NULL},
    {"num-gpus", "accelerators", NULL},
    {"n-gpus", "accelerators", NULL},
    {"ngpus", "accelerators", NULL},
    {"world-size", "accelerators", NULL},
    {"attn-implementation", "attention", NULL},
    {"cost-per-gpu-hour", "price", NULL},
    {"price-per-gpu-hour", "price", NULL},
    {"memory", "max-memory", NULL},
    {"gpu-memory", "max-memory", NULL},
    {"model-name", "model", NULL},
    {"model-name-or-path", "model", NULL},
    {"tensor-parallel-size", "tp", NULL},
    {"tensor-parallel", "tp", NULL},
    {"tp-size", "tp", NULL},
    {"pipeline-parallel-size", "pp", NULL},
    {"pipeline-parallel", "pp", NULL},
    {"pp-size", "pp", NULL},
    {"expert-parallel-size", "ep", NULL},
    {"expert-parallel", "ep", NULL},
    {"ep-size", "ep", NULL},
    {"context-parallel", "cp", NULL},
    {"cp-size", "cp", NULL},
    {"data-parallel", "dp", NULL},
    {"dp-size", "dp", NULL},
    {"sequence-length", "seq", NULL},
    {"seqlen", "seq", NULL},
    {"context-length", "seq", NULL},
    {"max-seq-len", "seq", NULL},
    {"max-seq-length", "seq", NULL},
    {"max-length", "seq", NULL},
    {"block-size", "seq", NULL},
    {"per-device-train-batch-size", "micro-batch", NULL},
    {"train-micro-batch-size-per-gpu", "micro-batch", NULL},
    {"train-batch-size", "global-batch", NULL},
    {"dtype", "precision", NULL},
    {"torch-dtype", "precision", NULL},
    {"mixed-precision", "precision", NULL},
    {"activation-checkpointing", "recompute", recomputes},
    {"recomputation", "recompute", recomputes},
    {"sharding-strategy", "zero", shardings},
    {"training.local-batch-size", "micro-batch", NULL},
    {"training.global-batch-size", "global-batch", NULL},
    {"training.seq-len", "seq", NULL},
    {"training.max-context-length", "seq", NULL},
    {"parallelism.tensor-parallel-degree", "tp", NULL},
    {"parallelism.pipeline-parallel-degree", "pp", NULL},
    {"parallelism.context-parallel-degree", "cp", NULL},
    {"parallelism.expert-parallel-degree", "ep", NULL},
    {"parallelism.expert-tensor-parallel-degree", "etp", NULL},
    {"parallelism.data-parallel-replicate-degree", "hsdp", NULL},
    {"parallelism.pipeline-parallel-schedule", "schedule", schedules},
    {"activation-checkpoint.mode", "recompute", recomputes},
};

/* Flags without a value, or followed by "true" or "false". */
static const struct {
    const char *flag, *option, *value;
} switches[] = {
    {"gradient-checkpointing", "recompute", "full"},
    {"activation-checkpointing", "recompute", "full"},
    {"cpu-offload", "offload", "optimizer"},
    {"no-recompute", "recompute", "none"},
    {"fp8", "precision", "fp8"},
    {"fp4", "precision", "fp4"},
    {"zero1", "zero", "1"},
    {"zero2", "zero", "2"},
    {"zero3", "zero", "3"},
};

/* Flags that say too little, or different things to different tools. */
static const rk_named_text unclear[] = {
    {"batch-size",
     "--global-batch, sequences per step, or --micro-batch, sequences per micro-batch"},
    {"batch-tokens", "--global-batch: tokens of a step / sequence length"},
    {"global-batch-tokens", "--global-batch: tokens of a step / sequence length"},
    {"epochs", "--tokens to 'reckon run': tokens of the data set x epochs"},
    {"num-train-epochs", "--tokens to 'reckon run': tokens of the data set x epochs"},
    {"hours", "--deadline to 'reckon run', such as 24h, which chooses the number of accelerators"},
    {"days", "--deadline to 'reckon run', which chooses the number of accelerators"},
    {"time", "--deadline to 'reckon run', which chooses the number of accelerators"},
};

/* Options of `run`, which are given to the commands that predict one step. */
static const char *const run_options[] = {"tokens", "deadline", "price", "loss", "step-time"};

/* Sections of torchtitan's configuration; nothing here depends on the others. */
static const char *const titan_sections[] = {
    "job.",        "profiling.",  "metrics.",      "model.",           "optimizer.",
    "training.",   "checkpoint.", "parallelism.",  "compile.",         "activation-checkpoint.",
    "comm.",       "float8.",     "quantize.",     "fault-tolerance.", "lr-scheduler.",
    "validation.", "debug.",      "experimental.",
};

static bool is_titan(const char *flag)
{
    for (size_t i = 0; i < COUNT(titan_sections); i++) {
        if (strncmp(flag, titan_sections[i], strlen(titan_sections[i])) == 0) {
            return true;
        }
    }
    return false;
}

static rk_status set_words(rk_job *job, size_t place, const char *value, rk_error *err)
{
    assert(place < sizeof(flags) / sizeof(flags[0]));
    const char *found = find_word(flags[place].words, value);
    return found ? rk_job_set(job, flags[place].option, found, err)
                 : rk_fail(err, RK_ERR_INVALID, "--%s %s has no counterpart here; give --%s",
                           flags[place].flag, value, flags[place].option);
}

/* torchtitan's degree of sharding: 1 none, -1 as many ranks as are left. */
static rk_status set_shards(rk_job *job, const char *value, rk_flag_use *use, rk_error *err)
{
    rk_launch_line *line = &((rk_request *)rk_job_arguments(job))->line;
    line->one_shard = value && strcmp(value, "1") == 0;
    *use = value ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
    return rk_job_set(job, "zero", line->one_shard ? "0" : "3", err);
}

/* Products in a low precision: "float8", "quantize.linear.mx". */
static rk_status set_converters(rk_job *job, const char *value, rk_flag_use *use, rk_error *err)
{
    *use = value ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
    return !value                    ? RK_OK
           : strstr(value, "float8") ? rk_job_set(job, "precision", "fp8", err)
           : strstr(value, "mx")     ? rk_job_set(job, "precision", "mxfp8", err)
                                     : RK_OK;
}

/* A flag of torchtitan that says more than one option; false: it does not. */
static bool take_titan(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                       rk_status *status, rk_error *err)
{
    rk_launch_line *line = &((rk_request *)rk_job_arguments(job))->line;
    if (strcmp(flag, "parallelism.data-parallel-shard-degree") == 0) {
        *status = set_shards(job, value, use, err);
    } else if (strcmp(flag, "model.converters") == 0) {
        *status = set_converters(job, value, use, err);
    } else if (strcmp(flag, "training.num-tokens-per-microbatch-per-dp-rank") == 0) {
        const long tokens = value ? strtol(value, NULL, 10) : 0;
        *use = RK_FLAG_WITH_VALUE;
        line->titan_tokens = tokens > 0 && tokens < INT32_MAX ? tokens : 0;
    } else {
        return false;
    }
    return true;
}

/* "--deepspeed", "--deepspeed FILE" and "--deepspeed-config FILE". */
static rk_status set_deepspeed(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                               rk_error *err)
{
    const bool file = value && rk_ends_with(value, ".json");
    *use = file ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
    if (file) {
        return rk_request_take_deepspeed(job, value, err);
    }
    if (strcmp(flag, "deepspeed-config") == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--deepspeed-config needs a file that ends in .json");
    }
    return rk_job_has(job, "framework") ? RK_OK : rk_job_set(job, "framework", "deepspeed", err);
}

/* Whether a flag has no value, or a truth: "--activation-checkpointing full" does not. */
static bool is_switch(size_t i, const char *flag, const char *value)
{
    return strcmp(flag, switches[i].flag) == 0 &&
           (!value || rk_truth_of(value) || !find_word(recomputes, value));
}

rk_status rk_take_other_flag(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                             bool *known, rk_error *err)
{
    rk_status status = RK_OK;
    *known = true;
    ((rk_request *)rk_job_arguments(job))->line.titan |= is_titan(flag);
    for (size_t i = 0; i < COUNT(switches); i++) {
        if (is_switch(i, flag, value)) {
            return rk_launch_truth(value, use)
                       ? rk_job_set(job, switches[i].option, switches[i].value, err)
                       : RK_OK;
        }
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strcmp(flag, flags[i].flag) == 0) {
            const rk_request *request = rk_job_arguments(job);
            const bool of_node = request->line.deepspeed && strcmp(flag, "num-gpus") == 0;
            const char *option = of_node ? "gpus-per-node" : flags[i].option;
            *use = RK_FLAG_WITH_VALUE;
            if (!value) {
                return rk_fail(err, RK_ERR_INVALID, "--%s needs a value, as --%s does", flag,
                               option);
            }
            return flags[i].words && !of_node ? set_words(job, i, value, err)
                                              : rk_job_set(job, option, value, err);
        }
    }
    if (take_titan(job, flag, value, use, &status, err)) {
        return status;
    }
    if (strcmp(flag, "deepspeed") == 0 || strcmp(flag, "deepspeed-config") == 0) {
        return set_deepspeed(job, flag, value, use, err);
    }
    const char *advice = rk_named_text_of(unclear, COUNT(unclear), flag, NULL);
    if (advice) {
        return rk_fail(err, RK_ERR_INVALID, "instead of --%s give %s", flag, advice);
    }
    for (size_t i = 0; i < COUNT(run_options); i++) {
        if (strcmp(flag, run_options[i]) == 0) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s is an option of 'reckon run', not of 'reckon %s'", flag,
                           rk_command_name(rk_job_command(job)));
        }
    }
    *use = RK_FLAG_UNUSED;
    *known = is_titan(flag);
    return RK_OK;
}
