/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon design`: the cheapest machine that trains a model fast enough. */
#include "cli/design.h"

#include "cli/calculon_options.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#define DAY 86400.0 /* s */

#define TARGET(member, text, unit, words)                                                          \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, .offset = offsetof(rk_design_args, member),          \
        .min = 0, .max = INT64_MAX, .value = unit, .help = words                                   \
    }

static const rk_option design_options[] = {
    RK_OPTION_APPLICATION,
    RK_OPTION_SYSTEM,
    RK_OPTION_BATCH,
    {.name = "prices",
     .required = true,
     .offset = offsetof(rk_design_args, prices),
     .catalogue = "prices",
     .value = "NAME|FILE",
     .help = "the numbers of the machine that vary, with prices: 'example' or a .json file"},
    RK_OPTION_PROCESSORS(false),
    TARGET(step, "step", "SECONDS", "target: longest step of the whole batch"),
    TARGET(tokens_per_second, "tokens-per-second", "N", "target: least tokens/s of the machine"),
    TARGET(days, "days", "N", "target: longest time to train on --tokens"),
    TARGET(tokens, "tokens", "N", "tokens to train on: 15T"),
    RK_OPTION_DATATYPE,
    RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP,
    RK_OPTION_NO_DP_OVERLAP,
    RK_OPTION_THREADS,
    RK_OPTION_JSON,
    RK_OPTION_CSV,
    RK_OPTION_OUTPUT,
};

/* ---- results ------------------------------------------------------------------------------- */

double rk_designing_step(const rk_designing *d, const rk_design *design)
{
    return (double)d->args.request.batch / design->rate;
}

double rk_designing_days(const rk_designing *d, const rk_design *design)
{
    return d->args.tokens / (design->rate * (double)d->plan.app.seq_size) / DAY;
}

double rk_designing_run_cost(const rk_designing *d, const rk_design *design)
{
    return d->prices.life_days > 0
               ? design->cost * rk_designing_days(d, design) / d->prices.life_days
               : 0;
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Sequences/s that are asked for, by all targets together. */
static double least_rate(const rk_design_args *args, const rk_calculon_app *app)
{
    const double seq = (double)app->seq_size;
    const double by_step = args->step > 0 ? (double)args->request.batch / args->step : 0;
    const double by_tokens = args->tokens_per_second / seq;
    const double by_days = args->days > 0 ? args->tokens / seq / (args->days * DAY) : 0;
    const double most = by_step > by_tokens ? by_step : by_tokens;
    return most > by_days ? most : by_days;
}

static bool has_axis(const rk_prices *prices, const char *key)
{
    for (int i = 0; i < prices->axis_count; i++) {
        if (strcmp(prices->axes[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static rk_status search(rk_designing *d, rk_error *err)
{
    rk_progress progress;
    const rk_search_control control = {
        .threads = (int)d->args.request.threads, .progress = rk_cli_progress, .user = &progress};
    rk_progress_start(&progress, "machines");
    const double started = rk_cpu_seconds();
    const rk_status status =
        rk_design_search(&d->plan.app, &d->plan.sys, &d->plan.space, &d->prices, &control,
                         &d->designs, &d->count, &d->counts, err);
    d->cpu_s = rk_cpu_seconds() - started;
    rk_progress_end(&progress);
    d->least_rate = least_rate(&d->args, &d->plan.app);
    d->cheapest =
        d->least_rate > 0 ? rk_design_cheapest(d->designs, d->count, d->least_rate) : NULL;
    return status;
}

static rk_status write_answer(const rk_designing *d, rk_error *err)
{
    const rk_plan_request *request = &d->args.request;
    if (request->json) {
        return rk_designing_write_json(d, err);
    }
    return request->csv ? rk_designing_write_csv(d, err)
                        : rk_print_text(request->output, rk_designing_write_text, d, err);
}

/* ---- the command --------------------------------------------------------------------------- */

/* What the options cannot say by themselves.  Returns RK_PARSED when all is well. */
static int check(const rk_designing *d)
{
    const rk_design_args *args = &d->args;
    if (args->request.json && args->request.csv) {
        return rk_command_fail(&rk_command_design, "--json and --csv exclude each other");
    }
    if (args->days > 0 && !(args->tokens > 0)) {
        return rk_command_fail(&rk_command_design, "--days needs --tokens: how many, e.g. 15T");
    }
    return RK_PARSED;
}

static int check_processors(const rk_designing *d)
{
    const bool axis = has_axis(&d->prices, "processors"), given = d->args.request.processors > 0;
    if (axis && given) {
        return rk_command_fail(&rk_command_design,
                               "%s has an axis of processors: leave out --processors",
                               d->args.prices);
    }
    if (!axis && !given) {
        return rk_command_fail(&rk_command_design,
                               "%s has no axis of processors: say how many with --processors",
                               d->args.prices);
    }
    return RK_PARSED;
}

static int run_design(int argc, char **argv)
{
    rk_designing d = {.args = {.request = rk_plan_request_defaults}};
    rk_error err;
    int result = rk_options_parse(&rk_command_design, argc, argv, &d.args);
    if (result == RK_PARSED) {
        result = check(&d);
    }
    if (result != RK_PARSED) {
        return result;
    }
    d.plan.request = d.args.request;
    rk_status status = rk_plan_load(&d.plan, &err);
    if (!status) {
        status = rk_prices_load(d.args.prices, &d.prices, &err);
    }
    if (!status) {
        result = check_processors(&d);
        if (result != RK_PARSED) {
            return result;
        }
        status = search(&d, &err);
    }
    if (!status) {
        status = write_answer(&d, &err);
    }
    if (status == RK_ERR_STOPPED) {
        result = rk_progress_signal_status();
    } else if (status) {
        result = rk_command_fail_error(&rk_command_design, &err);
    } else {
        const bool found = d.least_rate > 0 ? d.cheapest != NULL
                                            : rk_design_cheapest(d.designs, d.count, 0) != NULL;
        result = found ? RK_EXIT_DONE : RK_EXIT_NOTHING;
    }
    free(d.designs);
    return result;
}

const rk_command rk_command_design = {
    .name = "design",
    .purpose = "Find the cheapest machine that trains a model fast enough",
    .options = design_options,
    .option_count = sizeof(design_options) / sizeof(design_options[0]),
    .notes = "By the Calculon methodology: the best strategy on every machine that the prices "
             "span.  Without a\ntarget, the machines that no other beats in cost and speed.  Exit "
             "status: 0 done, 1 no machine\nmeets the target, 2 wrong usage or input.\n\n"
             "example: reckon design --model seed-1T --system h100-80g-off512g50-nvl8 --batch "
             "3072 \\\n             --prices example --tokens 15T --days 120",
    .run = run_design,
};
