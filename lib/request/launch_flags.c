/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of Megatron-LM's and torchrun's launch lines that are no options of ours, so that such a
 * line can be pasted.  Source: megatron/training/arguments.py and its configuration classes, commit
 * d98e8a64 of NVIDIA/Megatron-LM.
 */
#include "request/launch_flags.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "launch/pipeline_layout.h"
#include "request/launch_job.h"
#include "request/launch_model.h"
#include "request/option_values.h"
#include "request/other_flags.h"

#include <assert.h>
#include <string.h>

/* ---- flags that set an option ------------------------------------------------------------ */

static const struct {
    const char *flag, *option;
    const char *value; /* of the option; NULL: the flag's */
    bool takes_value;
} synonyms[] = {
    {"bf16", "precision", "bf16", false},
    {"fp16", "precision", "fp16", false},
    {"fp8-format", "precision", "fp8", true},
    {"fp4-format", "precision", "fp4", true},
    {"recompute-activations", "recompute", "selective", false},
    {"optimizer-cpu-offload", "offload", "optimizer", false},
    {"num-layers-per-virtual-pipeline-stage", "vp-layers", NULL, true},
};

/* How Megatron-LM calls the ways of context parallelism. */
static const char *const cp_kinds[][2] = {
    {"p2p", "ring"}, {"all_gather", "all-gather"}, {"allgather", "all-gather"}, {"a2a", "ulysses"}};

static rk_status set_cp_kind(rk_job *job, const char *value, rk_error *err)
{
    for (size_t i = 0; value && i < COUNT(cp_kinds); i++) {
        if (strcmp(value, cp_kinds[i][0]) == 0) {
            return rk_job_set(job, "cp-kind", cp_kinds[i][1], err);
        }
    }
    return rk_fail(err, RK_ERR_INVALID, "--cp-comm-type must be p2p, all_gather or a2a, not '%s'",
                   value ? value : "");
}

/* Layers of the stages as Megatron-LM draws them. */
static rk_status set_layout(rk_job *job, const char *value, rk_error *err)
{
    char list[RK_PIPELINE_LAYOUT_SIZE];
    return value && rk_pipeline_layout_list(value, list)
               ? rk_job_set(job, "layout", list, err)
               : rk_fail(err, RK_ERR_INVALID,
                         "--pipeline-model-parallel-layout needs a letter for each part (E, t, m, "
                         "L) and | between stages, such as 'Et|(tt|)*30mL', not '%.100s'",
                         value ? value : "");
}

/* ---- flags that shard, and that recompute --------------------------------------------------- */

static rk_status set_recompute_method(rk_launch_line *line, const char *value, rk_error *err)
{
    line->uniform = value && strcmp(value, "uniform") == 0;
    return line->uniform || (value && strcmp(value, "block") == 0)
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID,
                         "--recompute-method must be uniform or block, not '%s'",
                         value ? value : "");
}

/* How Megatron-FSDP calls the stages of ZeRO, from 0. */
static const char *const sharding_names[] = {"no_shard", "optim", "optim_grads",
                                             "optim_grads_params", NULL};

static rk_status set_sharding(rk_launch_line *line, const char *value, rk_error *err)
{
    for (int i = 0; value && sharding_names[i]; i++) {
        if (strcmp(value, sharding_names[i]) == 0) {
            line->fsdp_sharding = i + 1;
            return RK_OK;
        }
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--data-parallel-sharding-strategy must be no_shard, optim, optim_grads or "
                   "optim_grads_params, not '%s'",
                   value ? value : "");
}

/* Flags of the line that are true or false. */
static bool *find_switch(rk_launch_line *line, const char *flag)
{
    const struct {
        const char *flag;
        bool *place;
    } switches[] = {
        {"use-megatron-fsdp", &line->megatron_fsdp},
        {"use-custom-fsdp", &line->megatron_fsdp}, /* until core 0.13 */
        {"use-torch-fsdp2", &line->torch_fsdp},
        {"torch-fsdp2-no-reshard-after-forward", &line->keeps_gathered},
    };
    for (size_t i = 0; i < COUNT(switches); i++) {
        if (strcmp(flag, switches[i].flag) == 0) {
            return switches[i].place;
        }
    }
    return NULL;
}

