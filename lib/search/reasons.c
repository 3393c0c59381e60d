/* SPDX-License-Identifier: Apache-2.0 */
/* Counts broken rules over an illegal space, and tries nearby values until one is legal. */
#include "search/reasons.h"

#include "base/error.h"
#include "search/plan_lists.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHECKED 2000000U  /* strategies of which broken rules are counted */
#define MOST_TRIED   200000U   /* of one changed space, until it counts as illegal */
#define MOST_EFFORT  20000000U /* of all changed spaces together */
#define MOST_STEPS   1024      /* values tried below and above */
#define MOST_BROKEN  16        /* rules of one strategy that are counted separately */
#define MOST_RULES   128

const char *const rk_help_names[RK_HELP_KIND_COUNT] = {
    "accelerators", "global batch", "sequence", "tp",          "cp",        "pp",
    "vp",           "ep",           "etp",      "micro-batch", "framework",
};

/* ---- all strategies of a space -------------------------------------------------------------- */

/* Returns whether to go on; `count` strategies differ in checkpointed layers only. */
typedef bool visit(void *context, const rk_strategy *strategy, uint64_t count);

static bool visit_lanes(const rk_plan_lists *l, const rk_plan_pipe *pipe, int lanes, int recompute,
                        rk_strategy *s, visit *meet, void *context)
{
    rk_plan_set_recompute(&l->recomputes[recompute], s);
    for (size_t i = 0; i < pipe->shape_count; i++) {
        const rk_plan_shape *shape = &l->shapes[pipe->shape_first + i];
        const uint64_t count =
            s->recompute == RK_REC_FULL ? (uint64_t)shape->layer_choice_count : 1;
        rk_plan_set_shape(shape, s);
        for (int lane = 0; lane < lanes; lane++) {
            rk_plan_set_lane(l, lane, s);
            if (!meet(context, s, count)) {
                return false;
            }
        }
    }
    return true;
}

static bool visit_batch(const rk_plan_lists *l, const rk_plan_unit *unit, rk_strategy *s,
                        visit *meet, void *context)
{
    for (int recompute = 0; recompute < l->recompute_count; recompute++) {
        for (size_t i = 0; i < l->pipe_count; i++) {
            const rk_plan_pipe *pipe = &l->pipes[i];
            const rk_plan_degree degree = rk_plan_degree_of(l, unit, pipe->pp);
            s->pp = pipe->pp;
            s->dp = rk_plan_data_parallel(&degree, s->micro_batch);
            if (s->dp > 0 && !visit_lanes(l, pipe, degree.lanes, recompute, s, meet, context)) {
                return false;
            }
        }
    }
    return true;
}

static void visit_all(const rk_plan_lists *l, visit *meet, void *context)
{
    for (size_t i = 0; i < l->unit_count; i++) {
        const rk_plan_unit *unit = &l->units[i];
        rk_strategy s = l->space->base;
        rk_plan_set_unit(unit, &s);
        s.global_batch = l->space->global_batch;
        for (int kind = 0; kind < rk_plan_cp_kinds(l, unit->cp); kind++) {
            s.cp_kind = l->cp_kinds[kind];
            for (size_t j = 0; j < l->micro_batch.count; j++) {
                s.micro_batch = l->micro_batch.items[j];
                if (!visit_batch(l, unit, &s, meet, context)) {
                    return;
                }
            }
        }
    }
}

/* ---- whether something is legal ------------------------------------------------------------- */

struct asked {
    const rk_model *model;
    const rk_system *system;
    rk_plan_space space;
    uint64_t effort; /* strategies checked in changed spaces */
    rk_status status;
    rk_error *err;
};

struct trial {
    const struct asked *asked;
    rk_framework framework;
    uint64_t tried;
    bool legal;
};

static bool try_strategy(void *context, const rk_strategy *s, uint64_t count)
{
    struct trial *t = context;
    (void)count;
    t->legal = rk_strategy_legal(t->asked->model, t->asked->system, s, t->framework, NULL);
    t->tried++;
    return !t->legal && t->tried < MOST_TRIED;
}

static bool has_legal(struct asked *a, const rk_plan_space *space)
{
    struct trial trial = {.asked = a, .framework = space->framework};
    rk_plan_lists lists;
    if (a->status || a->effort >= MOST_EFFORT) {
        return false;
    }
    a->status = rk_plan_lists_init(a->model, a->system, space, &lists, a->err);
    if (!a->status) {
        visit_all(&lists, try_strategy, &trial);
        a->effort += trial.tried;
    }
    rk_plan_lists_clear(&lists);
    return !a->status && trial.legal;
}

/* ---- what would help ------------------------------------------------------------------------ */

static rk_choices *choices_of(rk_plan_space *space, rk_help_kind kind)
{
    switch (kind) {
    case RK_HELP_TP:
        return &space->tp;
    case RK_HELP_CP:
        return &space->cp;
    case RK_HELP_PP:
        return &space->pp;
    case RK_HELP_VP:
        return &space->vp;
    case RK_HELP_EP:
        return &space->ep;
    case RK_HELP_ETP:
        return &space->etp;
    case RK_HELP_MICRO_BATCH:
        return &space->micro_batch;
    default:
        return NULL;
    }
}

