/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reckon run` asked for a cluster: which of several systems, and how many accelerators, meet a
 * deadline, a budget or a limit of power.
 */
#include "command/run_command.h"

#include "base/error.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEMS_MAX   16
#define CLUSTERS_MAX  (SYSTEMS_MAX * 32)
#define USUAL_MFU     0.4  /* where the first guess starts */
#define USUAL_DAYS    30.0 /* likewise, without a deadline */
#define CHOICE_RUNS   200  /* simulated for each cluster */
#define WATTS_PER_MW  1e6
#define MOST_SEQUENCE 65536 /* of a batch that follows from the tokens */

/* A system of the command line. */
struct offered {
    char name[256];
    int64_t most; /* accelerators; 0: as many as it has */
};

/* A cluster and its run. */
struct cluster {
    const char *system;
    rk_strategy strategy;
    double accelerators, step, days, late_days, hours, cost, power;
    bool meets, front;
};

struct choice {
    const rk_run_args *args;
    double deadline, max_power; /* days, W; infinite: not asked */
    int offered_count, count;
    struct offered offered[SYSTEMS_MAX];
    struct cluster clusters[CLUSTERS_MAX];
    int smallest, cheapest, fastest; /* places in clusters; below 0: none meets it */
};

/* ---- the question -------------------------------------------------------------------------- */

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
static rk_status read_systems(struct choice *c, rk_error *err)
{
    for (const char *at = c->args->request.system; *at;) {
        const size_t length = strcspn(at, ",");
        if (c->offered_count == SYSTEMS_MAX || length >= sizeof(c->offered[0].name)) {
            return rk_fail(err, RK_ERR_INVALID, "--system takes at most %d systems here",
                           SYSTEMS_MAX);
        }
        struct offered *o = &c->offered[c->offered_count++];
        *o = (struct offered){.most = 0};
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

/* ---- one cluster --------------------------------------------------------------------------- */

/* Tokens of the run, before a batch is known. */
static rk_status tokens_of(const rk_run_args *args, const rk_model *model, double *tokens,
                           rk_error *err)
{
    *tokens = args->tokens;
    if (args->loss > 0) {
        rk_loss_law law;
        const rk_status status =
            rk_loss_law_load(args->law ? args->law : "chinchilla-refit", &law, err);
        return status ? status
                      : rk_loss_tokens(&law, (double)rk_model_params_of(model).total, args->loss,
                                       tokens, err);
    }
    return args->steps > 0 && args->request.global_batch == 0
               ? rk_fail(err, RK_ERR_INVALID, "--steps needs --global-batch")
               : RK_OK;
}

/* The usual batch for so many tokens: the law step-law, rounded to a power of two of sequences. */
static rk_status usual_batch(double tokens, double seq, int64_t *batch, rk_error *err)
{
    rk_batch_law law;
    const rk_status status = rk_batch_law_load("step-law", &law, err);
    if (!status) {
        const double power = floor(log2(rk_batch_critical(&law, tokens, 0) / seq) + 0.5);
        *batch = (int64_t)fmin(MOST_SEQUENCE, fmax(1, exp2(power)));
    }
    return status;
}

static void fill_cluster(const struct choice *c, const rk_whole_run *run, struct cluster *out)
{
    const rk_answer *answer = rk_found_answer(&run->found);
    const rk_training *t = &run->training;
    const rk_training_result *r = &run->result;
    out->strategy = answer->strategy;
    out->accelerators = t->accelerators;
    out->step = t->step;
    out->days = r->total / DAY;
    out->late_days = run->simulated.total_s.p90 / DAY;
    out->hours = r->accelerator_hours;
    out->cost = r->cost;
    out->power = t->accelerators * t->power * t->pue;
    out->meets = out->days <= c->deadline && out->power <= c->max_power &&
                 (!(c->args->budget > 0) || out->cost <= c->args->budget);
}

/* Adds a cluster of so many accelerators, if some strategy fits there. */
static rk_status add_cluster(rk_job *job, struct choice *c, const struct offered *offered,
                             int64_t accelerators, int64_t batch, rk_error *err)
{
    rk_run_args args = *c->args;
    rk_inputs inputs;
    rk_whole_run run = {.args = &args, .inputs = &inputs};
    args.request.system = offered->name;
    args.request.accelerators = accelerators;
    args.request.global_batch = batch;
    args.simulated = args.simulated < CHOICE_RUNS ? args.simulated : CHOICE_RUNS;
    rk_status status = rk_request_load(&args.request, &inputs, err);
    if (!status && rk_found_fill(job, &args.request, &inputs, &run.found, err) == RK_ERR_STOPPED) {
        status = RK_ERR_STOPPED;
    } else if (!status && rk_found_answer(&run.found) && c->count < CLUSTERS_MAX &&
               rk_found_answer(&run.found)->estimate.fits) {
        status = rk_whole_run_fill(job, &run, err);
        struct cluster *out = &c->clusters[c->count];
        *out = (struct cluster){.system = offered->name};
        if (!status) {
            fill_cluster(c, &run, out);
            c->count++;
        }
    }
    rk_found_clear(&run.found);
    rk_inputs_clear(&inputs);
    return status;
}

/* ---- clusters of a system ------------------------------------------------------------------ */

/* Whole domains nearest to a number: 1, 5/4 or 3/2 times a power of two. */
static int64_t rounded(double accelerators, int64_t domain, int64_t most)
{
    const double domains = fmax(1, fmin(accelerators, (double)most) / (double)domain);
    const double power = exp2(floor(log2(domains))), share = domains / power;
    const double round = share < 1.125 || power < 4 ? 1
                         : share < 1.375            ? 1.25
                         : share < 1.75             ? 1.5
                                                    : 2;
    const int64_t result = domain * (int64_t)(power * round);
    return result < most ? result : most / domain * domain;
}

static bool is_there(const struct choice *c, const char *system, int64_t accelerators)
{
    for (int i = 0; i < c->count; i++) {
        if (c->clusters[i].system == system &&
            c->clusters[i].accelerators == (double)accelerators) {
            return true;
        }
    }
    return false;
}

/* The accelerators from which on the question can be answered, by a first guess of the MFU. */
static double first_guess(const struct choice *c, const rk_inputs *inputs, double tokens)
{
    const rk_accelerator *a = &inputs->system.accelerator;
    const double parameters = (double)rk_model_params_of(&inputs->model).active;
    const double days = c->deadline < HUGE_VAL ? c->deadline : USUAL_DAYS;
    const double most = c->max_power / (2 * a->power); /* with node and building */
    return fmin(most, 6 * parameters * tokens / (USUAL_MFU * a->gemm[RK_BF16].peak * days * DAY));
}

/* Doubles and halves about the first guess, then closes in on the deadline. */
static rk_status add_clusters(rk_job *job, struct choice *c, const struct offered *offered,
                              rk_error *err)
{
    static const double factors[] = {1, 2, 0.5, 4, 1.25, 1.5};
    rk_run_args args = *c->args;
    rk_inputs inputs;
    double tokens = 0;
    args.request.system = offered->name;
    args.request.accelerators = 0;
    rk_status status = rk_request_load(&args.request, &inputs, err);
    status = status ? status : tokens_of(&args, &inputs.model, &tokens, err);
    int64_t batch = args.request.global_batch;
    const double seq = (double)(args.request.seq > 0 ? args.request.seq : inputs.model.seq);
    if (!status && batch == 0) {
        status = usual_batch(tokens, seq, &batch, err);
    }
    if (!status) {
        const rk_system *system = &inputs.system;
        const int64_t has = system->tiers[system->tier_count - 1].size;
        const int64_t most = offered->most > 0 && offered->most < has ? offered->most : has;
        const int64_t domain = system->tiers[0].size < most ? system->tiers[0].size : most;
        tokens = args.steps > 0 ? args.steps * (double)batch * seq : tokens;
        const double guess = first_guess(c, &inputs, tokens);
        for (size_t i = 0; i < COUNT(factors) && !status; i++) {
            const int64_t accelerators = rounded(factors[i] * guess, domain, most);
            if (!is_there(c, offered->name, accelerators)) {
                status = add_cluster(job, c, offered, accelerators, batch, err);
            }
        }
    }
    rk_inputs_clear(&inputs);
    return status;
}

/* ---- the choice ---------------------------------------------------------------------------- */

static int by_days(const void *a, const void *b)
{
    const double x = ((const struct cluster *)a)->days, y = ((const struct cluster *)b)->days;
    return (x > y) - (x < y);
}

/* What a cluster costs; without prices, its accelerator-hours. */
static double cost_of(const struct cluster *cluster)
{
    return cluster->cost > 0 ? cluster->cost : cluster->hours;
}

static void choose(struct choice *c)
{
    double least = HUGE_VAL;
    qsort(c->clusters, (size_t)c->count, sizeof(c->clusters[0]), by_days);
    c->smallest = c->cheapest = c->fastest = -1;
    for (int i = 0; i < c->count; i++) {
        struct cluster *k = &c->clusters[i];
        k->front = cost_of(k) < least; /* nothing faster is as cheap */
        least = fmin(least, cost_of(k));
        if (!k->meets) {
            continue;
        }
        c->fastest = c->fastest < 0 ? i : c->fastest;
        if (c->smallest < 0 || k->accelerators < c->clusters[c->smallest].accelerators) {
            c->smallest = i;
        }
        if (c->cheapest < 0 || cost_of(k) < cost_of(&c->clusters[c->cheapest])) {
            c->cheapest = i;
        }
    }
}

/* ---- the answer ---------------------------------------------------------------------------- */

static const char *answer_of(const struct choice *c, int i, char out[64])
{
    (void)snprintf(out, 64, "%s%s%s%s", i == c->smallest ? " smallest" : "",
                   i == c->cheapest ? " cheapest" : "", i == c->fastest ? " fastest" : "",
                   c->clusters[i].meets ? "" : " beyond a limit");
    return out[0] == ' ' ? out + 1 : out;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"system", RK_ALIGN_LEFT},   {"accelerators", RK_ALIGN_RIGHT}, {"layout", RK_ALIGN_LEFT},
        {"step, s", RK_ALIGN_RIGHT}, {"days", RK_ALIGN_RIGHT},         {"p90", RK_ALIGN_RIGHT},
        {"M hours", RK_ALIGN_RIGHT}, {"M cost", RK_ALIGN_RIGHT},       {"MW", RK_ALIGN_RIGHT},
        {"front", RK_ALIGN_LEFT},    {"answer", RK_ALIGN_LEFT},
    };
    const struct choice *c = what;
    char answer[64];
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (int i = 0; i < c->count; i++) {
        const struct cluster *k = &c->clusters[i];
        rk_table_cell(&table, "%s", k->system);
        rk_table_cell(&table, "%.0f", k->accelerators);
        rk_table_cell(&table, "TP %" PRId64 " CP %" PRId64 " PP %" PRId64 " DP %" PRId64,
                      k->strategy.tp, k->strategy.cp, k->strategy.pp, k->strategy.dp);
        rk_table_cell(&table, "%.3f", k->step);
        rk_table_cell(&table, "%.1f", k->days);
        rk_table_cell(&table, "%.1f", k->late_days);
        rk_table_cell(&table, "%.3f", k->hours / 1e6);
        if (k->cost > 0) {
            rk_table_cell(&table, "%.3f", k->cost / 1e6);
        } else {
            rk_table_cell(&table, "-");
        }
        rk_table_cell(&table, "%.2f", k->power / WATTS_PER_MW);
        rk_table_cell(&table, "%s", k->front ? "*" : "");
        rk_table_cell(&table, "%s", answer_of(c, i, answer));
    }
    const rk_status status = rk_write_table(to, &table, style, err);
    if (!status && c->fastest < 0) {
        (void)fputs("\nnothing meets it: give more accelerators, time, money or power\n", to);
    }
    return status;
}

static rk_status write_rows(const rk_job *job, const struct choice *c, rk_error *err)
{
    rk_out *out;
    char answer[64];
    const rk_status status = rk_job_open(job, c->args->request.output, &out, err);
    if (status) {
        return status;
    }
    rk_out_text(out, "system,accelerators,tp,cp,pp,dp,global_batch,step_s,days,days_p90,"
                     "accelerator_hours,cost,power_W,meets,front,answer\n");
    for (int i = 0; i < c->count; i++) {
        const struct cluster *k = &c->clusters[i];
        rk_out_printf(out, "%s,%.0f,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
                      k->system, k->accelerators, k->strategy.tp, k->strategy.cp, k->strategy.pp,
                      k->strategy.dp, k->strategy.global_batch);
        rk_out_printf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%s,%s\n", k->step, k->days,
                      k->late_days, k->hours, k->cost, k->power, k->meets ? "true" : "false",
                      k->front ? "true" : "false", answer_of(c, i, answer));
    }
    return rk_out_close(out, err);
}

static void write_cluster(rk_json_writer *writer, const struct choice *c, int i)
{
    const struct cluster *k = &c->clusters[i];
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "system", k->system);
    rk_json_count(writer, "accelerators", (uint64_t)k->accelerators);
    rk_json_count(writer, "tp", (uint64_t)k->strategy.tp);
    rk_json_count(writer, "cp", (uint64_t)k->strategy.cp);
    rk_json_count(writer, "pp", (uint64_t)k->strategy.pp);
    rk_json_count(writer, "dp", (uint64_t)k->strategy.dp);
    rk_json_count(writer, "global_batch", (uint64_t)k->strategy.global_batch);
    rk_json_real(writer, "step_s", k->step);
    rk_json_real(writer, "days", k->days);
    rk_json_real(writer, "days_p90", k->late_days);
    rk_json_real(writer, "accelerator_hours", k->hours);
    rk_json_real(writer, "cost", k->cost > 0 ? k->cost : nan(""));
    rk_json_real(writer, "power_W", k->power);
    rk_json_flag(writer, "meets", k->meets);
    rk_json_flag(writer, "front", k->front);
    rk_json_flag(writer, "smallest", i == c->smallest);
    rk_json_flag(writer, "cheapest", i == c->cheapest);
    rk_json_flag(writer, "fastest", i == c->fastest);
    rk_json_close(writer, "}");
}

static rk_status write_json(const rk_job *job, const struct choice *c, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_job_open(job, c->args->request.output, &out, err);
    if (status) {
        return status;
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open_answer(&writer);
    rk_json_open_member(&writer, "clusters", "[");
    for (int i = 0; i < c->count; i++) {
        write_cluster(&writer, c, i);
    }
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}

rk_status rk_run_choose(rk_job *job, const rk_run_args *args, rk_error *err)
{
    struct choice *c = calloc(1, sizeof(*c));
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
        status = add_clusters(job, c, &c->offered[i], err);
    }
    if (!status) {
        choose(c);
        const rk_request *request = &args->request;
        status = request->json  ? write_json(job, c, err)
                 : request->csv ? write_rows(job, c, err)
                                : rk_job_print(job, request->output, write_text, c, err);
        rk_job_set_found(job, c->fastest >= 0);
    }
    free(c);
    return status;
}
