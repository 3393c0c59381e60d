/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message of a broken rule.  The nearest legal values are found by trying: the field is moved
 * down and up until all rules that would move it are kept, so they are right by construction.
 */
#include "base/text.h"
#include "framework/rules.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Values tried in each direction. */
#define TRIES_MAX 1000000

static int64_t number_at(const rk_strategy *strategy, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)strategy + offset, sizeof(value));
    return value;
}

static void set_number(rk_strategy *strategy, size_t offset, int64_t value)
{
    memcpy((char *)strategy + offset, &value, sizeof(value));
}

/* ---- text ---------------------------------------------------------------------------------- */

static bool is_key(const char *key, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(key, name, length) == 0;
}

/* The names whose bits are set, "a, b or c". */
static void append_names(rk_growing_text *t, unsigned set, const char *const *names,
                         const char *last)
{
    bool first = true;
    for (int i = 0; names[i] && set >> i; i++) {
        if (set >> i & 1U) {
            rk_text_add(t, "%s%s", first ? "" : set >> i >> 1 ? ", " : last, names[i]);
            first = false;
        }
    }
}

/* Appends an ability of the framework by its key.  False: the key is another. */
static bool append_ability(rk_growing_text *t, const struct question *q, int64_t number,
                           const char *key, size_t length)
{
    static const char *const stages[] = {"0", "1", "2", "3", NULL};
    const rk_framework_traits *f = rk_traits_of(q);
    if (is_key(key, length, "framework")) {
        rk_text_add(t, "%s", rk_framework_names[q->framework]);
    } else if (is_key(key, length, "schedules")) {
        append_names(t, f->schedules, rk_schedule_names, " and ");
    } else if (is_key(key, length, "cp_kinds")) {
        append_names(t, f->cp_kinds, rk_cp_kind_names, " or ");
    } else if (is_key(key, length, "shardings")) {
        append_names(t, f->shardings, stages, " or ");
    } else if (is_key(key, length, "shards")) { /* those that shard something */
        append_names(t, f->shardings & ~1U, stages, " or ");
    } else if (is_key(key, length, "deep_shards")) {
        append_names(t, f->deep_shards, stages, " or ");
    } else if (is_key(key, length, "modules")) {
        append_names(t, f->modules, rk_module_names, " and ");
    } else if (is_key(key, length, "lacking")) {
        append_names(t, (unsigned)number, rk_module_names, " and ");
    } else {
        return false;
    }
    return true;
}

/* The layout that is nearest to one whose sum is wrong: the fullest stage absorbs the
 * difference. */
static void append_repair(rk_growing_text *t, const struct question *q)
{
    const rk_strategy *s = q->strategy;
    int fullest = 0;
    for (int i = 1; i < s->layout_count; i++) {
        fullest = s->layout[i] > s->layout[fullest] ? i : fullest;
    }
    const int64_t right =
        s->layout[fullest] + q->model->layers - rk_strategy_layout_before(s, s->layout_count);
    if (right < 0) {
        rk_text_add(t, "without a layout they are shared evenly");
        return;
    }
    rk_text_add(t, "nearest legal: %lld instead of %d on stage %d", (long long)right,
                s->layout[fullest], fullest);
}

/* The layers that are given for the first and last rank; nothing where none are. */
static void append_ends(rk_growing_text *t, const rk_strategy *s)
{
    const int64_t given[] = {s->first_stage_layers, s->last_stage_layers};
    static const char *const ranks[] = {" on the first rank", " on the last rank"};
    for (size_t i = 0, said = 0; i < 2; i++) {
        if (given[i] > 0) {
            rk_text_add(t, "%s%lld%s", said++ ? " and " : ", with ", (long long)given[i], ranks[i]);
        }
    }
}

/* Writes a field of the strategy by its key. */
static void append_field(rk_growing_text *t, const rk_strategy *s, const char *key, size_t length)
{
    char value[RK_STRATEGY_TEXT_SIZE];
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        if (is_key(key, length, rk_strategy_key(i))) {
            rk_text_add(t, "%s", rk_strategy_text(s, i, value));
        }
    }
}

/* Writes the value of a key in a text. */
static void append_key(rk_growing_text *t, const struct question *q, int64_t number,
                       const char *key, size_t length)
{
    const rk_strategy *s = q->strategy;
    if (append_ability(t, q, number, key, length)) {
        return;
    }
    if (is_key(key, length, "n")) {
        rk_text_add(t, "%lld", (long long)number);
    } else if (is_key(key, length, "m")) {
        rk_text_add(t, "%lld", (long long)(rk_strategy_microbatches(s)));
    } else if (is_key(key, length, "chunks")) {
        rk_text_add(t, "%lld", (long long)(rk_schedule_stages(s->schedule, 1, s->vp)));
    } else if (is_key(key, length, "given")) {
        rk_text_add(t, "%lld", (long long)(s->layout_count));
    } else if (is_key(key, length, "sum")) {
        rk_text_add(t, "%lld", (long long)(rk_strategy_layout_before(s, s->layout_count)));
    } else if (is_key(key, length, "layers")) {
        rk_text_add(t, "%lld", (long long)(q->model->layers));
    } else if (is_key(key, length, "ends")) {
        append_ends(t, s);
    } else if (is_key(key, length, "repair")) {
        append_repair(t, q);
    } else if (is_key(key, length, "cp_kind")) { /* even with nothing to exchange */
        rk_text_add(t, "%s", rk_cp_kind_names[s->cp_kind]);
    } else if (is_key(key, length, "accelerator")) {
        rk_text_add(t, "%s", q->system->accelerator.name);
    } else if (is_key(key, length, "model")) {
        rk_text_add(t, "%s", q->model->name);
    } else {
        append_field(t, s, key, length);
    }
}