static void set_value(rk_plan_space *space, rk_help_kind kind, int64_t value)
{
    rk_choices *choices = choices_of(space, kind);
    if (kind == RK_HELP_ACCELERATORS) {
        space->accelerators = value;
    } else if (kind == RK_HELP_GLOBAL_BATCH) {
        space->global_batch = value;
    } else if (kind == RK_HELP_SEQ) {
        space->base.seq = value;
    } else if (choices) {
        *choices = (rk_choices){.count = 1, .values = {value}};
    }
}

/* The next value in one direction with which something is legal; 0: none was found. */
static int64_t next_legal(struct asked *a, rk_help_kind kind, int64_t value, int64_t step,
                          int64_t most)
{
    assert(step != 0);
    rk_plan_space space = a->space;
    for (int i = 0; i < MOST_STEPS && !a->status; i++) {
        value += step;
        if (value < 1 || value > most) {
            return 0;
        }
        set_value(&space, kind, value);
        if (has_legal(a, &space)) {
            return value;
        }
    }
    return 0;
}

/* Adds the nearest values below and above `value`, in steps. */
static void help_by_value(struct asked *a, rk_reasons *reasons, rk_help_kind kind, int64_t value,
                          int64_t step, int64_t most)
{
    rk_help help = {.kind = kind};
    const int64_t nearest[] = {next_legal(a, kind, value, -step, most),
                               next_legal(a, kind, value, step, most)};
    for (int i = 0; i < 2; i++) {
        if (nearest[i] > 0) {
            help.values[help.count++] = nearest[i];
        }
    }
    if (help.count > 0) {
        reasons->helps[reasons->help_count++] = help;
    }
}

/* Tries other values of a degree that is given, if leaving it free helps at all. */
static void help_by_degree(struct asked *a, rk_reasons *reasons, rk_help_kind kind)
{
    rk_plan_space space = a->space;
    rk_choices *choices = choices_of(&space, kind);
    const int64_t given = choices->values[0];
    if (choices->count == 0) {
        return;
    }
    choices->count = 0;
    if (has_legal(a, &space)) {
        help_by_value(a, reasons, kind, given, 1, a->space.accelerators + a->space.global_batch);
    }
}

/* In steps of whole nodes where the accelerators asked for fill nodes. */
static void help_by_accelerators(struct asked *a, rk_reasons *reasons)
{
    const rk_system *system = a->system;
    const int64_t n = a->space.accelerators;
    const int64_t node = system->tier_count > 0 ? system->tiers[0].size : 1;
    const int64_t most = system->tier_count > 0 ? system->tiers[system->tier_count - 1].size : n;
    const bool whole = node > 1 && n > node && n % node == 0;
    help_by_value(a, reasons, RK_HELP_ACCELERATORS, n, whole ? node : 1, most);
}

static void help_by_framework(struct asked *a, rk_reasons *reasons)
{
    rk_help help = {.kind = RK_HELP_FRAMEWORK};
    const rk_generation generation = a->system->accelerator.generation;
    for (int i = 0; i < RK_FRAMEWORK_COUNT && help.count < 2; i++) {
        rk_plan_space space = a->space;
        space.framework = (rk_framework)i;
        const rk_framework_traits *f = rk_frameworks[i];
        if (!f->all && i != (int)a->space.framework && (f->runs_on >> generation & 1U) &&
            has_legal(a, &space)) {
            help.values[help.count++] = i;
        }
    }
    if (help.count > 0) {
        reasons->helps[reasons->help_count++] = help;
    }
}

static void find_helps(struct asked *a, rk_reasons *reasons)
{
    static const rk_help_kind degrees[] = {RK_HELP_TP, RK_HELP_CP,  RK_HELP_PP,         RK_HELP_VP,
                                           RK_HELP_EP, RK_HELP_ETP, RK_HELP_MICRO_BATCH};
    const int64_t limit = (int64_t)1 << 30; /* of a space */
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        help_by_degree(a, reasons, degrees[i]);
    }
    help_by_accelerators(a, reasons);
    help_by_value(a, reasons, RK_HELP_GLOBAL_BATCH, a->space.global_batch, 1, limit);
}

/* ---- rules ---------------------------------------------------------------------------------- */

struct tally {
    const struct asked *asked;
    uint64_t checked;
    uint64_t excluded[MOST_RULES], alone[MOST_RULES];
    bool has_example[MOST_RULES], has_alone[MOST_RULES];
    rk_strategy examples[MOST_RULES]; /* that break the rule; alone, if some do */
};

static bool is_same_rule(rk_framework framework, size_t a, size_t b)
{
    return strcmp(rk_framework_rule(framework, a), rk_framework_rule(framework, b)) == 0;
}