static rk_status set_line(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                          bool *known, rk_error *err)
{
    rk_launch_line *line = &((rk_request *)rk_job_arguments(job))->line;
    bool *place = find_switch(line, flag);
    *known = true;
    if (place) {
        *place = rk_launch_truth(value, use);
        return RK_OK;
    }
    if (rk_launch_take_overlap(line, flag, value, use)) {
        return RK_OK;
    }
    *use = RK_FLAG_WITH_VALUE;
    if (strcmp(flag, "recompute-method") == 0) {
        return set_recompute_method(line, value, err);
    }
    if (strcmp(flag, "data-parallel-sharding-strategy") == 0) {
        return set_sharding(line, value, err);
    }
    if (strcmp(flag, "cp-comm-type") == 0) {
        return set_cp_kind(job, value, err);
    }
    if (strcmp(flag, "pipeline-model-parallel-layout") == 0) {
        return set_layout(job, value, err);
    }
    *known = false;
    return RK_OK;
}

/* ---- flags that are known -------------------------------------------------------------------- */

/* The subject of a flag by data/launch_flags/megatron.csv; '\0': not listed. */
static char subject_of(const char *flag)
{
    const rk_catalogue_entry *table = rk_catalogue_find("launch_flags", "megatron");
    const size_t length = strlen(flag);
    const char *at = table ? table->text : NULL, *end = at ? at + table->size : NULL;
    while (at && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end && (size_t)(line_end - at) > length + 1 && memcmp(at, flag, length) == 0 &&
            at[length] == ',') {
            return at[length + 1];
        }
        at = line_end ? line_end + 1 : NULL;
    }
    return '\0';
}

static rk_status take_known(rk_job *job, const char *flag, rk_flag_use *use, rk_error *err)
{
    const char subject = subject_of(flag);
    *use = RK_FLAG_UNUSED;
    if (subject == 'l') {
        return rk_launch_take_layers_flag(job, flag, err);
    }
    return subject ? RK_OK : rk_job_fail_unknown(rk_job_command(job), flag, err);
}

/* ---- which tool a line is for --------------------------------------------------------------- */

/* Options' names that only Megatron-LM and what is built on it have; others share the rest. */
static const char *const megatron_names[] = {
    "tensor-model-parallel-size",
    "pipeline-model-parallel-size",
    "expert-model-parallel-size",
    "expert-tensor-parallel-size",
    "num-virtual-stages-per-pipeline-rank",
    "num-layers-per-virtual-pipeline-stage",
    "num-distributed-optimizer-instances",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split",
    "account-for-loss-in-pipeline-split",
    "recompute-granularity",
    "recompute-num-layers",
    "moe-expert-capacity-factor",
};

/* Options of a strategy by names that no launch line has. */
static const char *const own_names[] = {
    "tp",
    "pp",
    "cp",
    "ep",
    "etp",
    "dp",
    "vp",
    "vp-layers",
    "zero",
    "fsdp",
    "micro-batch",
    "mbs",
    "global-batch",
    "batch",
    "gbs",
    "recompute",
    "seq",
    "hsdp",
    "recompute-layers",
};

bool rk_request_note_launch_word(void *request, const char *word)
{
    rk_launch_line *line = &((rk_request *)request)->line;
    const char *slash = strrchr(word, '/');
    const char *script = slash ? slash + 1 : word;
    line->script |= strncmp(script, "pretrain_", strlen("pretrain_")) == 0;
    line->deepspeed |= strcmp(word, "deepspeed") == 0;
    line->other |= strcmp(word, "deepspeed") == 0 || strcmp(word, "accelerate") == 0;
    line->megatron |= rk_is_among(word, megatron_names, COUNT(megatron_names));
    line->own |= rk_is_among(word, own_names, COUNT(own_names));
    return line->script || line->deepspeed || line->other || line->megatron;
}

/* ---- all flags ------------------------------------------------------------------------------ */

static rk_status set_synonym(rk_job *job, size_t i, const char *value, rk_flag_use *use,
                             rk_error *err)
{
    assert(i < sizeof(synonyms) / sizeof(synonyms[0]));
    *use = RK_FLAG_WITH_VALUE;
    if (!synonyms[i].takes_value && !rk_launch_truth(value, use)) {
        return RK_OK;
    }
    return rk_job_set(job, synonyms[i].option, synonyms[i].value ? synonyms[i].value : value, err);
}

