/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the constants of a recipe from the start, assesses them, and writes the documents. */
#include "evidence/calibrate.h"

#include "base/error.h"
#include "base/text.h"
#include "evidence/calibrate_search.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the fit -------------------------------------------------------------------------------- */

/*
 * The value in the first document that has the constant; the start, for a constant of the tables.
 */
static rk_status find_values(rk_calibration *c, double *found, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; !status && i < c->recipe->constant_count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        int document = 0;
        found[i] = constant->start;
        while (!(constant->documents >> document & 1)) {
            document++;
        }
        for (int k = 0; !status && k < constant->key_count; k++) {
            double value = constant->start;
            if (!rk_is_table_key(constant->keys[k])) {
                status = rk_editable_get(c->bench.documents[document], constant->keys[k],
                                         (double)NAN, &value, err);
            }
            found[i] = k == 0 ? value : found[i];
        }
        c->constants[i].figures = (rk_fitted_constant){.key = constant->keys[0],
                                                       .unit = constant->unit,
                                                       .meaning = constant->meaning,
                                                       .start = constant->start,
                                                       .found = found[i],
                                                       .deviation = (double)NAN};
    }
    return status;
}

/* Loss and errors at some values. */
static rk_status assess(rk_calibration *c, const double *values, double *loss,
                        rk_error_summary *fitted, rk_error_summary *held, rk_error *err)
{
    double used[RK_RECIPE_CONSTANTS];
    for (int i = 0; i < c->recipe->constant_count; i++) {
        used[i] = isnan(values[i]) ? c->recipe->constants[i].start : values[i];
    }
    rk_status status = rk_fit_setup_set(&c->bench, used, err);
    if (!status) {
        *loss = rk_fit_setup_loss(&c->bench, -1);
        status = rk_errors_summarise(&c->bench, -1, false, fitted, err);
    }
    return status || !held ? status : rk_errors_summarise(&c->bench, -1, true, held, err);
}

static rk_status fit(rk_calibration *c, rk_error *err)
{
    const rk_recipe *recipe = c->recipe;
    double start[RK_RECIPE_CONSTANTS], found[RK_RECIPE_CONSTANTS], values[RK_RECIPE_CONSTANTS];
    rk_status status = find_values(c, found, err);
    c->facts.recipe = recipe->name;
    c->facts.constants = recipe->constant_count;
    for (int i = 0; i < recipe->constant_count; i++) {
        values[i] = start[i] = recipe->constants[i].start;
    }
    if (!status) {
        status = assess(c, found, &c->facts.loss_found, &c->facts.found, NULL, err);
    }
    if (!status) {
        status = assess(c, start, &c->facts.loss_start, &c->facts.start, &c->held_start, err);
    }
    status = status ? status : rk_fit_setup_check(&c->bench, err);
    if (!status) {
        status = rk_search(&c->bench, -1, recipe->starts, (uint64_t)recipe->seed, values, err);
    }
    for (int i = 0; !status && i < recipe->constant_count; i++) {
        values[i] = rk_constant_rounded(&recipe->constants[i], values[i]);
        c->constants[i].figures.value = values[i];
    }
    return status ? status
                  : assess(c, values, &c->facts.loss, &c->facts.fitted, &c->facts.held_out, err);
}

static rk_status read_rows(rk_calibration *c, rk_error *err)
{
    const char *names[RK_RECIPE_DOCUMENTS];
    for (int i = 0; i < c->recipe->document_count; i++) {
        names[i] = rk_editable_name(c->bench.documents[i]);
    }
    rk_status status = rk_observations_read(c->recipe, names, &c->rows, err);
    size_t fitted = 0;
    for (size_t i = 0; i < c->rows.count; i++) {
        fitted += !c->rows.rows[i].held;
    }
    if (!status && fitted < (size_t)c->recipe->constant_count) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%zu rows to fit meet the conditions: expected at least as many as the "
                         "%d constants",
                         fitted, c->recipe->constant_count);
    }
    return status;
}

rk_status rk_calibrate_by(rk_recipe *recipe, const rk_calibration_choice *choice,
                          rk_calibration *calibration, rk_error *err)
{
    rk_calibration *c = calibration;
    memset(c, 0, sizeof(*c));
    c->recipe = recipe;
    rk_status status = rk_fit_setup_open(recipe, &c->bench, err);
    status = status ? status : read_rows(c, err);
    status = status ? status : rk_fit_setup_take(&c->bench, &c->rows, err);
    status = status ? status : fit(c, err);
    return status ? status : rk_calibration_judge(c, choice, err);
}