static void append_text(rk_growing_text *t, const struct question *q, int64_t number,
                        const char *text)
{
    const char *open = strchr(text, '{');
    while (open) {
        const char *close = strchr(open, '}');
        rk_text_add(t, "%.*s", (int)(open - text), text);
        append_key(t, q, number, open + 1, (size_t)(close - open - 1));
        text = close + 1;
        open = strchr(text, '{');
    }
    rk_text_add(t, "%s", text);
}

/* ---- nearest legal values ------------------------------------------------------------------ */

/* Whether all rules that name values of this field are kept. */
static bool field_is_legal(const struct question *q, size_t field)
{
    assert(field < sizeof(rk_strategy));
    for (const struct rk_rule *const *table = rk_traits_of(q)->rules; *table; table++) {
        for (const struct rk_rule *rule = *table; rule->name; rule++) {
            if (rk_rule_field(rule) == field && rule->broken(q)) {
                return false;
            }
        }
    }
    return true;
}

/* The next legal value of a field in steps of +1 or -1; 0: none. */
static int64_t next_legal(const struct question *q, size_t field, int step)
{
    assert(field + sizeof(int64_t) <= sizeof(rk_strategy) && (step == 1 || step == -1));
    rk_strategy moved = *q->strategy;
    struct question asked = *q;
    int64_t value = number_at(q->strategy, field);
    asked.strategy = &moved;
    for (int i = 0; i < TRIES_MAX && value + step >= 1; i++) {
        value += step;
        set_number(&moved, field, value);
        if (field_is_legal(&asked, field)) {
            return value;
        }
    }
    return 0;
}

/* A label within a sentence: "tp", "global batch". */
static void append_label(rk_growing_text *t, const char *label)
{
    for (; *label; label++) {
        const char small = (char)tolower((unsigned char)*label);
        rk_text_add(t, "%c", small);
    }
}

/* Returns whether there are any. */
static bool append_nearest(rk_growing_text *t, const struct question *q, size_t field)
{
    const int64_t below = next_legal(q, field, -1), above = next_legal(q, field, 1);
    if (below == 0 && above == 0) {
        return false;
    }
    rk_text_add(t, "; nearest legal ");
    append_label(t, rk_strategy_label(rk_strategy_field_at(field)));
    rk_text_add(t, ": ");
    if (below > 0) {
        rk_text_add(t, "%lld", (long long)below);
    }
    if (above > 0) {
        rk_text_add(t, "%s%lld", below > 0 ? " or " : "", (long long)above);
    }
    return true;
}

#define STAGES_MAX 256 /* of a layout that is named */

/* Layers as even as they come, in the order of the model: where one less is due, at the ends. */
static void spread_layers(int64_t layers, int64_t stages, int16_t layout[STAGES_MAX])
{
    assert(stages >= 1 && stages <= STAGES_MAX);
    const int64_t more = layers % stages, fewer_first = (stages - more) / 2;
    for (int64_t i = 0; i < stages; i++) {
        const bool full = i >= fewer_first && i < fewer_first + more;
        layout[i] = (int16_t)(layers / stages + full);
    }
}

/* Names the layout with which the strategy is legal, if any; `more`: after another value. */
static void append_layout(rk_growing_text *t, const struct question *q, bool more)
{
    rk_strategy s = *q->strategy;
    int16_t layout[STAGES_MAX];
    const int64_t stages = rk_schedule_stages(s.schedule, s.pp, s.vp);
    if (s.layout_count > 0 || s.first_stage_layers || s.last_stage_layers || stages < 2 ||
        stages > STAGES_MAX || stages > q->model->layers + 2 || q->model->layers > INT16_MAX) {
        return;
    }
    spread_layers(q->model->layers, stages, layout);
    s.count_embedding = s.count_head = false;
    s.layout = layout;
    s.layout_count = (int)stages;
    const struct question changed = {q->model, q->system, &s, q->framework};
    if (!rk_rule_first_broken(&changed)) {
        rk_text_add(t, "%s", more ? ", or the layout " : "; it is legal with the layout ");
        append_field(t, &s, "layout", strlen("layout"));
    }
}

void rk_rule_tell(const struct question *q, const struct rk_rule *rule, rk_legality *violation)
{
    rk_growing_text t = {.text = violation->message, .size = sizeof(violation->message)};
    violation->legal = false;
    violation->rule = rule->name;
    violation->message[0] = '\0';
    append_text(&t, q, rule->broken(q), rule->text);
    const bool named =
        rk_rule_field(rule) != VARY_NONE && append_nearest(&t, q, rk_rule_field(rule));
    if (rk_rule_field(rule) == VARY(pp) || rk_rule_field(rule) == VARY(vp)) {
        append_layout(&t, q, named);
    }
}
