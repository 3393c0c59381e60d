/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon show`: one document in words, and as it stands in the catalogue. */
#include "cli/commands.h"

#include "base/text.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "layer/model_load.h"
#include "report/describe.h"
#include "stack/stack.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct show_arguments {
    const char *name;
    bool json;
} show_arguments;

static const rk_option show_options[] = {
    {.name = "name",
     .positional = true,
     .required = true,
     .offset = offsetof(show_arguments, name),
     .value = "NAME|FILE",
     .catalogue = "",
     .help = "a model, a system, an accelerator, a stack or an execution"},
    {.name = "json",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(show_arguments, json),
     .help = "print only the document, as a start for one of your own"},
};

static void print_line(const char *label, const char *words)
{
    (void)printf("%-10s%s\n", label, words);
}

static rk_status show_app(const char *name, rk_error *err)
{
    rk_calculon_app app;
    char words[RK_WORDS_SIZE], parameters[RK_NUMBER_TEXT_SIZE];
    const rk_status status = rk_calculon_app_load(name, false, &app, err);
    if (!status) {
        (void)rk_human_text(rk_calculon_parameters(&app), RK_HUMAN_BASE10, parameters);
        (void)printf("model     %s, %s parameters\n", name, parameters);
        print_line("", rk_describe_app(&app, words));
    }
    return status;
}

static rk_status show_sys(const char *name, rk_error *err)
{
    rk_calculon_sys sys;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_calculon_sys_load(name, false, &sys, err);
    if (status) {
        return status;
    }
    print_line("system", name);
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        if (sys.matrix[i].present && sys.vector[i].present) {
            print_line("", rk_describe_engines(&sys, (rk_datatype)i, words));
        }
    }
    print_line("memory", rk_describe_memory(&sys, words));
    print_line("networks", rk_describe_networks(&sys, words));
    print_line("compute", sys.roofline ? "overlaps with memory access (roofline)"
                                       : "adds up with memory access");
    return RK_OK;
}

static rk_status show_exe(const char *name, rk_error *err)
{
    rk_calculon_exe exe;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_calculon_exe_load(name, &exe, err);
    if (!status) {
        print_line("execution", name);
        print_line("", rk_describe_exe(&exe, words));
    }
    return status;
}

static rk_status show_model(const char *name, rk_error *err)
{
    rk_model model;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_model_load(name, &model, err);
    if (status) {
        return status;
    }
    print_line("model", name);
    print_line("", rk_describe_model(&model, words));
    for (int i = 0; i < RK_FLOP_CONVENTION_COUNT; i++) {
        (void)printf("%-10s%.5g GFLOP a token of %" PRId64 ", counted as %s does\n",
                     i ? "" : "training",
                     rk_model_flops_per_token(&model, model.seq, (rk_flop_convention)i) / 1e9,
                     model.seq, rk_flop_convention_names[i]);
    }
    return RK_OK;
}

static rk_status show_system(const char *name, rk_error *err)
{
    rk_system system;
    char words[RK_WORDS_SIZE];
    const rk_status status = rk_system_load(name, &system, err);
    if (!status) {
        const rk_accelerator *a = &system.accelerator;
        print_line("system", name);
        (void)printf("%-10s%s: dense TFLOP/s %s\n", "", a->name, rk_describe_matrix(a, words));
        (void)printf("%-10s%.1f GiB to use, %.0f GB/s; host %.0f GiB at %.0f GB/s\n", "memory",
                     a->memory_usable / 0x1p30, a->memory_bandwidth / 1e9,
                     a->host_capacity / 0x1p30, a->host_bandwidth / 1e9);
        (void)printf("%-10s%s GB/s each way\n", "network", rk_describe_tiers(&system, words));
        if (a->measured) {
            print_line("measured", rk_describe_measured(a, words));
        }
        rk_system_clear(&system);
    }
    return status;
}

static rk_status show_stack(const char *name, rk_error *err)
{
    rk_stack stack;
    char words[RK_WORDS_SIZE];
    rk_status status = rk_stack_load(name, &stack, err);
    if (!status) {
        status = rk_document_description(name, RK_DOCUMENT_STACK, words, sizeof(words), err);
    }
    if (!status) {
        print_line("stack", name);
        print_line("", words);
    }
    return status;
}

static rk_status (*const show_kind[])(const char *name, rk_error *err) = {
    [RK_DOCUMENT_CALCULON_APP] = show_app,   [RK_DOCUMENT_CALCULON_SYS] = show_sys,
    [RK_DOCUMENT_CALCULON_EXE] = show_exe,   [RK_DOCUMENT_MODEL] = show_model,
    [RK_DOCUMENT_ACCELERATOR] = show_system, [RK_DOCUMENT_SYSTEM] = show_system,
    [RK_DOCUMENT_STACK] = show_stack,
};

static int run_show(int argc, char **argv)
{
    show_arguments arguments = {0};
    rk_document_kind kind;
    rk_error err;
    const int done = rk_options_parse(&rk_command_show, argc, argv, &arguments);
    if (done != RK_PARSED) {
        return done;
    }
    if (rk_document_identify(arguments.name, &kind, &err)) {
        return rk_command_fail_error(&rk_command_show, &err);
    }
    const char *folder = rk_document_folders[kind];
    const rk_catalogue_entry *entry = folder ? rk_catalogue_find(folder, arguments.name) : NULL;
    if (arguments.json && !entry) {
        return rk_command_fail(&rk_command_show,
                               "--json prints documents of the catalogue; %s is a file already",
                               arguments.name);
    }
    if (!arguments.json && show_kind[kind](arguments.name, &err)) {
        return rk_command_fail_error(&rk_command_show, &err);
    }
    if (entry) {
        (void)fputs(arguments.json ? "" : "\n", stdout);
        (void)fwrite(entry->text, 1, entry->size, stdout);
        (void)fputs(entry->size && entry->text[entry->size - 1] == '\n' ? "" : "\n", stdout);
    }
    return RK_EXIT_DONE;
}

const rk_command rk_command_show = {
    .name = "show",
    .purpose = "Explain a document and check it; print it when it is in the catalogue",
    .options = show_options,
    .option_count = sizeof(show_options) / sizeof(show_options[0]),
    .run = run_show,
};