rk_status rk_calibrate(const char *path, const rk_calibration_choice *choice,
                       rk_calibration *calibration, rk_error *err)
{
    rk_recipe *recipe;
    memset(calibration, 0, sizeof(*calibration));
    rk_status status = rk_recipe_load(path, &recipe, err);
    if (!status) {
        status = rk_calibrate_by(recipe, choice, calibration, err);
        rk_error_set_file(status ? err : NULL, rk_json_title(path));
    }
    return status;
}

void rk_calibration_clear(rk_calibration *calibration)
{
    rk_fit_setup_clear(&calibration->bench);
    rk_observations_clear(&calibration->rows);
    rk_recipe_free(calibration->recipe);
    free(calibration->groups);
    free(calibration->by_others);
    memset(calibration, 0, sizeof(*calibration));
}

/* ---- documents
 * ----------------------------------------------------------------------------------- */

/* The group of a key: all but its last step ("gemm.bf16" of "gemm.bf16.feed"). */
static void group_of(const char *key, char group[RK_RECIPE_NAME])
{
    const char *dot = strrchr(key, '.');
    (void)snprintf(group, RK_RECIPE_NAME, "%.*s", dot ? (int)(dot - key) : 0, key);
}

/* "feed 1.42 +- 0.31, prologue 104 +- 12" of the constants in a group of a document. */
static void list_constants(const rk_calibration *c, int document, const char *group,
                           rk_growing_text *to)
{
    assert(document >= 0 && document < c->recipe->document_count);
    bool first = true;
    for (int i = 0; i < c->recipe->constant_count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        for (int k = 0; k < constant->key_count; k++) {
            char of[RK_RECIPE_NAME];
            group_of(constant->keys[k], of);
            if (!(constant->documents >> document & 1) || strcmp(of, group) != 0) {
                continue;
            }
            rk_text_add(to, "%s%s %.3g", first ? "" : ", ", constant->keys[k] + strlen(group) + 1,
                        c->constants[i].figures.value);
            if (c->refitted) {
                rk_text_add(to, " +- %.2g", c->constants[i].figures.deviation);
            }
            first = false;
        }
    }
}

static void describe(const rk_calibration *c, int document, const char *group, char *text,
                     size_t size)
{
    rk_growing_text to = {.text = text, .size = size};
    rk_text_add(&to, "reckon %s, recipe %s: ", rk_version(), c->recipe->name);
    list_constants(c, document, group, &to);
    rk_text_add(&to, "; %zu rows of", c->facts.fitted.rows);
    for (int i = 0; i < c->recipe->table_count; i++) {
        const char *slash = strrchr(c->recipe->tables[i].file, '/');
        bool repeated = false;
        for (int j = 0; j < i; j++) {
            repeated |= strcmp(c->recipe->tables[i].file, c->recipe->tables[j].file) == 0;
        }
        if (!repeated) {
            rk_text_add(&to, " %s", slash ? slash + 1 : c->recipe->tables[i].file);
        }
    }
    rk_text_add(&to, ", median error %.1f%% (%.1f%% at the start of the recipe",
                100 * c->facts.fitted.median, 100 * c->facts.start.median);
    if (c->refitted) {
        rk_text_add(&to, ", %.1f%% of a group by the others", 100 * c->facts.by_the_others.median);
    }
    if (c->facts.held_out.rows > 0) {
        rk_text_add(&to, ", %.1f%% on %zu rows held out", 100 * c->facts.held_out.median,
                    c->facts.held_out.rows);
    }
    rk_text_add(&to, ").");
}

rk_status rk_calibration_write(rk_calibration *calibration, rk_error *err)
{
    const rk_recipe *recipe = calibration->recipe;
    rk_status status = RK_OK;
    for (int i = 0; i < recipe->constant_count; i++) {
        const rk_constant *constant = &recipe->constants[i];
        for (int k = 0; k < constant->key_count; k++) {
            char group[RK_RECIPE_NAME], note[1200];
            group_of(constant->keys[k], group);
            for (int j = 0; !status && j < recipe->document_count; j++) {
                if ((constant->documents >> j & 1) && !rk_is_table_key(constant->keys[k])) {
                    describe(calibration, j, group, note, sizeof(note));
                    status = rk_editable_note(calibration->bench.documents[j], group, note, err);
                }
            }
        }
    }
    for (int j = 0; !status && j < recipe->document_count; j++) {
        status = rk_editable_write(calibration->bench.documents[j], recipe->documents[j], err);
    }
    return status;
}
