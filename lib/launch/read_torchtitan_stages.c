/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How torchtitan splits layers into pipeline stages.  Source: generate_llm_fqn_per_model_part in
 * torchtitan/distributed/pipeline_parallel.py of v0.2.2.
 */
#include "base/units.h"
#include "launch/read_torchtitan.h"
#include "launch/reader_kit.h"

#include <stdio.h>
#include <string.h>

#define PIPELINE "parallelism.pipeline_parallel_"

enum { STAGES_MAX = 1024, LAYOUT_SIZE = 8 * STAGES_MAX };

/* ---- the schedule ---------------------------------------------------------------------------- */

static bool is_interleaved(const char *schedule)
{
    static const char *const names[] = {"interleaved", "zbv", "dualpipe", "loopedbfs"};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strstr(schedule, names[i])) {
            return true;
        }
    }
    return false;
}

/* The schedules of PyTorch as --schedule has them; others as they are. */
static const char *schedule_of(const char *lower)
{
    static const char *const known[][2] = {
        {"interleaved1f1b", "interleaved"},
        {"zbvzerobubble", "zb-v"},
        {"dualpipev", "zb-v"},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(lower, known[i][0]) == 0) {
            return known[i][1];
        }
    }
    return lower;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Layers of each stage as --layout has them, "9,10*6,9". */
typedef struct layout {
    char text[LAYOUT_SIZE];
    size_t used;
    int64_t layers, times; /* of the run that is not written yet */
} layout;

static void end_run(layout *l)
{
    if (l->times > 0) {
        l->used += (size_t)snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s%lld",
                                    l->used > 0 ? "," : "", (long long)l->layers);
    }
    if (l->times > 1) {
        l->used += (size_t)snprintf(l->text + l->used, sizeof(l->text) - l->used, "*%lld",
                                    (long long)l->times);
    }
    l->times = 0;
}

static void add_stage(layout *l, int64_t layers)
{
    if (l->times > 0 && l->layers != layers) {
        end_run(l);
    }
    l->layers = layers;
    l->times++;
}

/* Stages that list their modules: [["tok_embeddings", "layers.0"], ["layers.1", "norm"]]. */
static int64_t state_listed(rk_launch *launch, const rk_launch_key *key)
{
    layout l = {0};
    size_t i = 0, m = 0;
    json_t *stage = NULL, *module = NULL;
    const size_t stages = json_array_size(key->json);
    if (stages == 0 || stages > STAGES_MAX) {
        return 0;
    }
    json_array_foreach((json_t *)(uintptr_t)key->json, i, stage)
    {
        int64_t layers = 0;
        json_array_foreach(stage, m, module)
        {
            const char *name = json_string_value(module);
            layers += name && strncmp(name, "layers.", strlen("layers.")) == 0;
        }
        add_stage(&l, layers);
    }
    end_run(&l);
    rk_launch_state(launch, "layout", l.text, RK_FACT_STATED, key);
    return (int64_t)stages;
}

/*
 * The embedding and the output count as some layers.  The sum is spread over the stages, the first
 * ones taking one more each, and then the first and the last stage give up what these count.
 */
static void state_spread(rk_launch *launch, int64_t layers, int64_t stages, int64_t first,
                         int64_t last)
{
    layout l = {0};
    const int64_t sum = layers + first + last;
    if (stages < 2 || stages > STAGES_MAX) {
        return;
    }
    for (int64_t i = 0; i < stages; i++) {
        const int64_t share = sum / stages + (i < sum % stages);
        const int64_t own = share - (i == 0 ? first : 0) - (i == stages - 1 ? last : 0);
        if (own < 0) {
            return;
        }
        add_stage(&l, own);
    }
    end_run(&l);
    rk_launch_state(launch, "layout", l.text, RK_FACT_DERIVED, NULL);
}

/* A number of layers that stages have fewer; 1 by default. */
static int64_t fewer(rk_launch *launch, const char *key)
{
    const double value = rk_launch_number(launch, key, 1);
    return value >= 0 && value < 1000 ? (int64_t)value : 0;
}

/* As many stages as the layers of one make; or one, or two, for each rank by the schedule. */
void rk_torchtitan_state_stages(rk_launch *launch, int64_t pp)
{
    const rk_launch_key *key = rk_launch_find(launch, PIPELINE "schedule");
    const rk_launch_key *listed = rk_launch_find(launch, "parallelism.module_fqns_per_model_part");
    const char *schedule = rk_launch_lower(launch, key && key->value ? key->value : "1f1b");
    const double each = rk_launch_number(launch, PIPELINE "layers_per_stage", 0);
    const int64_t first = fewer(launch, PIPELINE "first_stage_less_layers");
    const int64_t last = fewer(launch, PIPELINE "last_stage_less_layers");
    const int64_t layers = rk_launch_count_of(launch, "model.layers");
    int64_t stages = pp * (is_interleaved(schedule) ? 2 : 1);
    if (each >= 1 && each < 1e6 && layers > 0) {
        stages = (layers + first + last + (int64_t)each - 1) / (int64_t)each;
    }
    const int64_t named = listed && listed->json ? state_listed(launch, listed) : 0;
    if (named > 0) {
        stages = named;
    } else if (layers > 0 && layers < 100000 && stages % pp == 0) {
        state_spread(launch, layers, stages, first, last);
    }
    const char *name = schedule_of(schedule);
    const int64_t rank = strcmp(name, "zb-v") == 0 ? 2 * pp : pp; /* a V is one virtual stage */
    rk_launch_state(launch, "schedule", name, key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    if (strcmp(schedule, "dualpipev") == 0) {
        rk_launch_mark(launch, PIPELINE "schedule", RK_KEY_NOT_PRICED,
                       "priced as ZBVZeroBubble: a V in which no micro-batch hides another's "
                       "messages");
    }
    rk_launch_state_count(launch, "vp", stages > rank ? stages / rank : 1, RK_FACT_DERIVED, key);
}
