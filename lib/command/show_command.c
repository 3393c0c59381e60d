/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon show`: one document in words, and its JSON text from the catalogue. */
#include "command/commands.h"

#include "base/error.h"
#include "base/text.h"
#include "base/text_stream.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "io/json.h"
#include "layer/model_load.h"
#include "method/describe.h"
#include "stack/stack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct show_arguments {
    const char *name;
    bool json;
} show_arguments;

static const rk_option show_options[] = {
    RK_OPTION("name", TEXT, offsetof(show_arguments, name), .positional = true, .required = true,
              .value = "NAME|FILE", .catalogue = "",
              .help = "a model, a system, an accelerator, a stack or an execution"),
    RK_OPTION("json", FLAG, offsetof(show_arguments, json),
              .help = "print only the document, to start your own from"),
};

static void write_line(FILE *to, const char *label, const char *words)
{
    (void)fprintf(to, "%-10s%s\n", label, words);
}

static rk_status show_app(FILE *to, const char *name, rk_error *err)
{
    rk_calculon_app app;
    char words[RK_WORDS_SIZE], parameters[RK_NUMBER_TEXT_SIZE];
    const rk_status status = rk_calculon_app_load(name, false, &app, err);
    if (!status) {
        (void)rk_human_text(rk_calculon_parameters(&app), RK_HUMAN_BASE10, parameters);
        (void)fprintf(to, "model     %s, %s parameters\n", name, parameters);
        write_line(to, "", rk_describe_app(&app, words));
    }
    return status;
}

static rk_status show_sys(FILE *to, const char *name, rk_error *err)
{
    rk_calculon_sys sys;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_calculon_sys_load(name, false, &sys, err);
    if (status) {
        return status;
    }
    write_line(to, "system", name);
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        if (sys.matrix[i].present && sys.vector[i].present) {
            write_line(to, "", rk_describe_engines(&sys, (rk_datatype)i, words));
        }
    }
    write_line(to, "memory", rk_describe_memory(&sys, words));
    write_line(to, "networks", rk_describe_networks(&sys, words));
    write_line(to, "compute",
               sys.roofline ? "overlaps with memory access (roofline)"
                            : "adds up with memory access");
    return RK_OK;
}

static rk_status show_exe(FILE *to, const char *name, rk_error *err)
{
    rk_calculon_exe exe;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_calculon_exe_load(name, &exe, err);
    if (!status) {
        write_line(to, "execution", name);
        write_line(to, "", rk_describe_exe(&exe, words));
    }
    return status;
}

static rk_status show_model(FILE *to, const char *name, rk_error *err)
{
    rk_model model;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_model_load(name, &model, err);
    if (status) {
        return status;
    }
    write_line(to, "model", name);
    write_line(to, "", rk_describe_model(&model, words));
    if (model.note[0]) {
        write_line(to, "note", model.note);
    }
    for (int i = 0; i < RK_FLOP_CONVENTION_COUNT; i++) {
        (void)fprintf(to, "%-10s%.5g GFLOP per token of %" PRId64 ", FLOP convention: %s\n",
                      i ? "" : "training",
                      rk_model_flops_per_token(&model, model.seq, (rk_flop_convention)i) / 1e9,
                      model.seq, rk_flop_convention_names[i]);
    }
    return RK_OK;
}

static rk_status show_system(FILE *to, const char *name, rk_error *err)
{
    rk_system system;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_system_load(name, &system, err);
    if (!status) {
        const rk_accelerator *a = &system.accelerator;
        write_line(to, "system", name);
        (void)fprintf(to, "%-10s%s: dense TFLOP/s %s\n", "", a->name, rk_describe_matrix(a, words));
        (void)fprintf(to, "%-10s%.1f GiB to use, %.0f GB/s; host %.0f GiB at %.0f GB/s\n", "memory",
                      a->memory_usable / GIB, a->memory_bandwidth / 1e9, a->host_capacity / GIB,
                      a->host_bandwidth / 1e9);
        (void)fprintf(to, "%-10s%s GB/s each way\n", "network", rk_describe_tiers(&system, words));
        if (a->measured) {
            write_line(to, "measured", rk_describe_measured(a, words));
        }
        rk_system_clear(&system);
    }
    return status;
}

static rk_status show_stack(FILE *to, const char *name, rk_error *err)
{
    rk_stack stack;
    char words[RK_WORDS_SIZE];
    rk_status status = rk_stack_load(name, &stack, err);
    if (!status) {
        status = rk_document_description(name, RK_DOCUMENT_STACK, words, sizeof(words), err);
    }
    if (!status) {
        write_line(to, "stack", name);
        write_line(to, "", words);
    }
    return status;
}

static rk_status (*const show_kind[])(FILE *to, const char *name, rk_error *err) = {
    [RK_DOCUMENT_CALCULON_APP] = show_app,   [RK_DOCUMENT_CALCULON_SYS] = show_sys,
    [RK_DOCUMENT_CALCULON_EXE] = show_exe,   [RK_DOCUMENT_MODEL] = show_model,
    [RK_DOCUMENT_ACCELERATOR] = show_system, [RK_DOCUMENT_SYSTEM] = show_system,
    [RK_DOCUMENT_STACK] = show_stack,
};

struct shown {
    const show_arguments *args;
    rk_document_kind kind;
    const rk_catalogue_entry *entry; /* NULL: a file */
};

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const struct shown *shown = what;
    (void)style;
    const rk_status status = show_kind[shown->kind](to, shown->args->name, err);
    if (!status && shown->entry) {
        (void)fputc('\n', to);
    }
    return status;
}

/* A document as it is, on a line of its own. */
static rk_status write_document(const rk_job *job, const char *text, size_t size, rk_error *err)
{
    assert(size > 0);
    rk_out *out;
    const rk_status status = rk_job_open(job, "-", &out, err);
    if (status) {
        return status;
    }
    rk_out_write(out, text, size);
    rk_out_text(out, size && text[size - 1] == '\n' ? "" : "\n");
    return rk_out_close(out, err);
}

/* The document of a file, which describing it has checked. */
static rk_status write_file(const rk_job *job, struct shown *shown, rk_error *err)
{
    rk_text_stream stream;
    char *text = NULL;
    size_t size;
    if (!rk_text_stream_open(&stream)) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a document");
    }
    rk_status status = write_text(stream.file, shown, (rk_table_style){0}, err);
    free(rk_text_stream_close(&stream, &size));
    status = status ? status : rk_json_read_text(shown->args->name, &text, &size, err);
    status = status ? status : write_document(job, text, size, err);
    free(text);
    return status;
}

static rk_status run_show(rk_job *job, void *arguments, rk_error *err)
{
    struct shown shown = {.args = arguments};
    const char *name = shown.args->name;
    const rk_status status = rk_document_identify(name, &shown.kind, err);
    if (status) {
        return status;
    }
    const char *folder = rk_document_folders[shown.kind];
    shown.entry = folder ? rk_catalogue_find(folder, name) : NULL;
    if (shown.args->json && !shown.entry) {
        rk_job_set_found(job, true);
        return write_file(job, &shown, err);
    }
    rk_job_set_found(job, true);
    const rk_status printed =
        shown.args->json ? RK_OK : rk_job_print(job, "-", write_text, &shown, err);
    return printed || !shown.entry ? printed
                                   : write_document(job, shown.entry->text, shown.entry->size, err);
}

const rk_command rk_command_show = {
    .name = "show",
    .purpose = "Describe and check a document, or print one of the catalogue",
    .options = show_options,
    .option_count = sizeof(show_options) / sizeof(show_options[0]),
    .size = sizeof(show_arguments),
    .run = run_show,
};
