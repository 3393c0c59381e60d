/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted percentiles of the residuals of similar runs, by rungs of decreasing similarity. */
#include "residual/interval.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/list.h"
#include "base/units.h"
#include "model/kinds.h"
#include "system/flash_lent.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * 80th percentile of |ln(published / predicted)| over the steps of models with linear or sparse
 * attention that no table of runs has; docs/new-layers.md lists them.
 */
static const double untimed_error = 0.31;

/*
 * Error of memory, as a logarithm, of a kind of runs that nobody measured: [assumption] the error
 * of the last two kinds when they were new, mixtures of experts of Megatron and adapters of Hugging
 * Face (80th percentile of |ln|: 0.2 to 0.3).
 */
static const double unmeasured_error = 0.25;

/* Share of the runs that an interval is to hold: from the 10th to the 90th percentile. */
static const double covered = 0.8;

const char *const rk_tensor_place_names[] = {"none", "in a node", "across nodes", NULL};
const char *const rk_residual_kind_names[] = {"dense", "experts", "untuned", NULL};

/* The share of core attention in a step, with its part of what is recomputed. */
static double attention_share(const rk_estimate *e)
{
    const double *part = e->times.part;
    const double layers = part[RK_PART_LINEAR] + part[RK_PART_ATTENTION] + part[RK_PART_EXPERT] +
                          part[RK_PART_STREAM] + part[RK_PART_CAST];
    const double again = layers > 0 ? part[RK_PART_RECOMPUTE] / layers : 0;
    return e->step > 0 ? rk_min(part[RK_PART_ATTENTION] * (1 + again) / e->step, 1) : 0;
}

static double kernel_error(const rk_system *system, const rk_stack *stack,
                           const rk_strategy *strategy, const rk_estimate *estimate)
{
    const rk_attention_kernel kernel = strategy->attention_kernel;
    return rk_stack_lacks_kernel(stack, kernel)
               ? attention_share(estimate) *
                     rk_flash_error(&system->accelerator, rk_flash_library_of(kernel))
               : 0;
}

