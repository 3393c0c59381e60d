/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that rules and rows name, each loaded once. */
#include "base/error.h"
#include "evidence/run_facts.h"
#include "io/catalogue.h"
#include "layer/model_load.h"
#include "stack/stack_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rk_run_place(char (*names)[64], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void *grown(void *list, size_t count, size_t size)
{
    return realloc(list, (count + 1) * size);
}

rk_status rk_run_documents_add(rk_run_sources *s, const rk_run_facts *named, rk_error *err)
{
#define ADD(kind, load)                                                                            \
    if (named->kind[0] && rk_run_place(s->kind##_names, s->kind##_count, named->kind) < 0) {       \
        void *names = grown(s->kind##_names, s->kind##_count, sizeof(*s->kind##_names));           \
        s->kind##_names = names ? names : s->kind##_names;                                         \
        void *documents = grown(s->kind##s, s->kind##_count, sizeof(*s->kind##s));                 \
        s->kind##s = documents ? documents : s->kind##s;                                           \
        if (!names || !documents) {                                                                \
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the documents");             \
        }                                                                                          \
        const rk_status status = load(named->kind, &s->kind##s[s->kind##_count], err);             \
        if (status) {                                                                              \
            return status;                                                                         \
        }                                                                                          \
        memcpy(s->kind##_names[s->kind##_count++], named->kind, sizeof(named->kind));              \
    }
    ADD(stack, rk_stack_load)
    ADD(system, rk_system_load)
    ADD(model, rk_model_load)
#undef ADD
    return RK_OK;
}

void rk_run_documents_clear(rk_run_sources *s)
{
    free(s->stacks);
    free(s->stack_names);
    for (size_t i = 0; i < s->system_count; i++) {
        rk_system_clear(&s->systems[i]);
    }
    free(s->systems);
    free(s->system_names);
    free(s->models);
    free(s->model_names);
}

static rk_status name_cell(const rk_run_table *table, size_t row, rk_run_column column,
                           char out[64], rk_error *err)
{
    const char *cell = rk_run_cell(table, row, column);
    const size_t length = strlen(cell);
    if (length >= 64) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "row %zu, column %s: a name or a path of at most 63 characters, found %zu",
                       row + 1, rk_run_column_names[column], length);
    }
    memcpy(out, cell, length + 1);
    return RK_OK;
}

/*
 * A row that prints its sizes is not looked up by its name, unless its layers are not of attention:
 * sizes do not describe those.
 */
void rk_run_model_named(const rk_run_table *table, size_t row, char name[64])
{
    const char *model = rk_run_cell(table, row, RK_RUN_MODEL);
    const bool plain = strcmp(rk_run_cell(table, row, RK_RUN_MIXER), "hybrid") != 0;
    const bool complete = plain && rk_run_cell(table, row, RK_RUN_LAYERS)[0] != '\0' &&
                          rk_run_cell(table, row, RK_RUN_HIDDEN)[0] != '\0';
    name[0] = '\0';
    if (rk_run_cell(table, row, RK_RUN_ARCHITECTURE)[0]) {
        (void)name_cell(table, row, RK_RUN_ARCHITECTURE, name, NULL);
        return;
    }
    const rk_catalogue_entry *entry = complete ? NULL : rk_catalogue_find("models", model);
    if (entry) {
        (void)snprintf(name, 64, "%.63s", entry->name);
    }
}

/* The accelerator of the catalogue whose name the row's has in it, if no rule names a system. */
static void find_accelerator(const rk_run_table *table, size_t row, char system[64])
{
    const rk_catalogue_entry *entry =
        rk_catalogue_find_inside("accelerators", rk_run_cell(table, row, RK_RUN_ACCELERATOR));
    if (entry) {
        (void)snprintf(system, 64, "%.63s", entry->name);
    }
}

rk_status rk_run_facts_named(const rk_run_table *table, size_t row, rk_run_facts *facts,
                             rk_error *err)
{
    char stack[64] = "", system[64] = "", model[64] = "";
    rk_status status = name_cell(table, row, RK_RUN_STACK, stack, err);
    status = status ? status : name_cell(table, row, RK_RUN_SYSTEM, system, err);
    status = status ? status : name_cell(table, row, RK_RUN_ARCHITECTURE, model, err);
    if (status) {
        return status;
    }
    rk_run_model_named(table, row, model);
    if (stack[0]) {
        memcpy(facts->stack, stack, sizeof(stack));
    }
    if (system[0]) {
        memcpy(facts->system, system, sizeof(system));
    }
    if (!facts->system[0]) {
        find_accelerator(table, row, facts->system);
    }
    if (model[0]) {
        memcpy(facts->model, model, sizeof(model));
    }
    return RK_OK;
}

rk_status rk_run_sources_add(rk_run_sources *sources, const rk_run_table *table, rk_error *err)
{
    for (size_t row = 0; row < table->rows; row++) {
        rk_run_facts named = rk_run_facts_default;
        rk_status status = rk_run_facts_named(table, row, &named, err);
        if (status) {
            rk_error_set_file(err, table->name);
            return status;
        }
        status = rk_run_documents_add(sources, &named, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}