rk_status rk_request_take_launch_flag(rk_job *job, const char *flag, const char *value,
                                      rk_flag_use *use, rk_error *err)
{
    rk_launch_line *line = &((rk_request *)rk_job_arguments(job))->line;
    bool known = false;
    rk_request_note_launch_word(rk_job_arguments(job), flag);
    for (size_t i = 0; i < COUNT(synonyms); i++) {
        if (strcmp(flag, synonyms[i].flag) == 0) {
            return set_synonym(job, i, value, use, err);
        }
    }
    rk_status status = rk_launch_take_model_flag(job, flag, value, use, &known, err);
    if (!known) {
        status = set_line(job, flag, value, use, &known, err);
    }
    if (known) {
        line->megatron = true;
        return status;
    }
    status = rk_take_other_flag(job, flag, value, use, &known, err);
    line->other |= known;
    return status || known ? status : take_known(job, flag, use, err);
}

/* ---- what follows --------------------------------------------------------------------------- */

/* ZeRO of Megatron-FSDP, or of PyTorch's; below 0: the line has neither. */
static int find_fsdp(const rk_launch_line *line)
{
    if (line->megatron_fsdp) {
        return line->fsdp_sharding ? line->fsdp_sharding - 1 : RK_SHARD_ALL;
    }
    return !line->torch_fsdp ? -1 : line->keeps_gathered ? RK_SHARD_GRADIENTS : RK_SHARD_ALL;
}

/* A line for Megatron-LM, and not a question in reckon's options with a flag of Megatron's. */
static bool is_megatron(const rk_launch_line *line)
{
    return !line->other && (line->script || (line->megatron && !line->own));
}

/*
 * Whether a line is a whole job: it names the script, or describes the model.  `plan` only begins
 * with it, and frameworks that are not Megatron's have defaults of their own.
 */
static bool is_complete(const rk_request *r)
{
    const rk_launch_line *line = &r->line;
    const bool framework = r->framework == RK_NOT_GIVEN || r->framework == RK_FRAMEWORK_MEGATRON ||
                           r->framework == RK_FRAMEWORK_MINDSPEED ||
                           r->framework == RK_FRAMEWORK_PRIMUS;
    if (line->file) {
        return !line->open;
    }
    if (line->titan && !line->open && !line->own && !line->script) {
        return true;
    }
    const bool whole = line->script || (line->model && r->model == line->model);
    return is_megatron(line) && !line->open && framework && whole;
}

static void settle_sharding(rk_request *r)
{
    rk_launch_line *line = &r->line;
    const int fsdp = find_fsdp(line);
    if (r->zero.count > 0 || r->fsdp) {
        return;
    }
    if (fsdp >= 0) { /* many lines also have the distributed optimizer */
        r->distributed_optimizer = false;
        r->zero = (rk_option_counts){.values = {fsdp}, .count = 1};
        if (line->torch_fsdp && r->gradients == RK_NOT_GIVEN) {
            r->gradients = RK_GRADIENTS_16; /* FSDP2 keeps them in the type of the weights */
        }
    } else if (line->complete && !r->distributed_optimizer) {
        line->plain_states = true;
        rk_request_note_filled(r, "zero");
        r->zero = (rk_option_counts){.values = {RK_SHARD_NONE}, .count = 1};
    }
}

rk_status rk_request_settle_launch(rk_request *r, rk_error *err)
{
    rk_launch_line *line = &r->line;
    line->complete = r->policy == RK_NOT_GIVEN ? is_complete(r) : r->policy == RK_POLICY_LAUNCH;
    line->uniform = line->uniform && !(line->complete && r->recomputes == 0);
    if (line->uniform) {
        if (r->recomputes && !(r->recomputes >> RK_REC_FULL & 1U)) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--recompute-method uniform needs --recompute-granularity full");
        }
        r->recomputes = r->recomputes ? r->recomputes : 1U << RK_REC_FULL;
        line->pieces = r->recompute_layers ? r->recompute_layers : line->pieces;
        r->recompute_layers = 0;
    }
    if (line->deepspeed && r->gpus_per_node > 0 && r->nodes == 0 && r->accelerators == 0) {
        r->nodes = 1; /* its launcher's default */
    }
    if (line->complete) {
        rk_launch_complete(r);
    } else {
        rk_launch_settle_overlaps(r);
    }
    if (is_megatron(line) || line->complete) {
        rk_launch_drop_without_effect(r);
    }
    settle_sharding(r);
    return rk_launch_check_model(r, err);
}
