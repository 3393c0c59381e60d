/* SPDX-License-Identifier: Apache-2.0 */
/* The residuals of a fit: predicted against measured runs and kernels at given constants. */
#include "evidence/fit_residuals.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rk_is_table_key(const char *key)
{
    return strncmp(key, "data.", 5) == 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

rk_status rk_fit_setup_open(const rk_recipe *recipe, rk_fit_setup *bench, rk_error *err)
{
    rk_status status = RK_OK;
    memset(bench, 0, sizeof(*bench));
    bench->recipe = recipe;
    for (int i = 0; !status && i < recipe->document_count; i++) {
        bench->extra[i].rate = 1;
        status = rk_editable_open(recipe->documents[i], &bench->documents[i], err);
    }
    if (status) {
        rk_fit_setup_clear(bench);
    }
    return status;
}

rk_status rk_fit_setup_take(rk_fit_setup *bench, const rk_observations *rows, rk_error *err)
{
    bench->rows = rows;
    const size_t count = rows->sources.system_count;
    if (count > 0) {
        bench->systems = malloc(count * sizeof(*bench->systems));
        if (!bench->systems) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the machines");
        }
        memcpy(bench->systems, rows->sources.systems, count * sizeof(*bench->systems));
    }
    return RK_OK;
}

rk_status rk_fit_setup_copy(const rk_fit_setup *bench, rk_fit_setup *copy, rk_error *err)
{
    rk_status status = RK_OK;
    *copy = *bench;
    memset(copy->documents, 0, sizeof(copy->documents));
    copy->systems = NULL;
    for (int i = 0; !status && i < bench->recipe->document_count; i++) {
        status = rk_editable_copy(bench->documents[i], &copy->documents[i], err);
    }
    if (!status) {
        status = rk_fit_setup_take(copy, bench->rows, err);
    }
    if (status) {
        rk_fit_setup_clear(copy);
    }
    return status;
}

void rk_fit_setup_clear(rk_fit_setup *bench)
{
    for (int i = 0; i < RK_RECIPE_DOCUMENTS; i++) {
        rk_editable_free(bench->documents[i]);
        bench->documents[i] = NULL;
    }
    free(bench->systems);
    bench->systems = NULL;
}

/* Index of the document of a name, or -1. */
static int find_document(const rk_fit_setup *bench, const char *name)
{
    for (int i = 0; i < bench->recipe->document_count; i++) {
        if (strcmp(rk_editable_name(bench->documents[i]), name) == 0) {
            return i;
        }
    }
    return -1;
}

/*
 * The machines of the sources of runs with a document in place of their own: the one that is
 * the document, and clusters of that accelerator that are no documents themselves.
 */
static rk_status place_machine(rk_fit_setup *bench, const rk_editable *document,
                               const rk_system *machine, rk_error *err)
{
    const rk_run_sources *sources = &bench->rows->sources;
    rk_status status = RK_OK;
    for (size_t i = 0; i < sources->system_count && !status; i++) {
        const char *name = sources->system_names[i];
        const char *accelerator = sources->systems[i].accelerator.name;
        if (strcmp(name, rk_editable_name(document)) == 0) {
            bench->systems[i] = *machine;
        } else if (strcmp(accelerator, rk_editable_name(document)) == 0 &&
                   find_document(bench, name) < 0) {
            status = rk_editable_cluster(document, name, &bench->systems[i], err);
        }
    }
    return status;
}

static void set_engines(rk_fit_setup *bench, int index)
{
    assert(index >= 0 && index < bench->recipe->document_count);
    const rk_accelerator *a = &bench->machines[index].accelerator;
    for (int rated = 0; rated < 2; rated++) {
        rk_accelerator own = *a;
        for (int i = 0; rated && i < RK_PRECISION_COUNT; i++) {
            own.gemm[i].efficiency *= bench->extra[index].rate;
        }
        for (int clock = RK_CLOCK_TRAINING; clock <= RK_CLOCK_BURST; clock++) {
            bench->engines[index][clock][rated] = rk_accelerator_at_clock(&own, (rk_clock)clock);
        }
    }
}

