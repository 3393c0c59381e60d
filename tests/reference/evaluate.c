/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates cases for the comparison with the second implementation (run.py).  Standard input has
 * one JSON object per line:
 *
 *     {"model": M, "system": S, "stack": T, "strategy": {...}, "convention": "megatron"}
 *
 * M, S and T are names of the catalogue or documents.  The fields of a strategy are those of
 * docs/method/strategies.md; what is absent has its default.  A case may have "probes", a list of
 * single kernels and collectives to price:
 *
 *     {"gemm": PRECISION, "batch": 1, "M": 5, "N": 6, "K": 7, "accumulate": 6, "grouped": false}
 *     {"flash": library, "heads", "group", "queries", "keys", "qk", "v", "window", "causal",
 * "ordered", "backward", "sustained"}
 *     {"attention": true, "flops", "seq", "heads", "size", "group", "share", "backward"}
 *     {"collective": OP, "bytes": 1e6, "size": 8, "stride": 1, "count": 2, "apart": 16}
 *
 * Standard output has one JSON object per case: the result, {"illegal": RULE}, or
 * {"error": MESSAGE}.
 */
#include "base/error.h"
#include "base/units.h"
#include "estimate/estimate.h"
#include "framework/framework.h"
#include "layer/model_load.h"
#include "model/model_doc.h"
#include "stack/stack_doc.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"
#include "system/system_doc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1 << 20, LAYOUT_MAX = 1024, GROUP_COUNT = RK_GROUP_ENDS + 1 };

/* ---- the strategy -------------------------------------------------------------------------- */

/* What a case says about its strategy. */
typedef struct draft {
    rk_strategy strategy;
    int64_t adapter_rank;
    unsigned adapter_modules;
    int16_t layout[LAYOUT_MAX];
} draft;

static const char *const cp_kind_names[] = {"ring", "all_gather", "ulysses", NULL};
static const char *const frozen_names[] = {RK_FROZEN_NAMES, NULL};
static const char *const cross_entropy_names[] = {"stack", RK_CROSS_ENTROPY_NAMES, NULL};
static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const sharding_names[] = {"none", "optimizer", "gradients", "all", NULL};
static const char *const module_names[] = {
    "core_attention", "norm", "activation", "mla_up", "mlp", "moe",
    "operators",      "mhc",  "attn_proj",  NULL};
/* rk_attention_kernel in order. */
static const char *const kernel_names[] = {
    "usual", "cudnn", "cudnn_fp8", "cudnn_mxfp8", "flash_attention_2", "flash_attention_3",
    "aiter", NULL};
static const char *const adapted_names[] = {"attention", "ffn", NULL};

/* A list of names, each a bit. */
static rk_status read_bits(const json_t *value, const char *path, const char *const *names,
                           unsigned *bits, rk_error *err)
{
    const rk_field one = {.name = "name", .type = RK_FIELD_ENUM, .names = names};
    rk_status status = RK_OK;
    *bits = 0;
    for (size_t i = 0; i < json_array_size(value) && !status; i++) {
        unsigned bit = 0;
        status = rk_field_read(json_array_get(value, i), path, &one, &bit, err);
        *bits |= 1u << bit;
    }
    return status;
}

static rk_status read_modules(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, module_names, out, err);
}

static const char *const graph_names[] = {RK_GRAPH_NAMES, NULL};

static rk_status read_graph_modules(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, graph_names, out, err);
}

static rk_status read_adapted(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, adapted_names, out, err);
}

static rk_status read_layout(const json_t *value, const char *path, void *out, rk_error *err)
{
    draft *d = out;
    const size_t count = json_array_size(value);
    if (count > LAYOUT_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected at most %d stages", LAYOUT_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        d->layout[i] = (int16_t)json_integer_value(json_array_get(value, i));
    }
    d->strategy.layout = d->layout;
    d->strategy.layout_count = (int)count;
    return RK_OK;
}

