/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon list`: the contents of the built-in catalogue. */
#include "command/commands.h"

#include "base/error.h"
#include "base/text.h"
#include "calculon/calculon_docs.h"
#include "io/catalogue.h"
#include "io/csv_in.h"
#include "io/document.h"
#include "io/json_write.h"
#include "layer/model_load.h"
#include "method/describe.h"
#include "model/model.h"
#include "stack/stack.h"

#include <assert.h>
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
    LIST_RUNS,
    LIST_ALIASES,
    LIST_ALL
};

typedef struct list_arguments {
    int what;
    bool json;
} list_arguments;

static const char *const list_choices[] = {
    "models",           "systems", "accelerators", "stacks", "calculon-models",
    "calculon-systems", "runs",    "aliases",      NULL,
};

static const rk_named_text list_synonyms[] = {
    {"gpus", "accelerators"},
    {"devices", "accelerators"},
    {"machines", "systems"},
    {"clusters", "systems"},
    {"software", "stacks"},
    {"frameworks", "stacks"},
    {NULL, NULL},
};

static const rk_option list_options[] = {
    RK_OPTION("what", CHOICE, offsetof(list_arguments, what), .positional = true,
              .choices = list_choices, .synonyms = list_synonyms, .value = "WHAT",
              .help = "list only these"),
    RK_OPTION("json", FLAG, offsetof(list_arguments, json),
              .help = "write the names and their aliases as JSON"),
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

/* ---- tables of measured runs, and other names ---------------------------------------------- */

static const rk_table_column run_columns[] = {{"table of runs", RK_ALIGN_LEFT},
                                              {"runs", RK_ALIGN_RIGHT}};

static rk_status add_runs(rk_table *table, const char *name, rk_error *err)
{
    rk_csv_in runs = {0};
    const rk_status status = rk_csv_load_named(name, "runs/tables", &runs, err);
    if (!status) {
        rk_table_cell(table, "%s", name);
        rk_table_cell(table, "%zu", runs.rows);
        rk_csv_in_clear(&runs);
    }
    return status;
}

static const rk_table_column alias_columns[] = {{"alias", RK_ALIGN_LEFT}, {"name", RK_ALIGN_LEFT}};

/* `kind` is a table of aliases: of models, accelerators or systems. */
static rk_status add_aliases(rk_table *table, const char *kind, rk_error *err)
{
    rk_csv_in aliases = {0};
    const rk_status status = rk_csv_load_named(kind, "aliases", &aliases, err);
    for (size_t row = 1; !status && row <= aliases.rows; row++) {
        rk_table_cell(table, "%s", aliases.cells[row * aliases.columns]);
        rk_table_cell(table, "%s", aliases.cells[row * aliases.columns + 1]);
    }
    rk_csv_in_clear(&aliases);
    return status;
}

/* ---- all lists ----------------------------------------------------------------------------- */

#define COLUMNS(columns) columns, sizeof(columns) / sizeof((columns)[0])

/* The catalogue folder of the entries of a list: `folder`, or else the folder of `kind`. */
static const struct {
    const char *folder;
    rk_document_kind kind;
    const rk_table_column *columns;
    size_t column_count;
    rk_status (*add)(rk_table *table, const char *name, rk_error *err);
} lists[] = {
    [LIST_MODELS] = {NULL, RK_DOCUMENT_MODEL, COLUMNS(model_columns), add_model},
    [LIST_SYSTEMS] = {NULL, RK_DOCUMENT_SYSTEM, COLUMNS(system_columns), add_system},
    [LIST_ACCELERATORS] = {NULL, RK_DOCUMENT_ACCELERATOR, COLUMNS(accelerator_columns),
                           add_accelerator},
    [LIST_STACKS] = {NULL, RK_DOCUMENT_STACK, COLUMNS(stack_columns), add_stack},
    [LIST_APPLICATIONS] = {NULL, RK_DOCUMENT_CALCULON_APP, COLUMNS(application_columns),
                           add_application},
    [LIST_CALCULON_SYSTEMS] = {NULL, RK_DOCUMENT_CALCULON_SYS, COLUMNS(calculon_system_columns),
                               add_calculon_system},
    [LIST_RUNS] = {"runs/tables", RK_DOCUMENT_MODEL, COLUMNS(run_columns), add_runs},
    [LIST_ALIASES] = {"aliases", RK_DOCUMENT_MODEL, COLUMNS(alias_columns), add_aliases},
};

/* Whether the i-th entry of the catalogue belongs to a list. */
static bool is_of(size_t i, int what)
{
    const char *folder =
        lists[what].folder ? lists[what].folder : rk_document_folders[lists[what].kind];
    return strcmp(rk_catalogue[i].kind, folder) == 0;
}

static rk_status write_list(FILE *to, int what, rk_table_style style, rk_error *err)
{
    assert(what >= 0 && what < LIST_ALL);
    rk_table table;
    rk_status status = RK_OK;
    rk_table_init(&table, lists[what].columns, lists[what].column_count);
    for (size_t i = 0; i < rk_catalogue_count && !status; i++) {
        if (is_of(i, what)) {
            status = lists[what].add(&table, rk_catalogue[i].name, err);
        }
    }
    if (!status) {
        status = rk_write_table(to, &table, style, err);
    }
    rk_table_clear(&table);
    return status;
}

static rk_status write_lists(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const list_arguments *args = what;
    rk_status status = RK_OK;
    for (int i = 0; i < LIST_ALL && !status; i++) {
        if (args->what == i || args->what == LIST_ALL) {
            status = write_list(to, i, style, err);
            (void)fputs(args->what == LIST_ALL && i + 1 < LIST_ALL ? "\n" : "", to);
        }
    }
    return status;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* The member "aliases" of a name; kinds without other names have none. */
static rk_status write_aliases(rk_json_writer *writer, int what, const char *name, rk_error *err)
{
    assert(what >= 0 && what < LIST_ALL);
    rk_csv_in aliases = {0};
    if (what != LIST_MODELS && what != LIST_SYSTEMS && what != LIST_ACCELERATORS) {
        return RK_OK;
    }
    const rk_status status = rk_csv_load_named(list_choices[what], "aliases", &aliases, err);
    rk_json_open_member(writer, "aliases", "[");
    for (size_t row = 1; !status && row <= aliases.rows; row++) {
        char **cells = &aliases.cells[row * aliases.columns];
        if (strcmp(cells[1], name) == 0) {
            char text[RK_WORDS_SIZE];
            (void)snprintf(text, sizeof(text), "\"%s\"", cells[0]);
            rk_json_item(writer);
            rk_json_value(writer, text);
        }
    }
    rk_json_close(writer, "]");
    rk_csv_in_clear(&aliases);
    return status;
}

static rk_status write_names(rk_json_writer *writer, int what, rk_error *err)
{
    rk_status status = RK_OK;
    rk_json_open_member(writer, list_choices[what], "[");
    for (size_t i = 0; i < rk_catalogue_count && !status; i++) {
        if (is_of(i, what)) {
            rk_json_item(writer);
            rk_json_open(writer, "{");
            rk_json_string(writer, "name", rk_catalogue[i].name);
            status = write_aliases(writer, what, rk_catalogue[i].name, err);
            rk_json_close(writer, "}");
        }
    }
    rk_json_close(writer, "]");
    return status;
}

static rk_status write_json(const rk_job *job, const list_arguments *args, rk_error *err)
{
    rk_out *out;
    rk_status status = rk_job_open(job, "-", &out, err);
    if (status) {
        return status;
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open_answer(&writer);
    for (int i = 0; i < LIST_ALIASES && !status; i++) {
        if (args->what == i || args->what == LIST_ALL) {
            status = write_names(&writer, i, err);
        }
    }
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    const rk_status closed = rk_out_close(out, status ? NULL : err);
    return status ? status : closed;
}

static rk_status complete_list(void *arguments, rk_error *err)
{
    const list_arguments *args = arguments;
    return args->json && args->what == LIST_ALIASES
               ? rk_fail(err, RK_ERR_INVALID,
                         "list --json has the aliases beside the names; leave out 'aliases'")
               : RK_OK;
}

static void init_list(void *arguments)
{
    ((list_arguments *)arguments)->what = LIST_ALL;
}

static rk_status run_list(rk_job *job, void *arguments, rk_error *err)
{
    rk_job_set_found(job, true);
    const list_arguments *args = arguments;
    return args->json ? write_json(job, args, err)
                      : rk_job_print(job, "-", write_lists, arguments, err);
}

const rk_command rk_command_list = {
    .name = "list",
    .purpose = "List the catalogue: models, systems, software, measured runs",
    .options = list_options,
    .option_count = sizeof(list_options) / sizeof(list_options[0]),
    .notes = "'reckon show NAME' prints one of them.",
    .size = sizeof(list_arguments),
    .init = init_list,
    .complete = complete_list,
    .run = run_list,
};
