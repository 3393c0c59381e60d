/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon run`: days, failures, checkpoints, money and energy of a whole training run. */
#include "command/run_options.h"

#include "answer/run_answer.h"
#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "command/commands.h"
#include "command/option_groups.h"
#include "command/with_inputs.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN (-1.0)
#define GIGA      1e9

/* ---- options ------------------------------------------------------------------------------- */

#define PLACE(member) offsetof(rk_run_options, question.member)
#define TEXT(member)  offsetof(rk_run_options, member)
#define NUMBER(min_, above_, name_, member, unit, ...)                                             \
    RK_OPTION(name_, REAL, PLACE(member), .min = min_, .above = above_, .max = INT64_MAX,          \
              .value = unit, .help = __VA_ARGS__)
#define REAL(name_, member, unit, ...)  NUMBER(0, false, name_, member, unit, __VA_ARGS__)
#define ABOVE(name_, member, unit, ...) NUMBER(0, true, name_, member, unit, __VA_ARGS__)
#define NAMED(name_, member, kind, ...)                                                            \
    {                                                                                              \
        .name = name_, .offset = PLACE(member), .value = "NAME|FILE", .catalogue = kind,           \
        .help = __VA_ARGS__                                                                        \
    }

static const rk_option run_options[] = {
    RK_OPTION_COMPLETE,
    ABOVE("tokens", asked.tokens, "N", "tokens to train on, such as 15T",
          .group = "Length of the run", .common = true),
    ABOVE("steps", asked.steps, "N", "steps to train for, in place of --tokens"),
    ABOVE("loss", asked.loss, "X",
          "target loss, nats per token, in place of --tokens; a scaling law gives the tokens"),
    RK_OPTION("phases", TEXT, TEXT(phases), .value = "SEQ:TOKENS[:BATCH],...",
              .help =
                  "phases with their own sequence length and batch, such as 8k:15T,128k:100G:128"),
    RK_OPTION("batch-ramp", TEXT, TEXT(batch_ramp), .value = "BATCH:TOKENS[:STEPS]",
              .help = "raise the batch from BATCH sequences to --global-batch over the first "
                      "TOKENS, in equal steps, such as 256:250G:8"),
    NAMED("law", asked.law, "scaling_laws", "scaling law of --loss; default: chinchilla-refit"),
    ABOVE("reference-batch", asked.reference_batch, "TOKENS",
          "batch size that --tokens or --loss assumes; larger batches need more tokens"),
    NAMED("batch-law", asked.batch_law, "batch_laws",
          "law of the critical batch size; default: power-lines"),
    RK_OPTION("mfu", REAL, PLACE(asked.mfu_percent), .above = true, .max = 100, .share = true,
              .value = "SHARE",
              .help = "assume this MFU, such as 40% or 0.4, instead of estimating it"),
    ABOVE("step-time", asked.step_s, "SECONDS", "assume this step time instead of estimating it"),
    RK_OPTION("deadline", TEXT, TEXT(deadline), .value = "DAYS", .group = "Which cluster",
              .common = true,
              .help = "find the clusters that finish within this time, such as 30d"),
    ABOVE("budget", budget, "X", "find the clusters that cost at most this, such as 10M",
          .common = true),
    RK_OPTION("max-power", TEXT, TEXT(max_power), .value = "WATTS",
              .help = "find the clusters that draw at most this, building included, such as 20MW"),
    NAMED("reliability", asked.reliability, "reliability",
          "failure rates and restart times; default: published",
          .group = "Failures and checkpoints"),
    REAL("failures", asked.failures, "X",
         "interruptions per day and 1,000 accelerators; default: from --reliability"),
    REAL("restart", asked.restart_s, "MINUTES",
         "time from an interruption to the next step, excluding checkpoint loading; default: from "
         "--reliability",
         .unit = MINUTE),
    REAL("start", start, "MINUTES",
         "time from the start of the job to its first step, excluding checkpoint loading; default: "
         "from --reliability"),
    REAL("silent-corruption", silent, "MINUTES",
         "training until wrong results are noticed, and lost; default: from --reliability"),
    RK_OPTION(
        "maintenance", TEXT, TEXT(maintenance), .value = "HOURS:DAYS",
        .help =
            "maintenance windows: how long, and how many days from one to the next, such as 4:30"),
    RK_OPTION("spares", COUNT, PLACE(asked.spares), .max = RK_SPARES_MAX, .value = "N",
              .help = "hot spare nodes; default: failed nodes are replaced at once"),
    REAL("stragglers", asked.stragglers_percent, "PERCENT",
         "standard deviation of a worker's step time; the slowest sets the pace; default: 0"),
    NUMBER(1, false, "barriers", barriers, "N",
           "synchronizations per step over which --stragglers are spread; default: 1"),
    RK_OPTION("slow-devices", TEXT, TEXT(slow_devices), .value = "PERCENT:PERCENT",
              .help = "share of permanently slow accelerators, and their slowdown, such as 0.5:10"),
    ABOVE("storage", asked.storage_bytes_per_s, "GB/s",
          "storage bandwidth of the cluster; default: 0.122 per accelerator, as for Llama 3",
          .unit = GIGA),
    ABOVE("checkpoint-every", asked.checkpoint_every_s, "MINUTES",
          "checkpoint interval; default: the optimum", .unit = MINUTE),
    RK_OPTION("async-checkpoint", FLAG, PLACE(asked.async_checkpoint),
              .help = "training waits only for the copy to host memory"),
    RK_OPTION("checkpoint-tier", TEXT, PLACE(far), .value = "TIER",
              .help = "checkpoint to this tier: parallel-fs or object-store; default: --storage"),
    RK_OPTION("near-checkpoint", TEXT, PLACE(asked.near_checkpoint), .value = "TIER",
              .help = "also checkpoint to this tier: peer-host, host or nvme"),
    NAMED("storage-tiers", asked.storage_tiers, "storage",
          "document of the tiers; default: published"),
    RK_OPTION(
        "compare-tiers", FLAG, PLACE(compare_tiers),
        .help = "list what the run takes with every tier: time to save, time to restart, goodput"),
    ABOVE("token-bytes", token_bytes, "N",
          "bytes of a token in the data; default: 2, or 4 for more than 65,500 tokens"),
    RK_OPTION("simulate", COUNT, PLACE(asked.simulated_runs), .max = RK_SIMULATE_MAX,
              .value = "RUNS", .help = "simulated runs, for percentiles; default: 1000; 0: none"),
    RK_OPTION("seed", COUNT, PLACE(asked.seed), .max = INT64_MAX, .value = "N",
              .help = "seed of the simulation; default: 1"),
    RK_OPTION("timeline", TEXT, TEXT(timeline), .writes = true, .value = "FILE.csv",
              .help = "write progress and interruptions of the median run"),
    NAMED("prices", asked.prices, "prices", "prices of hours, power and carbon; default: none",
          .group = "Money, energy, carbon"),
    REAL("price", asked.price_per_hour, "X", "price per accelerator-hour, in any currency",
         .common = true),
    ABOVE("purchase", asked.purchase_price, "X",
          "purchase price per accelerator, including its share of the cluster"),
    ABOVE("life", asked.life_years, "YEARS", "depreciation period of a purchase; default: 4"),
    ABOVE("power", asked.power_watts, "W",
          "power per accelerator in training, including its share of the node; default: by its "
          "utilization, at most 1.25 x board power"),
    REAL("idle-power", idle_power, "W",
         "the same while it waits for a restart, or stands by; default: 0.59 x board power"),
    NUMBER(1, false, "pue", asked.pue, "X",
           "power usage effectiveness of the building; default: 1.1"),
    REAL("carbon", asked.carbon_g_per_kwh, "G", "grams of CO2 per kWh"),
    RK_OPTIONS_OF_SEARCH,
};

/* ---- the command --------------------------------------------------------------------------- */

static void init_run(void *arguments)
{
    rk_run_question *question = &((rk_run_options *)arguments)->question;
    rk_request_init(&question->request);
    question->asked = rk_run_request_usual();
    question->start = question->silent = question->idle_power = NOT_GIVEN;
    question->barriers = 1;
}

/* A question that searches the number of accelerators, and gives it. */
static rk_status fail_counted(const rk_run_question *question, rk_error *err)
{
    const char *option = question->deadline > 0 ? "deadline"
                         : question->budget > 0 ? "budget"
                                                : "max-power";
    const int64_t nodes = question->request.nodes;
    const char *system = question->request.system;
    char most[RK_COMMAS_SIZE] = "N";
    if (!nodes) {
        (void)snprintf(most, sizeof(most), "%" PRId64, question->request.accelerators);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--%s searches the number of accelerators: leave out the %" PRId64
                   " %s, or set a limit as in --system %.100s:%s; without --%s the answer is about "
                   "them",
                   option, nodes ? nodes : question->request.accelerators,
                   nodes ? "nodes" : "accelerators",
                   rk_json_is_text(system) || strchr(system, ':') ? "NAME" : system, most, option);
}

/* Refuses options that exclude each other. */
static rk_status check_options(const rk_run_options *options, rk_error *err)
{
    const rk_run_question *q = &options->question;
    const bool cluster = options->deadline || q->budget > 0 || options->max_power;
    const int lengths = (q->asked.tokens > 0) + (q->asked.steps > 0) + (q->asked.loss > 0) +
                        (options->phases != NULL);
    const rk_named_case refused[] = {
        {lengths == 0, "--tokens is missing; --steps, --loss or --phases take its place"},
        {lengths > 1, "--tokens, --steps, --loss and --phases exclude each other"},
        {q->asked.price_per_hour >= 0 && q->asked.purchase_price > 0,
         "--price and --purchase exclude each other"},
        {options->phases && cluster,
         "--phases needs a cluster: leave out --deadline, --budget and --max-power"},
        {options->timeline && cluster,
         "--timeline needs a cluster: leave out --deadline, --budget and --max-power"},
        {q->compare_tiers && cluster,
         "--compare-tiers needs a cluster: leave out --deadline, --budget and --max-power"},
        {options->phases && options->batch_ramp, "--phases and --batch-ramp exclude each other"},
        {options->phases && q->asked.step_s > 0, "--phases and --step-time exclude each other"},
        {q->asked.near_checkpoint && q->compare_tiers,
         "--near-checkpoint and --compare-tiers exclude each other"},
        {q->asked.mfu_percent > 0 && q->asked.step_s > 0,
         "--mfu and --step-time exclude each other"},
    };
    const char *fault = rk_first_that_holds(refused, COUNT(refused));
    return fault ? rk_fail(err, RK_ERR_INVALID, "%s", fault) : RK_OK;
}

static rk_status complete_run(void *arguments, rk_error *err)
{
    rk_run_options *options = arguments;
    rk_status status = rk_request_finish(arguments, err);
    status = status ? status : check_options(options, err);
    return status ? status : rk_run_read_options(options, err);
}

static rk_status choose_cluster(rk_job *job, const rk_run_question *question, rk_error *err)
{
    rk_clusters *c = NULL;
    rk_status status = RK_OK;
    if (question->request.accelerators || question->request.nodes) {
        return fail_counted(question, err);
    }
    if (question->budget > 0 && question->asked.price_per_hour < 0 && !question->asked.prices) {
        return rk_fail(err, RK_ERR_INVALID, "--budget needs --price or --prices");
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a choice of clusters");
    }
    c->question = question;
    status = rk_run_read_systems(question->request.system, c, err);
    status = status ? status : rk_clusters_find(rk_job_work(job), c, err);
    status = status ? status : rk_clusters_write(job, c, err);
    rk_job_set_found(job, !status && c->fastest >= 0);
    free(c);
    return status;
}

static rk_status answer(rk_job *job, void *arguments, const rk_inputs *inputs, void *what,
                        rk_error *err)
{
    const rk_run_options *options = arguments;
    rk_whole_run *run = what;
    *run = (rk_whole_run){.question = &options->question, .inputs = inputs};
    rk_status status = rk_run_check_tokens(&options->question, &inputs->model, err);
    status = status ? status : rk_whole_run_find(rk_job_work(job), run, err);
    status = status ? status : rk_whole_run_write(job, run, options->timeline, err);
    const rk_answer *best = status ? NULL : rk_plan_best(&run->plan);
    rk_job_set_found(job, best && best->estimate.fits);
    rk_plan_clear(&run->plan);
    return status;
}

static rk_status run_run(rk_job *job, void *arguments, rk_error *err)
{
    const rk_run_options *options = arguments;
    return rk_run_asks_for_cluster(&options->question)
               ? choose_cluster(job, &options->question, err)
               : rk_with_inputs(job, arguments, sizeof(rk_whole_run), answer, err);
}

const rk_command rk_command_run = {
    .name = "run",
    .purpose = "Predict a whole run: days, failures, checkpoints, cost and energy",
    .options = run_options,
    .option_count = sizeof(run_options) / sizeof(run_options[0]),
    RK_COMMAND_OF_STRATEGY,
    .notes = RK_NOTES_OF_CHOICES
    "--deadline, --budget and --max-power search the number of accelerators too,\n"
    "so give none; --system may then list several systems, each with a limit:\n"
    "h100-sxm:4096,b200-sxm:2048.\n"
    "\n"
    "Exit status: 0 done, 1 it does not fit, 2 wrong usage or input, or an illegal\n"
    "strategy.\n"
    "\n"
    "example: reckon run llama3.1-405b 16384xh100-roce-24k --tokens 15.6T --price 2.5",
    .size = sizeof(rk_run_options),
    .init = init_run,
    .complete = complete_run,
    .run = run_run,
};
