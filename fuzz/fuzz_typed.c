/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed functions with whatever a program can put into their structs: bytes choose a function,
 * then slots of its struct and what is written there.  Pointers are left alone.  An answer is
 * refused with a sound error or has finite figures.
 */
#include "reckon/run.h"

#include <math.h>
#include <string.h>

#include "target.h"

#define MODEL                                                                                      \
    "{\"name\": \"small\", \"hidden\": 256, \"layers\": 4, \"vocab\": 1000, \"seq\": 128,"         \
    " \"heads\": 4, \"kv_heads\": 4, \"ffn\": 512, \"tied\": true}"
#define STRATEGY "{\"tp\": 2, \"pp\": 2, \"dp\": 2, \"global_batch\": 16}"

/* Made once: the same for every input. */
struct handles {
    rk_model *model;
    rk_system *system;
    rk_setup *setup;
    rk_strategy strategy;
};

static const struct handles *handles(void)
{
    static struct handles h;
    rk_error err;
    if (!h.setup) {
        REQUIRE(!rk_model_create(MODEL, &h.model, &err));
        REQUIRE(!rk_system_create("b200-sxm", &h.system, &err));
        REQUIRE(!rk_setup_create(h.model, h.system, NULL, &h.setup, &err));
        REQUIRE(!rk_strategy_read(h.setup, STRATEGY, &h.strategy, sizeof(h.strategy), &err));
    }
    return &h;
}

/* ---- bytes of the input ---------------------------------------------------------------------- */

typedef struct bytes {
    const uint8_t *data;
    size_t left;
} bytes;

static uint64_t next(bytes *from, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width && from->left > 0; i++, from->left--) {
        value = value << 8 | *from->data++;
    }
    return value;
}

/* Writes extreme or plain values to slots of `base`, from `first` (behind its size) on. */
static void scribble(bytes *from, void *base, size_t first, size_t size)
{
    static const double reals[] = {
        0, -0.0, 0.5, 1, 1e18, 5e-324, 1e308, (double)NAN, (double)INFINITY, -(double)INFINITY};
    static const int64_t counts[] = {-1, 0, 1, 2, 4, 1 << 30, INT32_MAX, INT64_MAX, INT64_MIN};
    while (from->left > 3) {
        const size_t at = first + (size_t)(next(from, 2) % (size - first));
        const unsigned kind = (unsigned)next(from, 1) % 4U;
        const uint64_t raw = next(from, kind == 3 ? 8 : 1);
        const double real = reals[raw % (sizeof(reals) / sizeof(reals[0]))];
        const int64_t count = counts[raw % (sizeof(counts) / sizeof(counts[0]))];
        const int small = (int)(raw & 255U) - 1;
        const void *what = kind == 0   ? (const void *)&real
                           : kind == 1 ? (const void *)&count
                           : kind == 2 ? (const void *)&small
                                       : (const void *)&raw;
        const size_t width = kind == 2 ? sizeof(small) : sizeof(raw);
        const size_t slot = at - at % width;
        if (slot >= first && slot + width <= size) {
            memcpy((char *)base + slot, what, width);
        }
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void try_strategy(bytes *from)
{
    static const int16_t layers[1 << 12] = {1, 1, 1, 1};
    const struct handles *h = handles();
    rk_strategy s = h->strategy;
    rk_prediction p;
    rk_legality legality;
    rk_error err;
    scribble(from, &s, sizeof(s.size), sizeof(s));
    s.layout = layers;
    const rk_status checked = rk_strategy_check(h->setup, &s, &legality, sizeof(legality), &err);
    const rk_status status = rk_predict_step(h->setup, &s, &p, sizeof(p), &err);
    if (status) {
        require_sound_error(&err, status);
        REQUIRE(checked || !legality.legal);
        return;
    }
    REQUIRE(!checked && legality.legal);
    REQUIRE(isfinite(p.step_s) && p.step_s > 0 && isfinite(p.memory_total_bytes));
    REQUIRE(isfinite(p.model_flops) && isfinite(p.hardware_flops) && isfinite(p.mfu));
    REQUIRE(isfinite(p.tokens_per_s) && isfinite(p.host_memory_bytes) &&
            isfinite(p.memory_usable_bytes));
    for (size_t i = 0; rk_time_part_name(i); i++) {
        REQUIRE(isfinite(p.time_s[i]));
    }
}

static void try_run(bytes *from)
{
    const struct handles *h = handles();
    rk_run_request request;
    rk_run_outcome *run;
    rk_run_outcome_facts f;
    rk_error err;
    rk_run_request_init(&request, sizeof(request));
    request.tokens = 1e9;
    scribble(from, &request, sizeof(request.size), sizeof(request));
    request.strategy = &h->strategy;
    request.space = NULL;
    request.law = request.batch_law = request.reliability = request.prices = NULL;
    request.near_checkpoint = request.storage_tiers = NULL;
    request.simulated_runs = request.simulated_runs > 3 ? 3 : request.simulated_runs;
    const rk_status status = rk_predict_run(h->setup, &request, NULL, &run, &err);
    if (status) {
        require_sound_error(&err, status);
        return;
    }
    rk_run_outcome_describe(run, &f, sizeof(f));
    REQUIRE(isfinite(f.total_s) && isfinite(f.cost) && isfinite(f.energy_J));
    REQUIRE(f.mtbf_s > 0 && isfinite(f.failures));
    rk_run_outcome_free(run);
}

static void try_collective(bytes *from)
{
    struct {
        int64_t ranks, stride;
        double bytes;
    } asked = {8, 1, 1e6};
    rk_collective_timing t;
    rk_error err;
    scribble(from, &asked, 0, sizeof(asked));
    const rk_status status = rk_predict_collective(handles()->system, "all_reduce", asked.ranks,
                                                   asked.stride, asked.bytes, &t, sizeof(t), &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        REQUIRE(isfinite(t.seconds) && isfinite(t.bus_bytes_per_s));
    }
}

static void try_calculon(bytes *from)
{
    static rk_calculon_app app; /* read once */
    static rk_calculon_sys sys;
    rk_calculon_sys own;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    const rk_calculon_exe exe = {.num_procs = 8,
                                 .tensor_par = 8,
                                 .pipeline_par = 1,
                                 .data_par = 1,
                                 .batch_size = 4,
                                 .microbatch_size = 1,
                                 .datatype = RK_FLOAT16,
                                 .pipeline_interleaving = 1,
                                 .training = true};
    if (app.hidden == 0) {
        REQUIRE(!rk_calculon_app_load("megatron-22B", false, &app, &err));
        REQUIRE(!rk_calculon_sys_load("a100_80g", false, &sys, &err));
    }
    own = sys;
    scribble(from, &own, 0, sizeof(own));
    const rk_status status =
        rk_calculon_evaluate(&app, &own, &exe, &stats, NULL, NULL, &verdict, &err);
    if (status) {
        require_sound_error(&err, status);
    } else if (verdict.verdict == RK_FITS) {
        REQUIRE(isfinite(stats.total_time) && isfinite(stats.sample_rate));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const functions[])(bytes *) = {try_strategy, try_run, try_collective,
                                                 try_calculon};
    bytes from = {data, size};
    functions[next(&from, 1) % (sizeof(functions) / sizeof(functions[0]))](&from);
    return 0;
}
