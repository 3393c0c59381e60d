/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon list`: what is in the built-in catalogue. */
#include "command/commands.h"

#include "base/text.h"
#include "calculon/calculon_docs.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "layer/model_load.h"
#include "model/model.h"
#include "report/describe.h"
#include "stack/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LIST_MODELS,
    LIST_SYSTEMS,
    LIST_ACCELERATORS,
    LIST_STACKS,
    LIST_APPLICATIONS,
    LIST_CALCULON_SYSTEMS,
    LIST_ALL
};

typedef struct list_arguments {
    int what;
} list_arguments;

static const char *const list_choices[] = {
    "models", "systems", "accelerators", "stacks", "calculon-models", "calculon-systems", NULL,
};

static const rk_option list_options[] = {
    {.name = "what",
     .positional = true,
     .type = RK_OPTION_CHOICE,
     .offset = offsetof(list_arguments, what),
     .choices = list_choices,
     .value = "WHAT",
     .help = "list only these"},
};

/* ---- the Calculon methodology -------------------------------------------------------------- */

static const rk_table_column application_columns[] = {
    {"model", RK_ALIGN_LEFT},      {"parameters", RK_ALIGN_RIGHT},   {"blocks", RK_ALIGN_RIGHT},
    {"hidden", RK_ALIGN_RIGHT},    {"feed-forward", RK_ALIGN_RIGHT}, {"heads", RK_ALIGN_RIGHT},
    {"head size", RK_ALIGN_RIGHT}, {"sequence", RK_ALIGN_RIGHT},
};

static rk_status add_application(rk_table *table, const char *name, rk_error *err)
{
    rk_calculon_app app;
    char parameters[RK_NUMBER_TEXT_SIZE];
    const rk_status status = rk_calculon_app_load(name, false, &app, err);
    if (status) {
        return status;
    }
    const int64_t numbers[] = {app.num_blocks, app.hidden,    app.feedforward,
                               app.attn_heads, app.attn_size, app.seq_size};
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%s",
                  rk_human_text(rk_calculon_parameters(&app), RK_HUMAN_BASE10, parameters));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        rk_table_cell(table, "%" PRId64, numbers[i]);
    }
    return RK_OK;
}

static const rk_table_column calculon_system_columns[] = {
    {"system", RK_ALIGN_LEFT},
    {"memory, GiB", RK_ALIGN_RIGHT},
    {"offload, GiB", RK_ALIGN_RIGHT},
    {"matrix, TFLOP/s", RK_ALIGN_LEFT},
    {"networks, processors x GB/s", RK_ALIGN_LEFT},
};

/* Adds a cell "float8 2000, float16 1000". */
static void add_engines(rk_table *table, const rk_calculon_sys *sys)
{
    char text[RK_WORDS_SIZE] = "";
    size_t used = 0;
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        if (sys->matrix[i].present && sys->vector[i].present && used < sizeof(text)) {
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.6g", used ? ", " : "",
                                 rk_datatype_names[i], sys->matrix[i].peak / 1e12);
        }
    }
    rk_table_cell(table, "%s", text);
}

/* Adds a cell "8 x 450, 65536 x 50". */
static void add_networks(rk_table *table, const rk_calculon_sys *sys)
{
    char text[RK_WORDS_SIZE] = "";
    size_t used = 0;
    for (int i = 0; i < sys->network_count && used < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRId64 " x %.6g",
                                 i ? ", " : "", sys->networks[i].size,
                                 sys->networks[i].bandwidth / 1e9);
    }
    rk_table_cell(table, "%s", text);
}

static rk_status add_calculon_system(rk_table *table, const char *name, rk_error *err)
{
    rk_calculon_sys sys;
    char gib[RK_GIB_SIZE];
    const rk_status status = rk_calculon_sys_load(name, false, &sys, err);
    if (!status) {
        rk_table_cell(table, "%s", name);
        rk_table_cell(table, "%s", rk_describe_gib(sys.mem1.capacity, gib));
        rk_table_cell(table, "%s", rk_describe_gib(sys.mem2.capacity, gib));
        add_engines(table, &sys);
        add_networks(table, &sys);
    }
    return status;
}

/* ---- the reckon model ---------------------------------------------------------------------- */

static const rk_table_column model_columns[] = {
    {"model", RK_ALIGN_LEFT},     {"parameters", RK_ALIGN_RIGHT}, {"active", RK_ALIGN_RIGHT},
    {"layers", RK_ALIGN_RIGHT},   {"hidden", RK_ALIGN_RIGHT},     {"heads", RK_ALIGN_RIGHT},
    {"KV heads", RK_ALIGN_RIGHT}, {"experts", RK_ALIGN_RIGHT},    {"vocabulary", RK_ALIGN_RIGHT},
    {"sequence", RK_ALIGN_RIGHT},
};

static rk_status add_model(rk_table *table, const char *name, rk_error *err)
{
    rk_model model;
    char total[RK_NUMBER_TEXT_SIZE], active[RK_NUMBER_TEXT_SIZE];
    const rk_status status = rk_model_load(name, &model, err);
    if (status) {
        return status;
    }
    const rk_model_params params = rk_model_params_of(&model);
    const rk_layer_type *last = &model.types[model.type_of[model.layers - 1]];
    const int64_t numbers[] = {
        model.layers,
        model.hidden,
        last->attention.query_heads,
        last->attention.kv_heads,
        last->moe.experts,
        model.vocab,
        model.seq,
    };
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%s", rk_count_text((double)params.total, total));
    rk_table_cell(table, "%s", rk_count_text((double)params.active, active));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        rk_table_cell(table, "%" PRId64, numbers[i]);
    }
    return RK_OK;
}

static const rk_table_column system_columns[] = {
    {"system", RK_ALIGN_LEFT},
    {"accelerator", RK_ALIGN_LEFT},
    {"network, accelerators x GB/s", RK_ALIGN_LEFT},
};

static const rk_table_column accelerator_columns[] = {
    {"accelerator", RK_ALIGN_LEFT},
    {"memory, GiB", RK_ALIGN_RIGHT},
    {"GB/s", RK_ALIGN_RIGHT},
    {"matrix, TFLOP/s", RK_ALIGN_LEFT},
    {"usual network, accelerators x GB/s", RK_ALIGN_LEFT},
};

static void add_tiers(rk_table *table, const rk_system *system)
{
    char text[RK_WORDS_SIZE];
    rk_table_cell(table, "%s", rk_describe_tiers(system, text));
}

static rk_status add_system(rk_table *table, const char *name, rk_error *err)
{
    rk_system system;
    const rk_status status = rk_system_load(name, &system, err);
    if (!status) {
        rk_table_cell(table, "%s", name);
        rk_table_cell(table, "%s", system.accelerator.name);
        add_tiers(table, &system);
        rk_system_clear(&system);
    }
    return status;
}

static rk_status add_accelerator(rk_table *table, const char *name, rk_error *err)
{
    rk_system system;
    char text[RK_WORDS_SIZE], gib[RK_GIB_SIZE];
    const rk_status status = rk_system_load(name, &system, err);
    if (!status) {
        rk_table_cell(table, "%s", name);
        rk_table_cell(table, "%s", rk_describe_gib(system.accelerator.memory_usable, gib));
        rk_table_cell(table, "%.0f", system.accelerator.memory_bandwidth / 1e9);
        rk_table_cell(table, "%s", rk_describe_matrix(&system.accelerator, text));
        add_tiers(table, &system);
        rk_system_clear(&system);
    }
    return status;
}

static const rk_table_column stack_columns[] = {{"stack", RK_ALIGN_LEFT},
                                                {"year", RK_ALIGN_RIGHT},
                                                {"for", RK_ALIGN_LEFT},
                                                {"what it is", RK_ALIGN_LEFT}};

static rk_status add_stack(rk_table *table, const char *name, rk_error *err)
{
    char text[RK_WORDS_SIZE] = "";
    rk_stack stack;
    rk_status status = rk_stack_load(name, &stack, err);
    if (status) {
        return status;
    }
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%" PRId64, stack.year);
    for (size_t i = 0, used = 0; rk_generation_names[i]; i++) {
        if (stack.generations >> i & 1) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     rk_generation_names[i]);
        }
    }
    rk_table_cell(table, "%s", text);
    status = rk_document_description(name, RK_DOCUMENT_STACK, text, sizeof(text), err);
    rk_table_cell(table, "%s", text);
    return status;
}

/* ---- all lists ----------------------------------------------------------------------------- */

#define COLUMNS(columns) columns, sizeof(columns) / sizeof((columns)[0])

static const struct {
    rk_document_kind kind;
    const rk_table_column *columns;
    size_t column_count;
    rk_status (*add)(rk_table *table, const char *name, rk_error *err);
} lists[] = {
    [LIST_MODELS] = {RK_DOCUMENT_MODEL, COLUMNS(model_columns), add_model},
    [LIST_SYSTEMS] = {RK_DOCUMENT_SYSTEM, COLUMNS(system_columns), add_system},
    [LIST_ACCELERATORS] = {RK_DOCUMENT_ACCELERATOR, COLUMNS(accelerator_columns), add_accelerator},
    [LIST_STACKS] = {RK_DOCUMENT_STACK, COLUMNS(stack_columns), add_stack},
    [LIST_APPLICATIONS] = {RK_DOCUMENT_CALCULON_APP, COLUMNS(application_columns), add_application},
    [LIST_CALCULON_SYSTEMS] = {RK_DOCUMENT_CALCULON_SYS, COLUMNS(calculon_system_columns),
                               add_calculon_system},
};

static rk_status write_list(FILE *to, int what, rk_table_style style, rk_error *err)
{
    rk_table table;
    rk_status status = RK_OK;
    const char *folder = rk_document_folders[lists[what].kind];
    rk_table_init(&table, lists[what].columns, lists[what].column_count);
    for (size_t i = 0; i < rk_catalogue_count && !status; i++) {
        if (strcmp(rk_catalogue[i].kind, folder) == 0) {
            status = lists[what].add(&table, rk_catalogue[i].name, err);
        }
    }
    if (!status) {
        status = rk_write_table(to, &table, style, err);
    }
    rk_table_clear(&table);
    return status;
}

static rk_status write_lists(FILE *to, const void *what, rk_table_style style, int width,
                             rk_error *err)
{
    const list_arguments *args = what;
    rk_status status = RK_OK;
    (void)width;
    for (int i = 0; i < LIST_ALL && !status; i++) {
        if (args->what == i || args->what == LIST_ALL) {
            status = write_list(to, i, style, err);
            (void)fputs(args->what == LIST_ALL && i + 1 < LIST_ALL ? "\n" : "", to);
        }
    }
    return status;
}

static void init_list(void *arguments)
{
    ((list_arguments *)arguments)->what = LIST_ALL;
}

static rk_status run_list(rk_job *job, void *arguments, rk_error *err)
{
    rk_job_set_found(job, true);
    return rk_job_print(job, "-", write_lists, arguments, err);
}

const rk_command rk_command_list = {
    .name = "list",
    .purpose = "List the catalogue: models, systems, accelerators, stacks",
    .options = list_options,
    .option_count = sizeof(list_options) / sizeof(list_options[0]),
    .notes = "'reckon show NAME' prints one of them.",
    .size = sizeof(list_arguments),
    .init = init_list,
    .run = run_list,
};