/* Copies a text of a document, which is shorter; snprintf takes ten times as long. */
static void copy_text(char out[RK_KEY_TEXT], const char *text)
{
    const size_t length = strnlen(text, RK_KEY_TEXT - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

/* "megatron-2025-hopper", of the family megatron: releases of a year for some accelerators. */
static void name_software(const rk_stack *stack, rk_similarity_key *key)
{
    copy_text(key->stack_name, stack->name);
    if (!stack->family[0]) {
        return;
    }
    size_t used =
        (size_t)snprintf(key->stack, sizeof(key->stack), "%s-%" PRId64, stack->family, stack->year);
    for (int i = 0; rk_generation_names[i] && used < sizeof(key->stack); i++) {
        if (stack->generations >> i & 1U) {
            used += (size_t)snprintf(key->stack + used, sizeof(key->stack) - used, "-%s",
                                     rk_generation_names[i]);
        }
    }
    copy_text(key->family, stack->base[0] ? stack->base : stack->family);
}

rk_similarity_key rk_similarity_key_of(const rk_system *system, const rk_stack *stack,
                                       const rk_model *model, const rk_strategy *strategy,
                                       const rk_estimate *estimate)
{
    const int64_t node = system->tiers[0].size;
    rk_similarity_key key = {
        .moe = rk_model_has_experts(model),
        .several = rk_strategy_ranks(strategy) > node,
        .low = rk_is_low(strategy->precision),
        .frozen = strategy->adapter_rank > 0,
        .untuned = stack->general || rk_strategy_microbatches(strategy) == 1,
        .uncertain = system->accelerator.uncertain,
        .kernel = estimate ? kernel_error(system, stack, strategy, estimate) : 0,
        .tensor = rk_tensor_place_of(strategy, node),
        .sharding = strategy->sharding,
    };
    for (int i = 0; i < model->type_count; i++) {
        key.untimed |= !model->types[i].mixer->timed;
    }
    name_software(stack, &key);
    copy_text(key.product, system->accelerator.product);
    copy_text(key.line, system->accelerator.line);
    copy_text(key.accelerator_name, system->accelerator.name);
    return key;
}

/* ---- comparable runs ------------------------------------------------------------------------ */

/* Properties in which two runs agree, a bit each. */
enum {
    SAME_STACK = 1,
    SAME_FAMILY = 2, /* of stacks */
    SAME_ACCELERATOR = 4,
    SAME_LINE = 8,
    SAME_KIND = 16,
    SAME_TENSOR = 32,
    SAME_NODES = 64,
    SAME_WIDTH = 128,
    SAME_FACTS = 256,     /* all known, or some assumed */
    SAME_RATES = 512,     /* of the accelerator: measured, or assumed */
    SAME_LEARNING = 1024, /* of all weights, or of adapters */
    SAME_SHARDING = 2048,
    NOT_LEFT_OUT = 4096, /* of the runs that count */
    SAME_PAIR = SAME_FAMILY | SAME_LINE | NOT_LEFT_OUT,
};

/* The properties that must agree, strictest first. */
static const unsigned time_rungs[] = {
    SAME_STACK | SAME_ACCELERATOR | SAME_KIND | SAME_TENSOR | SAME_NODES | SAME_WIDTH | SAME_FACTS,
    SAME_STACK | SAME_ACCELERATOR | SAME_KIND | SAME_TENSOR | SAME_NODES | SAME_FACTS,
    SAME_STACK | SAME_ACCELERATOR | SAME_KIND | SAME_FACTS,
    SAME_STACK | SAME_ACCELERATOR | SAME_KIND,
    SAME_STACK | SAME_KIND | SAME_FACTS | SAME_RATES,
    SAME_FAMILY | SAME_LINE | SAME_KIND | SAME_FACTS | SAME_RATES,
    SAME_FAMILY | SAME_KIND | SAME_FACTS | SAME_RATES,
    SAME_KIND | SAME_FACTS | SAME_RATES,
    SAME_KIND | SAME_RATES,
    SAME_KIND,
    0,
};

/* The same of memory, which depends on software more than on machines. */
static const unsigned memory_rungs[] = {
    SAME_STACK | SAME_ACCELERATOR | SAME_KIND | SAME_WIDTH | SAME_TENSOR | SAME_SHARDING |
        SAME_FACTS,
    SAME_STACK | SAME_KIND | SAME_WIDTH | SAME_TENSOR | SAME_FACTS,
    SAME_STACK | SAME_KIND | SAME_WIDTH | SAME_FACTS,
    SAME_FAMILY | SAME_KIND | SAME_WIDTH | SAME_FACTS,
    SAME_FAMILY | SAME_KIND | SAME_WIDTH,
    SAME_KIND | SAME_WIDTH | SAME_FACTS,
    SAME_KIND | SAME_WIDTH,
    0,
};

/* Whether two facts are known and the same. */
static bool is_same(const char *a, const char *b)
{
    return a[0] && a[0] == b[0] && strcmp(a, b) == 0;
}

static unsigned agreement(const rk_similarity_key *a, const rk_similarity_key *b)
{
    unsigned same = 0;
    same |= is_same(a->stack, b->stack) ? SAME_STACK : 0;
    same |= is_same(a->family, b->family) ? SAME_FAMILY : 0;
    same |= is_same(a->product, b->product) ? SAME_ACCELERATOR : 0;
    same |= is_same(a->line, b->line) ? SAME_LINE : 0;
    same |= a->moe == b->moe ? SAME_KIND : 0;
    same |= a->tensor == b->tensor ? SAME_TENSOR : 0;
    same |= a->several == b->several ? SAME_NODES : 0;
    same |= a->low == b->low ? SAME_WIDTH : 0;
    same |= a->assumed == b->assumed ? SAME_FACTS : 0;
    same |= a->uncertain == b->uncertain ? SAME_RATES : 0;
    same |= a->frozen == b->frozen ? SAME_LEARNING : 0;
    same |= a->sharding == b->sharding ? SAME_SHARDING : 0;
    return same;
}

static rk_residual_kind kind_of(const rk_similarity_key *key)
{
    return key->untuned ? RK_RESIDUAL_UNTUNED : key->moe ? RK_RESIDUAL_EXPERTS : RK_RESIDUAL_DENSE;
}

/* Error of a kind of runs that nobody measured, in time or memory. */
static double unknown_error(const rk_residuals *r)
{
    return r->of_memory ? unmeasured_error : untimed_error;
}

/* Whether no run is of the kind of `key`: in its layers; of memory, also at the last rung. */
static bool is_unknown(const rk_residuals *r, const rk_similarity_key *key, unsigned rung)
{
    return key->untimed || (r->of_memory && rung == 0);
}

/* Adds what widens an interval, and what its runs lack. */
static void describe_doubts(const rk_residuals *r, const rk_similarity_key *key, unsigned rung,
                            rk_interval *interval)
{
    char *out = interval->basis;
    const unsigned same = SAME_STACK | SAME_ACCELERATOR;
    size_t length = strlen(out);
    if ((rung & same) != same) {
        (void)snprintf(out + length, RK_BASIS_TEXT - length, "; %s of %s on %s",
                       interval->new_pair ? "none" : "too few", key->stack_name,
                       key->accelerator_name);
        length = strlen(out);
    }
    if (key->untuned && !r->of_memory) {
        (void)snprintf(out + length, RK_BASIS_TEXT - length,
                       "; general software or one microbatch a step, so wider");
        length = strlen(out);
    }
    if (key->kernel > 0) {
        (void)snprintf(out + length, RK_BASIS_TEXT - length,
                       "; rates of the attention kernel assumed");
        length = strlen(out);
    }
    if (is_unknown(r, key, rung)) {
        (void)snprintf(out + length, RK_BASIS_TEXT - length,
                       "; none %s, so at least %.0f %% either way",
                       key->untimed ? "has its kinds of layers" : "is of its kind",
                       100 * expm1(unknown_error(r)));
    }
}

/* Writes which runs agree with `key` in everything that a rung requires. */
static void describe(const rk_residuals *r, const rk_similarity_key *key, unsigned rung,
                     rk_interval *interval)
{
    char *out = interval->basis;
    const char *software = rung & SAME_STACK    ? key->stack_name
                           : rung & SAME_FAMILY ? key->family
                                                : "any stack";
    const char *machine = rung & SAME_ACCELERATOR ? key->accelerator_name
                          : rung & SAME_LINE      ? key->line
                                                  : "any accelerator";
    char zero[16] = "";
    if (rung & SAME_SHARDING) {
        (void)snprintf(zero, sizeof(zero), ", ZeRO-%d", (int)key->sharding);
    }
    (void)snprintf(out, RK_BASIS_TEXT, "%s on %s%s%s%s%s%s%s%s%s%s", software, machine,
                   !(rung & SAME_KIND) ? ""
                   : key->moe          ? ", MoE"
                                       : ", dense",
                   key->frozen ? ", adapters" : "", rung & SAME_TENSOR ? ", TP " : "",
                   rung & SAME_TENSOR ? rk_tensor_place_names[key->tensor] : "", zero,
                   !(rung & SAME_NODES) ? ""
                   : key->several       ? ", several nodes"
                                        : ", one node",
                   !(rung & SAME_WIDTH) ? ""
                   : key->low           ? ", 8 bits or less"
                                        : ", 16 bits",
                   !(rung & SAME_FACTS) ? ""
                   : key->assumed       ? ", facts assumed"
                                        : ", facts stated",
                   rung & SAME_RATES && key->uncertain ? ", rates assumed" : "");
    describe_doubts(r, key, rung, interval);
}

/* ---- percentiles ---------------------------------------------------------------------------- */

typedef struct weighted {
    double value, weight;
    size_t place; /* in the list: what qsort makes of ties differs between C libraries */
} weighted;

static int compare_weighted(const void *a, const void *b)
{
    const weighted *one = a, *other = b;
    const double x = one->value, y = other->value;
    return x > y ? 1 : x < y ? -1 : (one->place > other->place) - (one->place < other->place);
}

/* A percentile of sorted values, each in the middle of its weight, between them by a line. */
static double percentile(const weighted *list, size_t count, double total, double share)
{
    assert(count > 0 && total > 0 && share > 0 && share < 1);
    double below = 0, place = 0, value = list[0].value;
    for (size_t i = 0; i < count; i++) {
        const double next = (below + 0.5 * list[i].weight) / total;
        if (next >= share) {
            return i == 0 || next <= place
                       ? list[i].value
                       : value + (list[i].value - value) * (share - place) / (next - place);
        }
        place = next;
        value = list[i].value;
        below += list[i].weight;
    }
    return value;
}

/* Whether runs are of one line of accelerators, or of one product where none says its line. */
static bool same_line(const rk_similarity_key *a, const rk_similarity_key *b)
{
    return strcmp(a->line, b->line) == 0 && (a->line[0] || strcmp(a->product, b->product) == 0);
}

static bool is_left_out(const rk_residual_cell *cell, const rk_similarity_key *key,
                        const rk_left_out *except)
{
    return strcmp(cell->source, except->source) == 0 &&
           (!except->model ||
            (strcmp(cell->model, except->model) == 0 && same_line(&cell->key, key)));
}

/* Compares all cells with `key`, once for all rungs; whether none has its pair. */
static bool compare_cells(const rk_residuals *r, const rk_similarity_key *key,
                          const rk_left_out *except, unsigned *same)
{
    bool new_pair = !r->of_memory;
    for (size_t i = 0; i < r->cell_count; i++) {
        const rk_residual_cell *cell = &r->cells[i];
        same[i] = except && is_left_out(cell, key, except)
                      ? 0
                      : agreement(&cell->key, key) | NOT_LEFT_OUT;
        new_pair = new_pair && (same[i] & SAME_PAIR) != SAME_PAIR;
    }
    return new_pair;
}

/*
 * What has to agree at a rung.  Runs with adapters use fewer of the kernels of full training: they
 * are evidence for full training, but not the other way round.
 */
static unsigned wanted_at(const rk_residuals *r, const rk_similarity_key *key, unsigned rung)
{
    return rung | NOT_LEFT_OUT | (key->frozen && !(r->of_memory && rung == 0) ? SAME_LEARNING : 0);
}

static size_t sum_runs(const rk_residuals *r, const unsigned *same, unsigned wanted)
{
    size_t runs = 0;
    for (size_t i = 0; i < r->cell_count; i++) {
        runs += (same[i] & wanted) == wanted ? r->cells[i].count : 0;
    }
    return runs;
}

/*
 * Counts the runs and groups.  sizes[] gets the runs of each group, at its first cell; counted[]
 * marks the cells that count.
 */
static void count_runs(const rk_residuals *r, unsigned wanted, const unsigned *same, bool *counted,
                       size_t *sizes, rk_interval *out)
{
    memset(sizes, 0, r->cell_count * sizeof(*sizes));
    for (size_t i = 0; i < r->cell_count; i++) {
        const rk_residual_cell *cell = &r->cells[i];
        counted[i] = (same[i] & wanted) == wanted;
        if (counted[i]) {
            out->groups += sizes[cell->peer] == 0;
            out->runs += cell->count;
            sizes[cell->peer] += cell->count;
        }
    }
}

static void set_percentiles(const rk_residuals *r, const rk_similarity_key *key, unsigned rung,
                            const bool *counted, const size_t *sizes, weighted *list,
                            rk_interval *out)
{
    size_t count = 0;
    for (size_t i = 0; i < r->cell_count; i++) {
        for (size_t j = 0; counted[i] && j < r->cells[i].count; j++) {
            list[count] = (weighted){.value = fabs(log(r->ratios[r->cells[i].first + j])),
                                     .weight = 1 / (double)sizes[r->cells[i].peer],
                                     .place = count};
            count++;
        }
    }
    qsort(list, count, sizeof(*list), compare_weighted);
    const double total = (double)out->groups;
    /* The runs and their mirror images. */
    const double runs = percentile(list, count, total, covered);
    const rk_residual_kind kind = kind_of(key);
    const double pair = out->new_pair ? r->pair_error[kind] : 0;
    const double known = hypot(hypot(runs, r->source_error[kind]), hypot(pair, key->kernel));
    const double far = is_unknown(r, key, rung) ? rk_max(known, unknown_error(r)) : known;
    out->low = exp(-far);
    out->high = exp(far);
}

/* Scratch to compare all cells with a key. */
typedef struct comparison {
    unsigned *same;
    size_t *sizes;
    bool *counted;
    weighted *list;
} comparison;

static void close_comparison(comparison *c)
{
    free(c->same);
    free(c->sizes);
    free(c->counted);
    free(c->list);
}

static rk_status open_comparison(const rk_residuals *r, comparison *c, rk_error *err)
{
    *c = (comparison){
        .same = malloc((r->cell_count + 1) * sizeof(*c->same)),
        .sizes = malloc((r->cell_count + 1) * sizeof(*c->sizes)),
        .counted = malloc((r->cell_count + 1) * sizeof(*c->counted)),
        .list = malloc((r->ratio_count + 1) * sizeof(*c->list)),
    };
    return c->same && c->sizes && c->counted && c->list
               ? RK_OK
               : rk_fail(err, RK_ERR_MEMORY, "not enough memory for an interval");
}

/* The interval of the first rung with enough runs; returns the rung, or NULL where none has any. */
static const unsigned *find_interval(const rk_residuals *r, const rk_similarity_key *key,
                                     const comparison *c, rk_interval *out)
{
    const unsigned *rung = r->of_memory ? memory_rungs : time_rungs;
    do {
        const unsigned wanted = wanted_at(r, key, *rung);
        const size_t runs = sum_runs(r, c->same, wanted);
        if (runs >= RK_INTERVAL_RUNS || (*rung == 0 && runs > 0)) {
            count_runs(r, wanted, c->same, c->counted, c->sizes, out);
            set_percentiles(r, key, *rung, c->counted, c->sizes, c->list, out);
            return rung;
        }
    } while (*rung++ != 0); /* the last requires nothing */
    return NULL;
}

rk_status rk_interval_of(const rk_residuals *residuals, const rk_similarity_key *key,
                         const rk_left_out *except, rk_interval *out, rk_error *err)
{
    comparison c;
    const rk_status status = open_comparison(residuals, &c, err);
    *out = (rk_interval){.runs = 0};
    if (!status) {
        out->new_pair = compare_cells(residuals, key, except, c.same);
        const unsigned *rung = find_interval(residuals, key, &c, out);
        if (rung) {
            describe(residuals, key, *rung, out);
        }
    }
    close_comparison(&c);
    return status;
}

rk_status rk_class_intervals_of(const rk_residuals *residuals, const rk_similarity_key *key,
                                rk_interval out[RK_TENSOR_ACROSS + 1][RK_SHARD_ALL + 1],
                                rk_error *err)
{
    comparison c;
    rk_similarity_key class = *key;
    const rk_status status = open_comparison(residuals, &c, err);
    const bool new_pair = !status && compare_cells(residuals, key, NULL, c.same);
    for (int i = 0; i < (RK_TENSOR_ACROSS + 1) * (RK_SHARD_ALL + 1) && !status; i++) {
        class.tensor = (rk_tensor_place)(i / (RK_SHARD_ALL + 1));
        class.sharding = (rk_sharding)(i % (RK_SHARD_ALL + 1));
        for (size_t j = 0; j < residuals->cell_count; j++) {
            const rk_similarity_key *cell = &residuals->cells[j].key;
            c.same[j] = (c.same[j] & ~(unsigned)(SAME_TENSOR | SAME_SHARDING)) |
                        (cell->tensor == class.tensor ? SAME_TENSOR : 0) |
                        (cell->sharding == class.sharding ? SAME_SHARDING : 0);
        }
        rk_interval *interval = &out[class.tensor][class.sharding];
        *interval = (rk_interval){.new_pair = new_pair};
        (void)find_interval(residuals, &class, &c, interval);
    }
    close_comparison(&c);
    return status;
}

void rk_interval_unknown(const rk_residuals *residuals, rk_interval *out)
{
    const double far = unknown_error(residuals);
    *out = (rk_interval){.low = exp(-far), .high = exp(far)};
    (void)snprintf(out->basis, sizeof(out->basis), "no comparable run");
}

/* ---- gathering ------------------------------------------------------------------------------ */

static bool same_kin(const rk_residuals *r, const rk_similarity_key *a, const rk_similarity_key *b)
{
    return (!r->of_memory || a->sharding == b->sharding) && strcmp(a->stack, b->stack) == 0 &&
           strcmp(a->product, b->product) == 0 && same_line(a, b) && a->moe == b->moe &&
           a->several == b->several && a->low == b->low && a->tensor == b->tensor &&
           a->assumed == b->assumed && a->uncertain == b->uncertain && a->frozen == b->frozen &&
           (r->of_memory || a->untuned == b->untuned);
}

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the residuals");
}

/* Whether a run of the cell errs together with one of source, model and accelerator. */
static bool same_group(const rk_residual_cell *cell, const rk_similarity_key *key,
                       const char *source, const char *model)
{
    return is_left_out(cell, key, &(rk_left_out){.source = source, .model = model});
}

rk_status rk_residuals_add(rk_residuals *residuals, const rk_similarity_key *key,
                           const char *source, const char *model, double ratio, rk_error *err)
{
    assert(ratio > 0);
    size_t i = 0, peer = residuals->cell_count;
    for (; i < residuals->cell_count; i++) {
        const bool same = same_group(&residuals->cells[i], key, source, model);
        peer = same && peer == residuals->cell_count ? i : peer;
        if (same && same_kin(residuals, &residuals->cells[i].key, key)) {
            break;
        }
    }
    rk_residual_cell *cells =
        rk_list_grow(residuals->own_cells, i, &residuals->cell_room, sizeof(*cells));
    double *ratios = rk_list_grow(residuals->own_ratios, residuals->ratio_count,
                                  &residuals->ratio_room, sizeof(*ratios));
    residuals->cells = residuals->own_cells = cells ? cells : residuals->own_cells;
    residuals->ratios = residuals->own_ratios = ratios ? ratios : residuals->own_ratios;
    if (!cells || !ratios) {
        return fail_memory(err);
    }
    rk_residual_cell *cell = &cells[i];
    if (i == residuals->cell_count) {
        *cell = (rk_residual_cell){.key = *key, .peer = peer, .first = residuals->ratio_count};
        (void)snprintf(cell->source, sizeof(cell->source), "%s", source);
        (void)snprintf(cell->model, sizeof(cell->model), "%s", model);
        residuals->cell_count++;
    }
    /* The ratios of a cell are contiguous: later cells move up. */
    const size_t at = cell->first + cell->count++;
    memmove(&ratios[at + 1], &ratios[at], (residuals->ratio_count - at) * sizeof(*ratios));
    ratios[at] = ratio;
    residuals->ratio_count++;
    for (size_t j = i + 1; j < residuals->cell_count; j++) {
        cells[j].first++;
    }
    return RK_OK;
}

void rk_residuals_clear(rk_residuals *residuals)
{
    free(residuals->own_cells);
    free(residuals->own_ratios);
    *residuals = (rk_residuals){.of_memory = residuals->of_memory};
}

/* ---- sources that are not known ------------------------------------------------------------- */

static size_t source_size(const rk_residuals *r, const char *source)
{
    size_t size = 0;
    for (size_t i = 0; i < r->cell_count; i++) {
        size += strcmp(r->cells[i].source, source) == 0 ? r->cells[i].count : 0;
    }
    return size;
}

/*
 * For every run of a kind (RK_RESIDUAL_KIND_COUNT: any) with an interval by the other sources alone
 * (without an error that is not found yet), and whose pair they have or lack: what its source has
 * to err by for that to hold the run, and what it weighs: all runs of a source together 1, or less
 * where they are fewer than RK_INTERVAL_RUNS.
 */
static rk_status hold_out(const rk_residuals *r, rk_residual_kind kind, bool new_pair,
                          weighted *list, size_t *count, rk_error *err)
{
    for (size_t i = 0; i < r->cell_count; i++) {
        const rk_residual_cell *cell = &r->cells[i];
        const rk_left_out source = {.source = cell->source};
        rk_interval interval;
        if (kind != RK_RESIDUAL_KIND_COUNT && kind != kind_of(&cell->key)) {
            continue;
        }
        const rk_status status = rk_interval_of(r, &cell->key, &source, &interval, err);
        if (status) {
            return status;
        }
        const double size = (double)source_size(r, cell->source);
        const double far = log(interval.high);
        const bool counts = interval.runs > 0 && interval.new_pair == new_pair;
        for (size_t j = cell->first; counts && j < cell->first + cell->count; j++) {
            const double off = fabs(log(r->ratios[j]));
            list[*count] = (weighted){.value = sqrt(rk_max(off * off - far * far, 0)),
                                      .weight = 1 / rk_max(size, RK_INTERVAL_RUNS),
                                      .place = *count};
            ++*count;
        }
    }
    return RK_OK;
}

/* The smallest error up to 1 that holds the covered share of such runs; *found if there are none.
 */
static rk_status find_error(const rk_residuals *r, rk_residual_kind kind, bool new_pair,
                            weighted *list, double *found, rk_error *err)
{
    const double most = 1;
    size_t count = 0;
    const rk_status status = hold_out(r, kind, new_pair, list, &count, err);
    if (!status && count > 0) {
        double total = 0;
        qsort(list, count, sizeof(*list), compare_weighted);
        for (size_t i = 0; i < count; i++) {
            total += list[i].weight;
        }
        *found = rk_min(percentile(list, count, total, covered), most);
    }
    return status;
}

rk_status rk_residuals_source_error(rk_residuals *residuals, rk_error *err)
{
    weighted *list = calloc(residuals->ratio_count + 1, sizeof(*list));
    if (!list) {
        return fail_memory(err);
    }
    rk_status status = RK_OK;
    memset(residuals->source_error, 0, sizeof(residuals->source_error));
    memset(residuals->pair_error, 0, sizeof(residuals->pair_error));
    for (int new_pair = 0; !status && new_pair < 2; new_pair++) {
        double *errors = new_pair ? residuals->pair_error : residuals->source_error;
        double all = 0;
        status = find_error(residuals, RK_RESIDUAL_KIND_COUNT, new_pair, list, &all, err);
        for (int kind = 0; !status && kind < RK_RESIDUAL_KIND_COUNT; kind++) {
            double found = all;
            if (!residuals->of_memory) {
                status = find_error(residuals, (rk_residual_kind)kind, new_pair, list, &found, err);
            }
            errors[kind] = found;
        }
    }
    free(list);
    return status;
}