#define FIELD(key, type_)                                                                          \
    {                                                                                              \
        .name = #key, .type = type_, .offset = offsetof(draft, strategy.key), .optional = true     \
    }
#define INT(key)    FIELD(key, RK_FIELD_INT)
#define NUMBER(key) FIELD(key, RK_FIELD_NUMBER)
#define FLAG(key)   FIELD(key, RK_FIELD_BOOL)
#define CHOICE(key, names_)                                                                        \
    {                                                                                              \
        .name = #key, .type = RK_FIELD_ENUM, .offset = offsetof(draft, strategy.key),              \
        .optional = true, .names = names_                                                          \
    }
#define STATE(key)                                                                                 \
    {                                                                                              \
        .name = #key, .type = RK_FIELD_NUMBER, .offset = offsetof(rk_state_recipe, key),           \
        .optional = true                                                                           \
    }
#define CUSTOM(key, reader, place)                                                                 \
    {                                                                                              \
        .name = key, .type = RK_FIELD_CUSTOM, .offset = place, .optional = true, .read = reader    \
    }

static rk_status read_states(const json_t *value, const char *path, void *out, rk_error *err)
{
    static const rk_field fields[] = {STATE(weight), STATE(gradient), STATE(optimizer),
                                      STATE(gather), STATE(reduce)};
    return rk_fields_read(value, path, fields, COUNT(fields), RK_UNKNOWN_NEVER, out, err);
}

static rk_status read_strategy(const json_t *object, const rk_model *model, draft *d, rk_error *err)
{
    static const rk_field fields[] = {
        INT(tp),
        INT(cp),
        INT(pp),
        INT(vp),
        INT(dp),
        INT(ep),
        INT(etp),
        FLAG(sp),
        CHOICE(cp_kind, cp_kind_names),
        CHOICE(order, rk_rank_order_names),
        INT(micro_batch),
        INT(global_batch),
        INT(seq),
        INT(document),
        CHOICE(schedule, rk_schedule_names),
        CHOICE(recompute, recompute_names),
        CUSTOM("recompute_modules", read_modules, offsetof(draft, strategy.recompute_modules)),
        INT(recompute_layers),
        INT(offload_layers),
        CHOICE(sharding, sharding_names),
        CHOICE(optimizer, rk_optimizer_names),
        INT(replicas),
        CHOICE(precision, rk_precision_names),
        CHOICE(fp8_recipe, rk_fp8_recipe_names),
        FLAG(low_weights),
        FLAG(low_activations),
        FLAG(nf4_weights),
        CHOICE(frozen_type, frozen_names),
        CHOICE(cross_entropy, cross_entropy_names),
        NUMBER(logit_bytes),
        INT(loss_chunk),
        FLAG(foreach_update),
        FLAG(step_in_backward),
        FLAG(offload_gradients),
        FLAG(nvme_optimizer),
        NUMBER(offload_share),
        FLAG(nvme_weights),
        FLAG(wide_residual),
        NUMBER(adapter_bytes),
        NUMBER(step_params),
        FLAG(adapts_ends),
        FLAG(expandable_segments),
        CUSTOM("states", read_states, offsetof(draft, strategy.states)),
        FLAG(flash_attention),
        CHOICE(attention_kernel, kernel_names),
        FLAG(tp_overlap),
        FLAG(grad_overlap),
        FLAG(param_overlap),
        FLAG(pp_overlap),
        FLAG(moe_overlap),
        FLAG(graph_capture),
        CUSTOM("graph_modules", read_graph_modules, offsetof(draft, strategy.graph_modules)),
        FLAG(graph_step),
        FLAG(offload_optimizer),
        FLAG(offload_activations),
        FLAG(offload_weights),
        INT(first_stage_layers),
        INT(last_stage_layers),
        FLAG(count_embedding),
        FLAG(count_head),
        FLAG(mtp_before_head),
        CUSTOM("layout", read_layout, 0),
        NUMBER(capacity_factor),
        NUMBER(imbalance),
        {.name = "adapter_rank",
         .type = RK_FIELD_INT,
         .offset = offsetof(draft, adapter_rank),
         .optional = true},
        CUSTOM("adapter_modules", read_adapted, offsetof(draft, adapter_modules)),
    };
    *d = (draft){.strategy = rk_strategy_defaults(model)};
    const rk_status status =
        rk_fields_read(object, "strategy", fields, COUNT(fields), RK_UNKNOWN_NEVER, d, err);
    if (!status) {
        rk_optimizer_set(d->strategy.optimizer, false, &d->strategy);
    }
    if (!status && d->adapter_rank > 0) {
        rk_strategy_freeze(model, d->adapter_rank, d->adapter_modules, &d->strategy);
    }
    return status;
}