static bool count_broken(void *context, const rk_strategy *s, uint64_t count)
{
    struct tally *t = context;
    const rk_framework framework = t->asked->space.framework;
    size_t rules[MOST_BROKEN];
    const size_t broken =
        rk_strategy_broken(t->asked->model, t->asked->system, s, framework, rules, MOST_BROKEN);
    bool alone = broken > 0 && broken <= MOST_BROKEN;
    t->checked += count;
    for (size_t i = 1; i < broken && alone; i++) {
        alone = is_same_rule(framework, rules[0], rules[i]);
    }
    for (size_t i = 0; i < broken && i < MOST_BROKEN; i++) {
        const size_t r = rules[i];
        if (r >= MOST_RULES || (i > 0 && is_same_rule(framework, rules[i - 1], r))) {
            continue;
        }
        t->excluded[r] += count;
        t->alone[r] += alone ? count : 0;
        if (!t->has_example[r] || (alone && !t->has_alone[r])) {
            t->examples[r] = *s;
        }
        t->has_example[r] = true;
        t->has_alone[r] = t->has_alone[r] || alone;
    }
    return t->checked < MOST_CHECKED;
}

/* The rule to name next: one that alone excludes most, then one that excludes most; -1: none. */
static int next_rule(const struct tally *t, const bool *named)
{
    int best = -1;
    for (int r = 0; r < MOST_RULES; r++) {
        if (t->excluded[r] == 0 || named[r]) {
            continue;
        }
        if (best < 0 || t->alone[r] > t->alone[best] ||
            (t->alone[r] == t->alone[best] && t->excluded[r] > t->excluded[best])) {
            best = r;
        }
    }
    return best;
}

static void name_rules(const struct tally *t, rk_reasons *reasons)
{
    bool named[MOST_RULES] = {false};
    for (int r; reasons->rule_count < RK_REASON_RULES && (r = next_rule(t, named)) >= 0;) {
        rk_excluding_rule *rule = &reasons->rules[reasons->rule_count++];
        rk_legality violation;
        named[r] = true;
        rk_strategy_explain_rule(t->asked->model, t->asked->system, &t->examples[r],
                                 t->asked->space.framework, (size_t)r, &violation);
        rule->name = violation.rule;
        rule->excluded = t->excluded[r];
        rule->alone = t->alone[r];
        (void)snprintf(rule->message, sizeof(rule->message), "%s", violation.message);
    }
}

static rk_status count_rules(const struct asked *a, const rk_plan_lists *lists, rk_reasons *reasons,
                             rk_error *err)
{
    struct tally *tally = calloc(1, sizeof(*tally));
    if (!tally) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to count what rules exclude");
    }
    tally->asked = a;
    visit_all(lists, count_broken, tally);
    reasons->checked = tally->checked;
    name_rules(tally, reasons);
    free(tally);
    return RK_OK;
}

/* Says what the values given for a degree do not divide. */
static void find_indivisible(const rk_plan_lists *l, rk_reasons *reasons)
{
    const rk_plan_space *s = l->space;
    const struct {
        rk_help_kind kind;
        const rk_choices *given;
        size_t left;
        const char *split; /* in addition to the accelerators */
    } lists[] = {
        {RK_HELP_TP, &s->tp, l->tp.count, "attention heads"},
        {RK_HELP_CP, &s->cp, l->cp.count, "tokens of a sequence"},
        {RK_HELP_PP, &s->pp, l->pp.count, "layers"},
        {RK_HELP_EP, &s->ep, l->ep.count, "experts"},
        {RK_HELP_ETP, &s->etp, l->etp.count, "features of an expert"},
        {RK_HELP_MICRO_BATCH, &s->micro_batch, l->micro_batch.count, "sequences of a batch"},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (lists[i].given->count > 0 && lists[i].left == 0) {
            const long long given = (long long)lists[i].given->values[0];
            const bool ranks = lists[i].kind != RK_HELP_MICRO_BATCH && s->accelerators % given != 0;
            (void)snprintf(reasons->indivisible, sizeof(reasons->indivisible),
                           "the %s do not split over %s %lld",
                           ranks ? "accelerators" : lists[i].split, rk_help_names[lists[i].kind],
                           given);
            return;
        }
    }
}

rk_status rk_plan_find_reasons(const rk_model *model, const rk_system *system,
                               const rk_plan_space *space, rk_reasons *reasons, rk_error *err)
{
    struct asked asked = {.model = model, .system = system, .space = *space, .err = err};
    rk_plan_lists lists;
    *reasons = (rk_reasons){.strategies = 0};
    rk_status status = rk_plan_lists_init(model, system, space, &lists, err);
    if (!status) {
        reasons->strategies = lists.total;
        find_indivisible(&lists, reasons);
        status = count_rules(&asked, &lists, reasons, err);
    }
    rk_plan_lists_clear(&lists);
    if (status) {
        return status;
    }
    if (reasons->rule_count == 0 || reasons->rules[0].alone == 0) {
        /* no rule by itself is to blame: its message cannot name a value that is enough */
        find_helps(&asked, reasons);
    }
    help_by_framework(&asked, reasons);
    return asked.status;
}
