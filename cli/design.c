/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon design`: the cheapest machine that trains a model fast enough. */
#include "cli/design.h"

#include "base/units.h"
#include "cli/calculon_options.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------- */

/* The command lines of the two methods. */
struct calculon_args {
    rk_plan_request request;
    rk_design_target target;
};

struct reckon_args {
    rk_request request;
    rk_design_target target;
};

#define TARGET(args, member, text, unit, words)                                                    \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, .offset = offsetof(struct args, target.member),      \
        .min = 0, .max = INT64_MAX, .value = unit, .help = words                                   \
    }

#define TARGETS(args)                                                                              \
    {.name = "prices",                                                                             \
     .required = true,                                                                             \
     .offset = offsetof(struct args, target.prices),                                               \
     .catalogue = "prices",                                                                        \
     .value = "NAME|FILE",                                                                         \
     .help = "the numbers of the machine that vary, with prices: 'example' or a .json file"},      \
        TARGET(args, step, "step", "SECONDS", "target: longest step of the whole batch"),          \
        TARGET(args, tokens_per_second, "tokens-per-second", "N",                                  \
               "target: least tokens/s of the machine"),                                           \
        TARGET(args, days, "days", "N", "target: longest time to train on --tokens"),              \
        TARGET(args, tokens, "tokens", "N", "tokens to train on: 15T")

static const rk_option calculon_options[] = {
    RK_OPTION_APPLICATION,   RK_OPTION_SYSTEM,
    RK_OPTION_BATCH,         RK_OPTION_PROCESSORS(false),
    TARGETS(calculon_args),  RK_OPTION_METHOD,
    RK_OPTION_DATATYPE,      RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP, RK_OPTION_NO_DP_OVERLAP,
    RK_OPTION_THREADS,       RK_OPTION_JSON,
    RK_OPTION_CSV,           RK_OPTION_OUTPUT,
};

static const rk_option reckon_options[] = {
    TARGETS(reckon_args),
    RK_OPTIONS_OF_SEARCH,
};

static const rk_command calculon_design = {
    .name = "design",
    .purpose = "Find the cheapest machine that trains a model fast enough",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .notes = "By the Calculon methodology: the best strategy on every machine that the prices "
             "span.  Without a\ntarget, the machines that no other beats in cost and speed.  Exit "
             "status: 0 done, 1 no machine\nmeets the target, 2 wrong usage or input.\n\n"
             "example: reckon design --model seed-1T --system h100-80g-off512g50-nvl8 --batch "
             "3072 \\\n             --prices example --tokens 15T --days 120",
};

/* ---- results ------------------------------------------------------------------------------- */

double rk_designing_step(const rk_designing *d, const rk_design *design)
{
    return (double)d->batch / design->best.rate;
}

double rk_designing_days(const rk_designing *d, const rk_design *design)
{
    return d->target.tokens / (design->best.rate * (double)d->seq) / DAY;
}

double rk_designing_run_cost(const rk_designing *d, const rk_design *design)
{
    return d->prices.life_days > 0
               ? design->cost * rk_designing_days(d, design) / d->prices.life_days
               : 0;
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Sequences/s that are asked for, by all targets together. */
static double least_rate(const rk_designing *d)
{
    const rk_design_target *target = &d->target;
    const double seq = (double)d->seq;
    const double by_step = target->step > 0 ? (double)d->batch / target->step : 0;
    const double by_tokens = target->tokens_per_second / seq;
    const double by_days = target->days > 0 ? target->tokens / seq / (target->days * DAY) : 0;
    const double most = by_step > by_tokens ? by_step : by_tokens;
    return most > by_days ? most : by_days;
}

static const rk_price_axis *find_axis(const rk_prices *prices, const char *key)
{
    for (int i = 0; i < prices->axis_count; i++) {
        if (strcmp(prices->axes[i].key, key) == 0) {
            return &prices->axes[i];
        }
    }
    return NULL;
}

static rk_status search(rk_designing *d, int64_t threads, rk_error *err)
{
    rk_progress progress;
    const rk_search_control control = {
        .threads = (int)threads, .progress = rk_cli_progress, .user = &progress};
    rk_progress_start(&progress, "machines");
    const double started = rk_cpu_seconds();
    const rk_status status = rk_design_search(&d->problem, &d->prices, &control, &d->designs,
                                              &d->count, &d->counts, err);
    d->cpu_s = rk_cpu_seconds() - started;
    rk_progress_end(&progress);
    d->least_rate = least_rate(d);
    d->cheapest =
        d->least_rate > 0 ? rk_design_cheapest(d->designs, d->count, d->least_rate) : NULL;
    return status;
}

/* ---- both methods -------------------------------------------------------------------------- */

/* What the options cannot say by themselves.  Returns RK_PARSED when all is well. */
static int check(const rk_command *command, const rk_design_target *target, bool json, bool csv)
{
    if (json && csv) {
        return rk_command_fail(command, "--json and --csv exclude each other");
    }
    if (target->days > 0 && !(target->tokens > 0)) {
        return rk_command_fail(command, "--days needs --tokens: how many, e.g. 15T");
    }
    return RK_PARSED;
}

/* An axis says how many processors there are, or else the command line. */
static int check_processors(const rk_command *command, const rk_designing *d, bool given)
{
    const bool axis = find_axis(&d->prices, "processors") != NULL;
    const char *option = d->plan ? "processors" : "accelerators";
    if (axis && given) {
        return rk_command_fail(command, "%s has an axis of processors: leave out --%s",
                               d->target.prices, option);
    }
    if (!axis && !given) {
        return rk_command_fail(command, "%s has no axis of processors: say how many with --%s",
                               d->target.prices, option);
    }
    return RK_PARSED;
}

/* Searches, and writes the answer. */
static int answer(const rk_command *command, rk_designing *d, int64_t threads, bool json, bool csv)
{
    rk_error err;
    rk_status status = search(d, threads, &err);
    if (!status) {
        status = json  ? rk_designing_write_json(d, &err)
                 : csv ? rk_designing_write_csv(d, &err)
                       : rk_print_text(d->output, rk_designing_write_text, d, &err);
    }
    const bool found = d->least_rate > 0 ? d->cheapest != NULL
                                         : rk_design_cheapest(d->designs, d->count, 0) != NULL;
    const int result = rk_command_end(command, status, found, &err);
    free(d->designs);
    return result;
}

/* ---- the commands -------------------------------------------------------------------------- */

static int run_calculon(int argc, char **argv)
{
    struct calculon_args args = {.request = rk_plan_request_defaults};
    rk_plan plan;
    rk_error err;
    int result = rk_options_parse(&calculon_design, argc, argv, &args);
    if (result == RK_PARSED) {
        result = check(&calculon_design, &args.target, args.request.json, args.request.csv);
    }
    if (result != RK_PARSED) {
        return result;
    }
    plan = (rk_plan){.request = args.request};
    rk_designing d = {.target = args.target,
                      .plan = &plan,
                      .output = args.request.output,
                      .batch = args.request.batch};
    if (rk_plan_load(&plan, &err) || rk_prices_load(args.target.prices, &d.prices, &err)) {
        return rk_command_fail_error(&calculon_design, &err);
    }
    d.problem = rk_plan_problem(&plan);
    d.seq = plan.app.seq_size;
    result = check_processors(&calculon_design, &d, args.request.processors > 0);
    return result == RK_PARSED ? answer(&calculon_design, &d, args.request.threads,
                                        args.request.json, args.request.csv)
                               : result;
}

/* The request stands for all machines: it gets the most accelerators that any of them has. */
static void take_processors(const rk_prices *prices, rk_request *request)
{
    const rk_price_axis *axis = find_axis(prices, "processors");
    for (int i = 0; axis && i < axis->count; i++) {
        if (axis->values[i] > (double)request->accelerators && axis->values[i] < 0x1p40) {
            request->accelerators = (int64_t)axis->values[i];
        }
    }
}

static rk_status load_reckoning(const rk_prices *prices, rk_request *request, rk_inputs *inputs,
                                rk_reckoning *reckoning, rk_error *err)
{
    take_processors(prices, request);
    *reckoning = (rk_reckoning){.request = request, .inputs = inputs};
    rk_status status = rk_request_load(request, inputs, err);
    if (!status) {
        status = rk_request_space(request, inputs, &reckoning->space, err);
    }
    if (!status) {
        reckoning->setting = rk_setting_of(request, inputs);
        if (!request->offloads && find_axis(prices, "offload_GiB")) {
            reckoning->space.offloads = 7; /* all: what is paid for may be used */
        }
    }
    return status;
}

static int run_reckon(int argc, char **argv)
{
    struct reckon_args args = {.request = rk_request_defaults()};
    rk_inputs inputs;
    rk_reckoning reckoning;
    rk_error err;
    int result = rk_request_parse(&rk_command_design, argc, argv, &args.request);
    if (result == RK_PARSED) {
        result = check(&rk_command_design, &args.target, args.request.json, args.request.csv);
    }
    if (result != RK_PARSED) {
        return result;
    }
    rk_designing d = {.target = args.target,
                      .reckoning = &reckoning,
                      .output = args.request.output,
                      .batch = args.request.global_batch};
    if (rk_prices_load(args.target.prices, &d.prices, &err)) {
        return rk_command_fail_error(&rk_command_design, &err);
    }
    result = check_processors(&rk_command_design, &d, args.request.accelerators > 0);
    if (result != RK_PARSED) {
        return result;
    }
    if (load_reckoning(&d.prices, &args.request, &inputs, &reckoning, &err)) {
        result = rk_command_fail_error(&rk_command_design, &err);
    } else {
        d.problem = rk_reckoning_problem(&reckoning);
        d.seq = reckoning.space.base.seq;
        result = answer(&rk_command_design, &d, args.request.threads, args.request.json,
                        args.request.csv);
    }
    rk_inputs_clear(&inputs);
    return result;
}

static int run_design(int argc, char **argv)
{
    return rk_run_by_method(&rk_command_design, argc, argv, run_calculon, run_reckon);
}

const rk_command rk_command_design = {
    .name = "design",
    .purpose = "Find the cheapest machine that trains a model fast enough",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes = "The best strategy on every machine that the prices span.  Without a target, the "
             "machines that no\nother beats in cost and speed.  Documents of Calculon are judged "
             "by its methodology, whose options\n'reckon design --method calculon --help' lists.  "
             "Exit status: 0 done, 1 no machine meets the target,\n2 wrong usage or input.\n\n"
             "example: reckon design --model llama3-70b --system h100-sxm --batch 1024 \\\n"
             "             --prices example --tokens 15T --days 60",
    .run = run_design,
};