static rk_status read_document(rk_fit_setup *bench, int index, rk_error *err)
{
    const rk_editable *document = bench->documents[index];
    if (rk_editable_kind_of(document) == RK_EDITABLE_STACK) {
        return rk_editable_stack(document, &bench->stacks[index], err);
    }
    rk_system *machine = &bench->machines[index];
    const rk_status status = rk_editable_system(document, machine, err);
    if (!status) {
        set_engines(bench, index);
    }
    return status ? status : place_machine(bench, document, machine, err);
}

static rk_status set_number(rk_fit_setup *bench, int document, const char *key, double value,
                            rk_error *err)
{
    assert(document >= 0 && document < bench->recipe->document_count);
    rk_table_constants *extra = &bench->extra[document];
    const struct {
        const char *key;
        double *place, unit;
    } keys[] = {
        {"data.module_us", &extra->module_seconds, 1e-6},
        {"data.module_passes", &extra->module_passes, 1},
        {"data.rate", &extra->rate, 1},
        {"data.droop", &extra->droop, 1},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i].key, key) == 0) {
            *keys[i].place = value * keys[i].unit;
            return RK_OK;
        }
    }
    return rk_is_table_key(key)
               ? rk_fail_at(err, RK_ERR_INVALID, key,
                            "of tables there are data.module_us, data.module_passes, data.rate and "
                            "data.droop")
               : rk_editable_set(bench->documents[document], key, value, err);
}

rk_status rk_fit_setup_set(rk_fit_setup *bench, const double *values, rk_error *err)
{
    const rk_recipe *recipe = bench->recipe;
    rk_status status = RK_OK;
    for (int i = 0; i < recipe->constant_count; i++) {
        const rk_constant *constant = &recipe->constants[i];
        for (int k = 0; k < constant->key_count; k++) {
            for (int j = 0; !status && j < recipe->document_count; j++) {
                if (constant->documents >> j & 1) {
                    status = set_number(bench, j, constant->keys[k], values[i], err);
                }
            }
        }
    }
    for (int j = 0; !status && j < recipe->document_count; j++) {
        status = read_document(bench, j, err);
    }
    return status;
}

/* ---- errors --------------------------------------------------------------------------------- */

/*
 * Work other than the kernel that a row times: some small kernels, and passes over the tensors of
 * the module (rotary positions and the KV cache; quantisation of a GEMM's input).
 */
static double beside_seconds(const rk_fit_setup *bench, int document, double module_bytes)
{
    const rk_table_constants *extra = &bench->extra[document];
    return module_bytes > 0
               ? extra->module_seconds + rk_stream_seconds(&bench->machines[document].accelerator,
                                                           extra->module_passes * module_bytes)
               : 0;
}

/* Short benchmarks end before heat limits the clock; during long kernels the clock falls. */
static double gemm_seconds(const rk_fit_setup *bench, const rk_observation *row)
{
    const rk_gemm_work *gemm = &row->op.kernel.gemm;
    const bool rated = bench->recipe->tables[row->table].rated;
    const rk_accelerator *a = &bench->engines[row->document][gemm->clock][rated];
    const double droop = gemm->clock == RK_CLOCK_BURST ? bench->extra[row->document].droop : 0;
    const double t = (gemm->grouped ? rk_grouped_gemm_seconds : rk_gemm_seconds)(
        a, gemm->precision, gemm->batch, gemm->M, gemm->N, gemm->K, gemm->accumulate_bytes);
    return rk_drooping_seconds(a, t, droop) +
           beside_seconds(bench, row->document, row->op.module_bytes);
}

static double operator_seconds(const rk_fit_setup *bench, const rk_observation *row)
{
    const rk_system *machine = &bench->machines[row->document];
    const rk_accelerator *a = &machine->accelerator;
    switch (bench->recipe->tables[row->table].kind) {
    case RK_TABLE_GEMM:
        return gemm_seconds(bench, row);
    case RK_TABLE_ATTENTION:
        return rk_attention_seconds(a, &row->op.kernel.attention) +
               beside_seconds(bench, row->document, row->op.module_bytes);
    case RK_TABLE_FLASH:
        return rk_flash_seconds(a, &row->flash.work) +
               beside_seconds(bench, row->document, row->flash.expanded_bytes);
    case RK_TABLE_COLLECTIVE: {
        const rk_group group = rk_group_of(machine, row->collective.ranks, 1);
        return rk_collective_seconds(machine, row->collective.op, row->collective.bytes, &group);
    }
    default:
        return rk_stream_seconds(a, row->stream_bytes);
    }
}

