/* SPDX-License-Identifier: Apache-2.0 */
/* Parts common to all launch-file writers: checks, comments, notes, accelerators per host. */
#include "framework/launch_file.h"

#include "base/error.h"
#include "model/kinds.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NAME(framework, writer, name) name,
const char *const rk_launch_names[] = {RK_LAUNCH_LIST(NAME) NULL};

#define KIND(framework, writer, name) {RK_FRAMEWORK_##framework, rk_launch_##writer},
const rk_launch_kind rk_launch_kinds[] = {RK_LAUNCH_LIST(KIND)};

const char *rk_launch_hybrid(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (!(type->mixer->part.shapes & RK_SHAPE_ATTENTION) || !type->feed_forward->part.shapes) {
            return "the layers that lack attention or a feed-forward network";
        }
        if (type->attention.kv_source != RK_KV_OWN) {
            return "the keys and values that layers or heads share";
        }
        if (type->attention.index.keys > 0) {
            return "the indexer of the sparse attention";
        }
        if (type->attention.out_rank > 0) {
            return "the compressed attention";
        }
        if (type->attention.head_gate) {
            return "the gate of the attention heads";
        }
        if (type->moe.zero_experts > 0 || type->moe.shortcut) {
            return "the experts without weights, or beside the next layer,";
        }
        if (type->moe.router_scales) {
            return "the learned factors of the router";
        }
        if (type->moe.latent > 0) {
            return "the latent of the routed experts";
        }
    }
    if (model->streams > 0) {
        return "the hyper-connections";
    }
    if (model->embedding_width > 0) {
        return "the embedding, which is narrower than the layers,";
    }
    return model->layer_embedding > 0 || model->layer_scalar
               ? "the second embedding or the learned factors of the layers"
               : NULL;
}

/* ---- what can be refused early -------------------------------------------------------------- */

rk_status rk_launch_check(rk_framework framework, const rk_model *model, const rk_system *system,
                          rk_error *err)
{
    assert(framework < RK_FRAMEWORK_COUNT);
    const rk_accelerator *a = &system->accelerator;
    const rk_framework_traits *f = rk_framework_of(framework);
    const char *name = rk_framework_names[framework];
    const bool runs = f->runs_on >> a->generation & 1U;
    const char *missing = f->unnamed_part ? f->unnamed_part(model) : NULL;
    if (!runs) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--emit: %s does not run on %s, whose framework is %s; reckon writes no "
                       "launch file for that one",
                       name, a->name, rk_framework_of(rk_framework_usual(a->generation))->title);
    }
    if (missing) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--emit: %s has no argument for %s of %s; its launch file would train "
                       "another model",
                       name, missing, model->name);
    }
    return RK_OK;
}

rk_status rk_launch_check_schedule(rk_framework framework, const rk_strategy *strategy,
                                   rk_error *err)
{
    const rk_framework_traits *f = rk_framework_of(framework);
    char runs[160] = "";
    if (f->schedules >> strategy->schedule & 1U) {
        return RK_OK;
    }
    for (unsigned i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        const size_t length = strlen(runs);
        if (f->schedules >> i & 1U) {
            const char *between = f->schedules >> i >> 1 ? ", " : " or ";
            (void)snprintf(runs + length, sizeof(runs) - length, "%s%s", length ? between : "",
                           rk_schedule_names[i]);
        }
    }
    return rk_fail(err, RK_ERR_INVALID, "%s does not run the schedule %s; use %s", f->title,
                   rk_schedule_names[strategy->schedule], runs);
}

/* ---- for the writers ------------------------------------------------------------------------ */

const char *rk_launch_schedule(rk_framework framework, const rk_strategy *strategy)
{
    return rk_framework_of(framework)->launch_schedules[strategy->schedule];
}

/* Names come from documents and may contain any character. */
void rk_launch_comment(rk_out *out, const char *words)
{
    rk_out_text(out, "# ");
    for (const char *c = words; *c; c++) {
        rk_out_printf(out, "%c", (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    }
    rk_out_text(out, "\n");
}

void rk_launch_note(rk_launch_notes *notes, bool found, const char *words)
{
    if (found) {
        assert(notes->count < RK_LAUNCH_NOTES_MAX);
        notes->words[notes->count++] = words;
    }
}

void rk_launch_write_notes(rk_out *out, const rk_launch_notes *notes, const char *name)
{
    for (int i = 0; i < notes->count; i++) {
        rk_out_printf(out, "# Not expressed in %s: %s.\n", name, notes->words[i]);
    }
}

/*
 * A host drives the innermost domain, up to 16 accelerators.  Larger domains span hosts; NVL72 has
 * compute trays of 4 (NVIDIA, GB200 NVL72 data sheet: 18 trays, 72 GPUs).
 */
int64_t rk_launch_node(const rk_system *system, int64_t ranks)
{
    assert(ranks >= 1);
    enum { HOST_MAX = 16, TRAY = 4 };
    const int64_t domain = system->tier_count > 0 ? system->tiers[0].size : 1;
    int64_t node = domain <= HOST_MAX ? domain : TRAY;
    while (node > 1 && ranks % node != 0) {
        node--;
    }
    return node;
}