/* ---- documents ----------------------------------------------------------------------------- */

static rk_status read_model(const json_t *value, rk_model *model, rk_error *err)
{
    return json_is_string(value) ? rk_model_load(json_string_value(value), model, err)
                                 : rk_model_read(value, model, err);
}

static rk_status read_system(const json_t *value, rk_system *system, rk_error *err)
{
    return json_is_string(value) ? rk_system_load(json_string_value(value), system, err)
                                 : rk_system_from_json(value, system, err);
}

static rk_status read_stack(const json_t *value, rk_stack *stack, rk_error *err)
{
    return json_is_string(value) ? rk_stack_load(json_string_value(value), stack, err)
                                 : rk_stack_from_json(value, stack, err);
}

/* ---- results ------------------------------------------------------------------------------- */

/* A number that json.loads of Python reads, infinities too. */
static void print_number(double value)
{
    if (isfinite(value)) {
        printf("%.17g", value);
    } else {
        printf("%s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
}

static void print_member(const char *key, double value)
{
    printf("\"%s\": ", key);
    print_number(value);
    printf(", ");
}

/* Parts under their names; the last one has no comma, so "end" follows. */
static void print_parts(const char *key, const char *const *names, const double *parts)
{
    printf("\"%s\": {", key);
    for (int i = 0; names[i]; i++) {
        printf("%s\"%s\": ", i ? ", " : "", names[i]);
        print_number(parts[i]);
    }
    printf("}, ");
}

static void print_sent(const char *key, const rk_sent_bytes *sent)
{
    static const char *const names[] = {"tensor", "context", "expert", NULL};
    const double values[] = {sent->tensor, sent->context, sent->expert};
    print_parts(key, names, values);
}

static void print_cost(const rk_cost *cost)
{
    printf("{");
    print_parts("forward", rk_part_names, cost->forward.part);
    print_parts("backward", rk_part_names, cost->backward.part);
    print_sent("sent_forward", &cost->sent_forward);
    print_sent("sent_backward", &cost->sent_backward);
    print_member("weight_seconds", cost->weight_seconds);
    print_member("apart_sums", cost->apart.sums);
    print_member("apart_launches", cost->apart.launches);
    print_member("flops_forward", cost->flops_forward);
    print_member("flops_backward", cost->flops_backward);
    print_member("flops_recompute", cost->flops_recompute);
    print_member("saved", cost->saved);
    print_member("late", cost->late);
    print_member("unsaved", cost->unsaved);
    print_member("transient", cost->transient);
    print_member("wgrad_buffers", cost->wgrad_buffers);
    print_member("dense", cost->dense_params);
    print_member("whole", cost->replicated_params);
    print_member("experts", cost->expert_params);
    print_member("low_dense", cost->low_dense_params);
    print_member("low_experts", cost->low_expert_params);
    printf("\"adapters\": %.17g}", cost->adapters);
}

/* Index of the first layer of a type among all layers and those of an MTP module after them. */
static int first_of_type(const rk_model *model, int type)
{
    int layer = 0, own = 0;
    while (layer < model->layers && model->type_of[layer] != type) {
        layer++;
    }
    while (layer == model->layers && own < model->mtp_each && model->mtp_type[own] != type) {
        own++;
    }
    return layer + own;
}

/* The blocks; layers by the index of the first of their type. */
static void print_blocks(const rk_cost_table *table)
{
    const rk_model *model = table->context.model;
    printf("\"layers\": {");
    for (int i = 0; i < model->type_count; i++) {
        printf("%s\"%d\": [", i ? ", " : "", first_of_type(model, i));
        print_cost(&table->layers[i][0]);
        printf(", ");
        print_cost(&table->layers[i][1]);
        printf("]");
    }
    printf("}, \"embedding\": ");
    print_cost(&table->embedding);
    printf(", \"head\": ");
    print_cost(&table->head);
    if (model->mtp_layers > 0) {
        printf(", \"mtp\": ");
        print_cost(&table->mtp);
    }
    printf(", ");
}

static void print_model(const rk_model *model, int64_t seq)
{
    const rk_model_params p = rk_model_params_of(model);
    double flops[2][RK_FLOP_CONVENTION_COUNT];
    for (int i = 0; i < RK_FLOP_CONVENTION_COUNT; i++) {
        flops[0][i] = rk_model_flops_per_token(model, seq, (rk_flop_convention)i);
        flops[1][i] = rk_model_frozen_flops_per_token(model, seq, (rk_flop_convention)i);
    }
    printf("\"parameters\": {\"total\": %lld, \"active\": %lld, \"without_embedding\": %lld, "
           "\"mtp\": %lld, \"mtp_active\": %lld}, ",
           (long long)p.total, (long long)p.active, (long long)p.active_without_embedding,
           (long long)p.mtp, (long long)p.mtp_active);
    print_parts("flops", rk_flop_convention_names, flops[0]);
    print_parts("frozen_flops", rk_flop_convention_names, flops[1]);
}

static void print_groups(const rk_system *system, const rk_strategy *strategy)
{
    static const char *const names[GROUP_COUNT] = {
        [RK_GROUP_TENSOR] = "tensor",
        [RK_GROUP_CONTEXT] = "context",
        [RK_GROUP_EXPERT] = "expert",
        [RK_GROUP_EXPERT_TENSOR] = "expert_tensor",
        [RK_GROUP_DATA] = "data",
        [RK_GROUP_SHARD] = "shard",
        [RK_GROUP_REPLICA] = "replica",
        [RK_GROUP_EXPERT_DATA] = "expert_data",
        [RK_GROUP_EXPERT_SHARD] = "expert_shard",
        [RK_GROUP_PIPELINE] = "pipeline",
        [RK_GROUP_ENDS] = "ends",
    };
    printf("\"groups\": {");
    for (int i = 0; i < GROUP_COUNT; i++) {
        if (i == RK_GROUP_ENDS && strategy->pp == 1) {
            continue;
        }
        const rk_group group = rk_strategy_group(system, strategy, (rk_group_kind)i);
        printf("%s\"%s\": [%lld", i ? ", " : "", names[i], (long long)group.size);
        for (int tier = 0; tier < system->tier_count; tier++) {
            printf(", %lld", (long long)group.within[tier]);
        }
        printf("]");
    }
    printf("}, ");
}

/* ---- probes -------------------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Index of the text of a member among `names`; 0 where it is none of them. */
static unsigned index_of(const json_t *object, const char *key, const char *const *names)
{
    const char *text = json_string_value(json_object_get(object, key));
    unsigned index = 0;
    while (text && names[index] && strcmp(names[index], text) != 0) {
        index++;
    }
    return text && names[index] ? index : 0;
}

static double gemm_probe(const json_t *probe, const rk_accelerator *a)
{
    const rk_precision precision = (rk_precision)index_of(probe, "gemm", rk_precision_names);
    const double batch = number_of(probe, "batch"), accumulate = number_of(probe, "accumulate");
    const double M = number_of(probe, "M"), N = number_of(probe, "N"), K = number_of(probe, "K");
    return json_is_true(json_object_get(probe, "grouped"))
               ? rk_grouped_gemm_seconds(a, precision, batch, M, N, K, accumulate)
               : rk_gemm_seconds(a, precision, batch, M, N, K, accumulate);
}

static double attention_probe(const json_t *probe, const rk_accelerator *a)
{
    const rk_attention_work work = {
        .flops = number_of(probe, "flops"),
        .seq = number_of(probe, "seq"),
        .heads = number_of(probe, "heads"),
        .qk_size = number_of(probe, "size"),
        .group = number_of(probe, "group"),
        .share = number_of(probe, "share"),
        .backward = json_is_true(json_object_get(probe, "backward")),
    };
    return rk_attention_seconds(a, &work);
}

static bool flag_of(const json_t *probe, const char *key)
{
    return json_is_true(json_object_get(probe, key));
}

static double flash_probe(const json_t *probe, const rk_accelerator *a)
{
    const rk_flash_work work = {
        .library = (rk_flash_library)index_of(probe, "flash", rk_flash_library_names),
        .heads = number_of(probe, "heads"),
        .group = number_of(probe, "group"),
        .queries = number_of(probe, "queries"),
        .keys = number_of(probe, "keys"),
        .qk_size = number_of(probe, "qk"),
        .v_size = number_of(probe, "v"),
        .window = number_of(probe, "window"),
        .causal = flag_of(probe, "causal"),
        .deterministic = flag_of(probe, "ordered"),
        .backward = flag_of(probe, "backward"),
        .sustained = flag_of(probe, "sustained"),
    };
    return rk_flash_seconds(a, &work);
}

static double collective_probe(const json_t *probe, const rk_system *system)
{
    const rk_collective op = (rk_collective)index_of(probe, "collective", rk_collective_names);
    const rk_group group = rk_group_of_parts(
        system, (int64_t)number_of(probe, "size"), (int64_t)number_of(probe, "stride"),
        (int64_t)number_of(probe, "count"), (int64_t)number_of(probe, "apart"));
    return rk_collective_seconds(system, op, number_of(probe, "bytes"), &group);
}

static void print_probes(const json_t *probes, const rk_system *system)
{
    const rk_accelerator *a = &system->accelerator;
    printf("\"probes\": [");
    for (size_t i = 0; i < json_array_size(probes); i++) {
        const json_t *probe = json_array_get(probes, i);
        printf("%s", i ? ", " : "");
        print_number(json_object_get(probe, "gemm")        ? gemm_probe(probe, a)
                     : json_object_get(probe, "attention") ? attention_probe(probe, a)
                     : json_object_get(probe, "flash")     ? flash_probe(probe, a)
                                                           : collective_probe(probe, system));
    }
    printf("], ");
}

/* ---- the estimate -------------------------------------------------------------------------- */

/* nanotron's layout of as many stages as the strategy has, where each has a layer on average. */
static void print_layout(const rk_model *model, const rk_strategy *s)
{
    int16_t layout[RK_CHUNK_MAX];
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    rk_strategy_layout_by_weight(model, stages, layout);
    printf("\"layout_by_weight\": [");
    for (int64_t i = 0; i < stages; i++) {
        printf("%s%d", i ? ", " : "", layout[i]);
    }
    printf("], ");
}

static void print_memory(const rk_stage_memory *memory)
{
    printf("{");
    print_parts("part", rk_memory_part_names, memory->part);
    print_member("allocated", memory->allocated);
    print_member("reserved", memory->reserved);
    print_member("late", memory->late);
    printf("\"total\": %.17g}", memory->total);
}

static void print_estimate(const rk_estimate *e, const rk_stage_memory *stages, int64_t ranks)
{
    static const char *const volume_names[] = {"tensor",   "context", "expert",
                                               "pipeline", "data",    NULL};
    const rk_volumes *v = &e->volumes;
    const double volumes[] = {v->tensor, v->context, v->expert, v->pipeline, v->data};
    print_member("step", e->step);
    print_parts("part", rk_part_names, e->times.part);
    print_parts("volumes", volume_names, volumes);
    print_member("model_flops", e->model_flops);
    print_member("hardware_flops", e->hardware_flops);
    print_member("mfu", e->mfu);
    print_member("hfu", e->hfu);
    print_member("tokens_per_second", e->tokens_per_second);
    print_member("host_bytes", e->host_bytes);
    printf("\"fits\": %s, \"thrashes\": %s, \"memories\": [", e->fits ? "true" : "false",
           e->thrashes ? "true" : "false");
    for (int64_t r = 0; r < ranks; r++) {
        printf("%s", r ? ", " : "");
        print_memory(&stages[r]);
    }
    printf("]}\n");
}

/* A case as it was read. */
typedef struct question {
    rk_model model;
    rk_system system;
    rk_stack stack;
    draft draft;
    unsigned convention;
    const json_t *probes;
} question;

static rk_status evaluate(const question *q, rk_error *err)
{
    const rk_strategy *s = &q->draft.strategy;
    rk_legality violation;
    rk_cost_table table;
    rk_estimate estimate;
    if (!rk_strategy_legal(&q->model, &q->system, s, RK_FRAMEWORK_ANY, &violation)) {
        printf("{\"illegal\": \"%s\"}\n", violation.rule);
        return RK_OK;
    }
    rk_stage_memory *stages = calloc((size_t)s->pp, sizeof(*stages));
    rk_status status = stages ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "out of memory");
    const rk_setting setting = {.model = &q->model,
                                .system = &q->system,
                                .stack = &q->stack,
                                .convention = (rk_flop_convention)q->convention};
    status = status ? status : rk_estimate_exact(&setting, s, &estimate, stages, err);
    if (!status) {
        rk_cost_table_fill(&q->model, &q->system, &q->stack, s, &table);
        printf("{");
        print_model(&q->model, s->seq);
        print_layout(&q->model, s);
        print_groups(&q->system, s);
        print_probes(q->probes, &q->system);
        print_blocks(&table);
        print_estimate(&estimate, stages, s->pp);
    }
    free(stages);
    return status;
}

/* ---- cases --------------------------------------------------------------------------------- */

static rk_status read_question(const json_t *root, question *q, rk_error *err)
{
    static const rk_field convention_field = {
        .name = "convention", .type = RK_FIELD_ENUM, .names = rk_flop_convention_names};
    q->probes = json_object_get(root, "probes");
    rk_status status = read_model(json_object_get(root, "model"), &q->model, err);
    status = status ? status : read_stack(json_object_get(root, "stack"), &q->stack, err);
    status = status ? status
                    : read_strategy(json_object_get(root, "strategy"), &q->model, &q->draft, err);
    status = status ? status
                    : rk_field_read(json_object_get(root, "convention"), "convention",
                                    &convention_field, &q->convention, err);
    return status ? status : read_system(json_object_get(root, "system"), &q->system, err);
}

static rk_status evaluate_case(const json_t *root, rk_error *err)
{
    static question q; /* large */
    rk_status status = read_question(root, &q, err);
    if (!status) {
        status = evaluate(&q, err);
        rk_system_clear(&q.system);
    }
    return status;
}

int main(void)
{
    static char line[LINE_SIZE];
    while (fgets(line, sizeof(line), stdin)) {
        rk_json_doc doc;
        rk_error err = {.message = ""};
        rk_status status = rk_json_parse(line, strlen(line), "case", &doc, &err);
        status = status ? status : evaluate_case(doc.root, &err);
        if (status) {
            json_t *text = json_sprintf("%s: %s", err.path, err.message);
            json_t *failed = json_pack("{s:o}", "error", text);
            char *written = json_dumps(failed, 0);
            printf("%s\n", written ? written : "{\"error\": \"out of memory\"}");
            free(written);
            json_decref(failed);
        }
        rk_json_clear(&doc);
        (void)fflush(stdout);
    }
    return 0;
}
