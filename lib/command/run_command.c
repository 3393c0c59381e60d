/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon run`: days, failures, checkpoints, money and energy of a whole training run. */
#include "command/commands.h"
#include "command/found.h"
#include "report/describe.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "run/training.h"

#include <math.h>

#define MINUTE 60.0
#define GIGA   1e9

/*
 * What is not given.  Llama 3 405B (arXiv 2407.21783): 419 interruptions in 54 days on 16,384
 * accelerators, storage of 2 TB/s.  Node: DGX H100, 10.2 kW with 8 boards of 700 W.
 */
#define USUAL_FAILURES 0.474 /* per day and 1,000 accelerators */
#define USUAL_STORAGE  0.122 /* GB/s an accelerator */
#define USUAL_NODE     1.82  /* power of a node over that of its boards */
#define USUAL_RESTART  10    /* minutes; assumed */
#define USUAL_PUE      1.1   /* assumed */

/* ---- options ------------------------------------------------------------------------------- */

struct run_args {
    rk_request request;
    double tokens, failures, restart, storage, interval, power, pue, price, carbon;
    bool async;
};

#define AT_LEAST(min_, above_, name_, member, unit, words)                                         \
    {                                                                                              \
        .name = name_, .type = RK_OPTION_REAL, .offset = offsetof(struct run_args, member),        \
        .min = min_, .above = above_, .max = INT64_MAX, .value = unit, .help = words               \
    }
#define REAL(name_, member, unit, words)  AT_LEAST(0, false, name_, member, unit, words)
#define ABOVE(name_, member, unit, words) AT_LEAST(0, true, name_, member, unit, words)

static const rk_option run_options[] = {
    {.name = "tokens",
     .required = true,
     .type = RK_OPTION_REAL,
     .offset = offsetof(struct run_args, tokens),
     .min = 1,
     .max = INT64_MAX,
     .value = "N",
     .help = "to train on: 15T"},
    REAL("failures", failures, "X",
         "interruptions a day per 1,000 accelerators; default: 0.474, of Llama 3"),
    REAL("restart", restart, "MINUTES",
         "from an interruption to the next step, without reading; default: 10"),
    ABOVE("storage", storage, "GB/s",
          "of all storage; default: 0.122 an accelerator, as for Llama 3"),
    ABOVE("checkpoint-every", interval, "MINUTES", "default: the best interval"),
    {.name = "async-checkpoint",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(struct run_args, async),
     .help = "training waits for the copy to host memory only"},
    REAL("price", price, "X", "of an accelerator-hour, in any currency"),
    ABOVE("power", power, "W",
          "of an accelerator with its share of the node; default: 1.82 of the board"),
    AT_LEAST(1, false, "pue", pue, "X",
             "power of the building over that of its machines; default: 1.1"),
    REAL("carbon", carbon, "G", "grams of CO2 a kWh"),
    RK_OPTIONS_OF_SEARCH,
};

/* What was asked and what was found. */
struct run {
    const struct run_args *args;
    const rk_inputs *inputs;
    rk_found found;
    rk_training training;
    rk_training_result result;
};

/* ---- for people ---------------------------------------------------------------------------- */

#define DURATION_SIZE 32

static const char *duration(double seconds, char out[DURATION_SIZE])
{
    const bool s = seconds < 2 * MINUTE, min = seconds < 2 * HOUR, h = seconds < 2 * DAY;
    const double unit = s ? 1 : min ? MINUTE : h ? HOUR : DAY;
    (void)snprintf(out, DURATION_SIZE, "%.3g %s", seconds / unit,
                   s     ? "s"
                   : min ? "min"
                   : h   ? "h"
                         : "days");
    return out;
}

#define AMOUNT_SIZE 32

/* "15.6 T", "5.682 TB", "512". */
static const char *amount(double value, const char *unit, char out[AMOUNT_SIZE])
{
    static const char *const letters[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    for (; value >= 1000 && i + 1 < sizeof(letters) / sizeof(letters[0]); i++) {
        value /= 1000;
    }
    (void)snprintf(out, AMOUNT_SIZE, "%.4g%s%s%s", value, i > 0 || unit[0] ? " " : "", letters[i],
                   unit);
    return out;
}

static void write_run(FILE *to, const struct run *run, const rk_interval *interval)
{
    const rk_training_result *r = &run->result;
    char tokens[AMOUNT_SIZE], steps[RK_COMMAS_SIZE], each[RK_COMMAS_SIZE];
    rk_write_label(to, "run");
    (void)fprintf(to, "%s tokens in %s steps of %s: %.4g days\n",
                  amount(run->training.tokens, "", tokens),
                  rk_with_commas((uint64_t)r->steps, steps),
                  rk_with_commas((uint64_t)run->training.tokens_per_step, each), r->total / DAY);
    if (interval->runs > 0) {
        rk_write_label(to, "");
        (void)fprintf(to, "10th to 90th percentile %.4g to %.4g days, by that of the step\n",
                      interval->low * r->total / DAY, interval->high * r->total / DAY);
    }
}

static void write_failures(FILE *to, const struct run *run)
{
    const rk_training_result *r = &run->result;
    char time[DURATION_SIZE], restart[DURATION_SIZE], reading[DURATION_SIZE], count[AMOUNT_SIZE];
    rk_write_label(to, "failures");
    if (!(r->mtbf < HUGE_VAL)) {
        (void)fputs("none\n", to);
        return;
    }
    (void)fprintf(to, "one in %s, %s in the run; %s to restart and %s to read\n",
                  duration(r->mtbf, time), amount(r->failures, "", count),
                  duration(run->training.restart, restart), duration(r->writing, reading));
}

static void write_checkpoints(FILE *to, const struct run *run)
{
    const rk_training_result *r = &run->result;
    char size[AMOUNT_SIZE], rate[AMOUNT_SIZE];
    char writing[DURATION_SIZE], waits[DURATION_SIZE], interval[DURATION_SIZE];
    rk_write_label(to, "saved");
    (void)fprintf(to, "%s a checkpoint, %s to write at %s",
                  amount(run->training.checkpoint, "B", size), duration(r->writing, writing),
                  amount(run->training.storage, "B/s", rate));
    if (run->training.host > 0) {
        (void)fprintf(to, ", of which training waits %s", duration(r->blocking, waits));
    }
    if (r->interval < HUGE_VAL) {
        (void)fprintf(to, "; every %s%s", duration(r->interval, interval),
                      run->training.interval > 0 ? "" : ", which is best");
    }
    (void)fputc('\n', to);
}

/* What the run costs beside time. */
static void write_prices(FILE *to, const struct run *run)
{
    const rk_training *t = &run->training;
    const rk_training_result *r = &run->result;
    char number[AMOUNT_SIZE];
    rk_write_label(to, "cost");
    (void)fprintf(to, "%s accelerator-hours", amount(r->accelerator_hours, "", number));
    if (t->price > 0) {
        (void)fprintf(to, " at %.4g: %s", t->price, amount(r->cost, "", number));
    }
    (void)fputc('\n', to);
    if (t->power > 0) {
        rk_write_label(to, "energy");
        (void)fprintf(to, "%s at %.0f W an accelerator and PUE %.3g",
                      amount(r->energy / HOUR, "Wh", number), t->power, t->pue);
        if (t->carbon > 0) {
            (void)fprintf(to, "; %s of CO2", amount(r->carbon / 1e3, "t", number));
        }
        (void)fputc('\n', to);
    }
}

static rk_status write_parts(FILE *to, const rk_training_result *r, rk_table_style style,
                             rk_error *err)
{
    static const rk_table_column columns[] = {
        {"time of the run", RK_ALIGN_LEFT}, {"days", RK_ALIGN_RIGHT}, {"%", RK_ALIGN_RIGHT}};
    rk_rounding days = {.digit = 1e-3}, percent = {.digit = 1e-2};
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < RK_TRAINING_PART_COUNT; i++) {
        const double shown = rk_round_next(&days, r->part[i] / DAY);
        const double share = rk_round_next(&percent, 100 * r->part[i] / r->total);
        if (r->part[i] > 0) {
            rk_table_cell(&table, "%s", rk_training_part_names[i]);
            rk_table_cell(&table, "%.3f", shown);
            rk_table_cell(&table, "%.2f", share);
        }
    }
    rk_table_rule(&table);
    rk_table_cell(&table, "total");
    rk_table_cell(&table, "%.3f", days.printed);
    rk_table_cell(&table, "%.2f", percent.printed);
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, int width,
                            rk_error *err)
{
    const struct run *run = what;
    const rk_answer *answer = rk_found_answer(&run->found);
    (void)width;
    rk_write_inputs(to, &run->args->request, run->inputs);
    rk_write_found(to, &run->found);
    if (!answer) {
        (void)fputc('\n', to);
        rk_write_shortage(to, &run->found.plan);
        return RK_OK;
    }
    rk_write_strategy(to, &answer->strategy);
    (void)fputc('\n', to);
    rk_write_summary(to, run->inputs, answer);
    (void)fputc('\n', to);
    write_run(to, run, &answer->interval);
    write_failures(to, run);
    write_checkpoints(to, run);
    write_prices(to, run);
    (void)fputc('\n', to);
    return write_parts(to, &run->result, style, err);
}

/* ---- for programs -------------------------------------------------------------------------- */

static const struct {
    const char *key;
    size_t offset; /* of a double in the result */
    bool priced;   /* 0: not known */
} fields[] = {
#define RESULT(key_, member, priced_)                                                              \
    {                                                                                              \
        .key = key_, .offset = offsetof(rk_training_result, member), .priced = priced_             \
    }
    RESULT("steps", steps, false),
    RESULT("total_s", total, false),
    RESULT("training_s", part[RK_TRAINING_STEPS], false),
    RESULT("checkpoints_s", part[RK_TRAINING_CHECKPOINTS], false),
    RESULT("lost_s", part[RK_TRAINING_LOST], false),
    RESULT("restarts_s", part[RK_TRAINING_RESTARTS], false),
    RESULT("goodput", goodput, false),
    RESULT("mtbf_s", mtbf, false),
    RESULT("failures", failures, false),
    RESULT("checkpoint_interval_s", interval, false),
    RESULT("checkpoint_write_s", writing, false),
    RESULT("checkpoint_blocking_s", blocking, false),
    RESULT("accelerator_hours", accelerator_hours, false),
    RESULT("cost", cost, true),
    RESULT("energy_J", energy, true),
    RESULT("carbon_kg", carbon, true),
#undef RESULT
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Not a number where it is not known. */
static double field_of(const rk_training_result *result, size_t index)
{
    const double value = *(const double *)((const char *)result + fields[index].offset);
    return fields[index].priced && value <= 0 ? nan("") : value;
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const struct run *run = what;
    const rk_answer *answer = rk_found_answer(&run->found);
    rk_found_write_json(writer, &run->found);
    if (!answer) {
        rk_shortage_write_json(writer, &run->found.plan);
        return;
    }
    rk_json_open_member(writer, "run", "{");
    rk_json_real(writer, "tokens", run->training.tokens);
    rk_json_real(writer, "checkpoint_bytes", run->training.checkpoint);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        rk_json_real(writer, fields[i].key, field_of(&run->result, i));
    }
    rk_json_close(writer, "}");
    rk_answer_write_json(writer, answer);
}

static rk_status write_row(const rk_job *job, const struct run *run, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_job_open(job, run->args->request.output, &out, err);
    if (status) {
        return status;
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        rk_out_printf(out, "%s%s", i ? "," : "", fields[i].key);
    }
    rk_out_text(out, "\n");
    for (size_t i = 0; rk_found_answer(&run->found) && i < FIELD_COUNT; i++) {
        char number[RK_NUMBER_TEXT_SIZE];
        const double value = field_of(&run->result, i);
        rk_out_printf(out, "%s%s", i ? "," : "",
                      isfinite(value) ? rk_double_text(value, number) : "");
    }
    rk_out_text(out, rk_found_answer(&run->found) ? "\n" : "");
    return rk_out_close(out, err);
}

static rk_status write_answer(const rk_job *job, const struct run *run, rk_error *err)
{
    const rk_request *request = &run->args->request;
    if (request->json) {
        return rk_write_document(job, request, run->inputs, write_members, run, err);
    }
    return request->csv ? write_row(job, run, err)
                        : rk_job_print(job, request->output, write_text, run, err);
}

/* ---- the run ------------------------------------------------------------------------------- */

/* A checkpoint holds the weights that learn and the states of the optimizer. */
static double checkpoint_bytes(const rk_model *model, const rk_strategy *s)
{
    const rk_model_params params = rk_model_params_of(model);
    const double each = rk_strategy_learning(s) * s->states.weight + s->states.optimizer;
    return (double)(params.total + params.mtp) * each;
}

static rk_status fill_training(struct run *run, rk_error *err)
{
    const struct run_args *args = run->args;
    const rk_answer *answer = rk_found_answer(&run->found);
    const rk_strategy *s = &answer->strategy;
    const rk_accelerator *a = &run->inputs->system.accelerator;
    const double accelerators = (double)rk_strategy_ranks(s);
    const double storage = args->storage > 0 ? args->storage : USUAL_STORAGE * accelerators;
    run->training = (rk_training){
        .tokens = args->tokens,
        .tokens_per_step = (double)s->global_batch * (double)s->seq,
        .step = answer->estimate.step,
        .accelerators = accelerators,
        .failure_rate = args->failures / 1000 / DAY,
        .restart = args->restart * MINUTE,
        .checkpoint = checkpoint_bytes(&run->inputs->model, s),
        .storage = storage * GIGA,
        .host = args->async ? a->host_bandwidth * a->host_efficiency : 0,
        .interval = args->interval * MINUTE,
        .power = args->power > 0 ? args->power : USUAL_NODE * a->power,
        .pue = args->pue,
        .price = args->price,
        .carbon = args->carbon,
    };
    if (args->async && !(run->training.host > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the system document has no link to host memory, which "
                       "--async-checkpoint needs");
    }
    return rk_training_run(&run->training, &run->result, err);
}

static void init_run(void *arguments)
{
    struct run_args *args = arguments;
    rk_request_init(&args->request);
    args->failures = USUAL_FAILURES;
    args->restart = USUAL_RESTART;
    args->pue = USUAL_PUE;
}

static rk_status run_run(rk_job *job, void *arguments, rk_error *err)
{
    const struct run_args *args = arguments;
    rk_inputs inputs;
    struct run run = {.args = args, .inputs = &inputs};
    rk_status status = rk_request_load(&args->request, &inputs, err);
    status = status ? status : rk_found_fill(job, &args->request, &inputs, &run.found, err);
    if (!status && rk_found_answer(&run.found)) {
        status = fill_training(&run, err);
    }
    status = status ? status : write_answer(job, &run, err);
    const rk_answer *answer = status ? NULL : rk_found_answer(&run.found);
    rk_job_set_found(job, answer && answer->estimate.fits);
    rk_found_clear(&run.found);
    rk_inputs_clear(&inputs);
    return status;
}

const rk_command rk_command_run = {
    .name = "run",
    .purpose = "Predict a whole training run: days, failures, checkpoints, money and energy",
    .options = run_options,
    .option_count = sizeof(run_options) / sizeof(run_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes = RK_NOTES_OF_CHOICES
    "Exit status: 0 done, 1 it does not fit, 2 wrong usage or input, or "
    "a strategy that the framework refuses.\n\n"
    "example: reckon run --model llama3.1-405b --system h100-roce-24k \\\n"
    "             --accelerators 16384 --global-batch 2048 --tokens 15.6T --price 2.5",
    .size = sizeof(struct run_args),
    .init = init_run,
    .complete = rk_request_finish,
    .run = run_run,
};