/* Names of what an accelerator has rates for; returns their number. */
static size_t list_kernels(const rk_accelerator *a, bool flash, const char **names)
{
    size_t count = 0;
    for (int i = 0; flash && i < RK_FLASH_LIBRARY_COUNT; i++) {
        if (a->flash[i].forward > 0 || a->flash[i].backward > 0) {
            names[count++] = rk_flash_library_names[i];
        }
    }
    for (int i = 0; !flash && i < RK_PRECISION_COUNT; i++) {
        if (a->gemm[i].peak > 0) {
            names[count++] = rk_precision_names[i];
        }
    }
    return count;
}

static rk_status fail_kernel(const rk_fit_setup *bench, const rk_observation *row, bool flash,
                             rk_error *err)
{
    const char *names[RK_FLASH_LIBRARY_COUNT + RK_PRECISION_COUNT];
    const rk_flash_work *work = &row->flash.work;
    const char *name = flash ? rk_flash_library_names[work->library]
                             : rk_precision_names[row->op.kernel.gemm.precision];
    const size_t count = list_kernels(&bench->machines[row->document].accelerator, flash, names);
    const char *nearest = rk_nearest_name_within(name, names, count, strlen(name));
    (void)rk_fail(err, RK_ERR_INVALID,
                  "row %zu: %s has no %srate of the kernel %s%s%s%s; add it to the document, or "
                  "leave such rows out by \"where\"",
                  row->row + 1, rk_editable_name(bench->documents[row->document]),
                  !flash           ? ""
                  : work->backward ? "backward "
                                   : "forward ",
                  name, nearest ? " (nearest: " : "", nearest ? nearest : "", nearest ? ")" : "");
    rk_error_set_file(err, bench->rows->tables[row->table].name);
    return RK_ERR_INVALID;
}

rk_status rk_fit_setup_check(const rk_fit_setup *bench, rk_error *err)
{
    for (size_t i = 0; i < bench->rows->count; i++) {
        const rk_observation *row = &bench->rows->rows[i];
        const rk_table_kind kind = bench->recipe->tables[row->table].kind;
        const bool flash = kind == RK_TABLE_FLASH;
        if (row->document >= 0 && (flash || kind == RK_TABLE_GEMM) &&
            !isfinite(operator_seconds(bench, row))) {
            return fail_kernel(bench, row, flash, err);
        }
    }
    return RK_OK;
}

/* The document that is the software of a run, or NULL. */
static const rk_stack *stack_of(const rk_fit_setup *bench, const rk_run_case *run)
{
    const int index = find_document(bench, bench->rows->sources.stack_names[run->stack]);
    return index < 0 ? NULL : &bench->stacks[index];
}

static double run_prediction(const rk_fit_setup *bench, const rk_observation *row)
{
    const rk_run_case *run = &bench->rows->cases[row->run];
    const rk_system *system = &bench->systems[run->system];
    rk_run_prediction p;
    rk_error err;
    if (bench->recipe->tables[row->table].measure == RK_MEASURE_STEP) {
        return rk_run_predict(&bench->rows->sources, run, system, stack_of(bench, run), &p, &err)
                   ? (double)NAN
                   : p.estimate.step;
    }
    return rk_run_predict_exact(&bench->rows->sources, run, system, stack_of(bench, run), &p, &err)
               ? (double)NAN
               : p.memory;
}

double rk_fit_setup_error(const rk_fit_setup *bench, const rk_observation *row)
{
    /* Far beyond any meaningful error, so that a failed prediction cannot dominate a sum. */
    const double most = 10;
    const double predicted =
        row->document < 0 ? run_prediction(bench, row) : operator_seconds(bench, row);
    const double error = log(predicted / row->measured);
    return error > -most && error < most ? error : most;
}

/* ---- loss ----------------------------------------------------------------------------------- */

double rk_loss_cost(const rk_recipe *recipe, double error)
{
    assert(recipe->scale > 0);
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
    assert(recipe->scale > 0);
    const double s = recipe->scale;
    switch (recipe->loss) {
    case RK_LOSS_SQUARE:
        return 1 / s;
    case RK_LOSS_HUBER:
        return 1 / (s * sqrt(1 + error * error / (s * s)));
    default:
        return 1 / rk_max(fabs(error), s / 10); /* an absolute value has no curvature of its own */
    }
}
