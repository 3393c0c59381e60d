/* SPDX-License-Identifier: Apache-2.0 */
#include "calibrate/problem.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rk_is_table_key(const char *key)
{
    return strncmp(key, "data.", 5) == 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

rk_status rk_bench_open(const rk_recipe *recipe, rk_bench *bench, rk_error *err)
{
    rk_status status = RK_OK;
    *bench = (rk_bench){.recipe = recipe, .module_seconds = 0};
    for (int i = 0; !status && i < recipe->document_count; i++) {
        status = rk_tuned_open(recipe->documents[i], &bench->documents[i], err);
    }
    if (status) {
        rk_bench_clear(bench);
    }
    return status;
}

rk_status rk_bench_take(rk_bench *bench, const rk_observations *rows, rk_error *err)
{
    bench->rows = rows;
    const size_t count = rows->sources.system_count;
    if (count > 0) {
        bench->systems = malloc(count * sizeof(*bench->systems));
        if (!bench->systems) {
            return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the machines");
        }
        memcpy(bench->systems, rows->sources.systems, count * sizeof(*bench->systems));
    }
    return RK_OK;
}

rk_status rk_bench_copy(const rk_bench *bench, rk_bench *copy, rk_error *err)
{
    rk_status status = RK_OK;
    *copy = *bench;
    memset(copy->documents, 0, sizeof(copy->documents));
    copy->systems = NULL;
    for (int i = 0; !status && i < bench->recipe->document_count; i++) {
        status = rk_tuned_copy(bench->documents[i], &copy->documents[i], err);
    }
    if (!status) {
        status = rk_bench_take(copy, bench->rows, err);
    }
    if (status) {
        rk_bench_clear(copy);
    }
    return status;
}

void rk_bench_clear(rk_bench *bench)
{
    for (int i = 0; i < RK_RECIPE_DOCUMENTS; i++) {
        rk_tuned_free(bench->documents[i]);
        bench->documents[i] = NULL;
    }
    free(bench->systems);
    bench->systems = NULL;
}

/*
 * A machine of the sources of runs as it is with a document in the place of its own: a machine
 * that is the document, or a cluster of the same accelerator, which keeps its limits.
 */
static rk_system with_document(const rk_system *listed, const char *name, const rk_system *machine,
                               const char *document)
{
    rk_system system = *listed;
    if (strcmp(name, document) == 0) {
        return *machine;
    }
    if (strcmp(listed->accelerator.name, machine->accelerator.name) == 0) {
        system.accelerator =
            rk_accelerator_at_power(&machine->accelerator, listed->accelerator.power);
        system.accelerator.host_capacity = listed->accelerator.host_capacity;
    }
    return system;
}

static rk_status read_document(rk_bench *bench, int index, rk_error *err)
{
    const rk_tuned *document = bench->documents[index];
    const char *name = rk_tuned_name(document);
    if (rk_tuned_kind_of(document) == RK_TUNED_STACK) {
        return rk_tuned_stack(document, &bench->stacks[index], err);
    }
    rk_system *machine = &bench->machines[index];
    const rk_status status = rk_tuned_system(document, machine, err);
    if (!status) {
        bench->bursts[index] = rk_accelerator_in_burst(&machine->accelerator);
        const rk_run_sources *sources = &bench->rows->sources;
        for (size_t i = 0; i < sources->system_count; i++) {
            const rk_system *listed = &sources->systems[i];
            if (strcmp(listed->accelerator.name, machine->accelerator.name) == 0) {
                bench->systems[i] = with_document(listed, sources->system_names[i], machine, name);
            }
        }
    }
    return status;
}

static void set_table_key(rk_bench *bench, const char *key, double value)
{
    if (strcmp(key, "data.module_us") == 0) {
        bench->module_seconds = value * 1e-6;
    } else if (strcmp(key, "data.module_passes") == 0) {
        bench->module_passes = value;
    }
}

rk_status rk_bench_set(rk_bench *bench, const double *values, rk_error *err)
{
    const rk_recipe *recipe = bench->recipe;
    rk_status status = RK_OK;
    for (int i = 0; i < recipe->constant_count; i++) {
        const rk_constant *constant = &recipe->constants[i];
        for (int k = 0; k < constant->key_count; k++) {
            const char *key = constant->keys[k];
            if (rk_is_table_key(key)) {
                set_table_key(bench, key, values[i]);
                continue;
            }
            for (int j = 0; !status && j < recipe->document_count; j++) {
                if (constant->documents >> j & 1) {
                    status = rk_tuned_set(bench->documents[j], key, values[i], err);
                }
            }
        }
    }
    for (int j = 0; !status && j < recipe->document_count; j++) {
        status = read_document(bench, j, err);
    }
    return status;
}

/* ---- errors -----------------------------------------------------------------------------------
 */

/* A module of an inference stack: positions and the cache of keys and values beside the kernel. */
static double attention_seconds(const rk_bench *bench, const rk_accelerator *a,
                                const rk_attention_row *row)
{
    const double kernel = rk_attention_seconds(a, &row->work);
    return row->module_bytes > 0
               ? kernel + bench->module_seconds +
                     rk_stream_seconds(a, bench->module_passes * row->module_bytes)
               : kernel;
}

static double operator_seconds(const rk_bench *bench, const rk_observation *row)
{
    const rk_system *machine = &bench->machines[row->document];
    const rk_accelerator *a = &machine->accelerator;
    const rk_gemm_row *gemm = &row->gemm;
    switch (bench->recipe->tables[row->table].kind) {
    case RK_TABLE_GEMM:
        return rk_gemm_seconds(gemm->burst ? &bench->bursts[row->document] : a, gemm->precision,
                               gemm->batch, gemm->m, gemm->n, gemm->k, gemm->accumulate_bytes);
    case RK_TABLE_ATTENTION:
        return attention_seconds(bench, a, &row->attention);
    case RK_TABLE_COLLECTIVE: {
        const rk_group group = rk_group_of(machine, row->collective.ranks, 1);
        return rk_collective_seconds(machine, row->collective.op, row->collective.bytes, &group);
    }
    default:
        return rk_stream_seconds(a, row->stream_bytes);
    }
}

/* The document that is the software of a run, or NULL. */
static const rk_stack *stack_of(const rk_bench *bench, const rk_run_case *run)
{
    const char *name = bench->rows->sources.stack_names[run->stack];
    for (int i = 0; i < bench->recipe->document_count; i++) {
        if (strcmp(rk_tuned_name(bench->documents[i]), name) == 0) {
            return &bench->stacks[i];
        }
    }
    return NULL;
}

static double run_prediction(const rk_bench *bench, const rk_observation *row)
{
    const rk_run_case *run = &bench->rows->cases[row->run];
    const rk_system *system = &bench->systems[run->system];
    rk_run_prediction p;
    rk_error err;
    if (bench->recipe->tables[row->table].measure == RK_MEASURE_STEP) {
        rk_run_predict(&bench->rows->sources, run, system, stack_of(bench, run), &p);
        return p.estimate.step;
    }
    return rk_run_predict_exact(&bench->rows->sources, run, system, stack_of(bench, run), &p, &err)
               ? (double)NAN
               : p.memory;
}

double rk_bench_error(const rk_bench *bench, const rk_observation *row)
{
    /* Far beyond any error that says something, so that a failed price cannot spoil a sum. */
    const double most = 10;
    const double predicted =
        row->document < 0 ? run_prediction(bench, row) : operator_seconds(bench, row);
    const double error = log(predicted / row->measured);
    return error > -most && error < most ? error : most;
}

/* ---- loss -------------------------------------------------------------------------------------
 */

double rk_loss_cost(const rk_recipe *recipe, double error)
{
    const double s = recipe->scale;
    switch (recipe->loss) {
    case RK_LOSS_SQUARE:
        return error * error / (2 * s);
    case RK_LOSS_HUBER:
        return s * (sqrt(1 + error * error / (s * s)) - 1);
    default:
        return fabs(error);
    }
}

double rk_loss_weight(const rk_recipe *recipe, double error)
{
    const double s = recipe->scale;
    switch (recipe->loss) {
    case RK_LOSS_SQUARE:
        return 1 / s;
    case RK_LOSS_HUBER:
        return 1 / (s * sqrt(1 + error * error / (s * s)));
    default:
        return 1 / fmax(fabs(error), s / 10); /* an absolute value has no curvature of its own */
    }
}
