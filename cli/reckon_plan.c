/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan`: the command, by the reckon model or by the Calculon methodology. */
#include "cli/reckon_plan.h"

#include "cli/commands.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/team.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "work/share.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKED 1000
const char *const rk_reckon_plan_methods[] = {"reckon", "calculon", NULL};

static const rk_option plan_options[] = {
    {.name = "top",
     .letter = 'n',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(rk_request, top),
     .min = 1,
     .max = MOST_RANKED,
     .value = "N",
     .help = "strategies to show; default: 5"},
    {.name = "bounded",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, bounded),
     .help = "settle most strategies by bounds, without evaluating them; same answer.  Default "
             "for large spaces"},
    {.name = "exhaustive",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, exhaustive),
     .help = "look at every strategy, and count those that are legal and fit"},
    RK_OPTION_EMIT,
    RK_OPTIONS_OF_SEARCH,
};

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_reckoning *plan = what;
    rk_search_write_json(writer, plan);
    if (plan->answer_count == 0) {
        rk_shortage_write_json(writer, plan);
    }
    rk_json_open_member(writer, "strategies", "[");
    for (size_t i = 0; i < plan->answer_count; i++) {
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_answer_write_json(writer, &plan->answers[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

rk_status rk_reckoning_write(const rk_reckoning *plan, rk_error *err)
{
    const rk_request *request = plan->request;
    if (request->emit >= 0) { /* a file that says why there is no plan would be run as a script */
        return plan->answer_count > 0
                   ? rk_write_launch(request, plan->inputs, &plan->answers[0], err)
                   : rk_reckoning_write_text(stderr, plan, RK_TABLE_PLAIN, 80, err);
    }
    if (request->json) {
        return rk_write_document(request, plan->inputs, write_members, plan, err);
    }
    return request->csv ? rk_write_rows(request, plan->answers, plan->answer_count, err)
                        : rk_print_text(request->output, rk_reckoning_write_text, plan, err);
}

static int run_reckon(int argc, char **argv)
{
    rk_request request = rk_request_defaults();
    rk_inputs inputs;
    rk_reckoning plan = {0};
    rk_error err;
    int result = rk_request_parse(&rk_command_plan, argc, argv, &request);
    if (result != RK_PARSED) {
        return result;
    }
    rk_status status = rk_request_load(&request, &inputs, &err);
    if (status) {
        rk_share_leave(rk_team_joined(), &err);
    } else {
        status = rk_reckoning_search(&request, &inputs, (size_t)request.top, &plan, &err);
    }
    if (!status && rk_team_is_first()) {
        rk_team_report(&rk_command_plan);
        status = rk_reckoning_write(&plan, &err);
    }
    result = rk_command_end(&rk_command_plan, status, plan.answer_count > 0, &err);
    rk_reckoning_clear(&plan);
    rk_inputs_clear(&inputs);
    return result;
}

/* ---- which method --------------------------------------------------------------------------- */

/* The value of an option that is given as "--name value" or "--name=value"; NULL: it is not. */
static const char *find_value(int argc, char **argv, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') {
            return argv[i] + length + 1;
        }
        if (strcmp(argv[i], name) == 0 && i + 1 < argc) {
            return argv[i + 1];
        }
    }
    return NULL;
}

/* Whether a document is one of Calculon's; what cannot be read is not, but for want of memory. */
static rk_status identify_calculon(const char *name, rk_document_kind kind, bool *calculon,
                                   rk_error *err)
{
    rk_document_kind found;
    const rk_status status = name ? rk_document_identify(name, &found, err) : RK_ERR_INVALID;
    *calculon = *calculon || (status == RK_OK && found == kind);
    return status == RK_ERR_MEMORY ? status : RK_OK;
}

int rk_run_by_method(const rk_command *command, int argc, char **argv,
                     int (*calculon)(int argc, char **argv), int (*reckon)(int argc, char **argv))
{
    const char *method = find_value(argc, argv, "--method");
    bool wanted = method && strcmp(method, "calculon") == 0;
    rk_error err;
    if (!method && (identify_calculon(find_value(argc, argv, "--model"), RK_DOCUMENT_CALCULON_APP,
                                      &wanted, &err) ||
                    identify_calculon(find_value(argc, argv, "--system"), RK_DOCUMENT_CALCULON_SYS,
                                      &wanted, &err))) {
        return rk_command_fail_error(command, &err);
    }
    return wanted ? calculon(argc, argv) : reckon(argc, argv);
}

static int run_plan(int argc, char **argv)
{
    const int done = rk_team_join(&rk_command_plan);
    if (done != RK_PARSED) {
        return done;
    }
    return rk_run_by_method(&rk_command_plan, argc, argv, rk_calculon_plan_run, run_reckon);
}

const rk_command rk_command_plan = {
    .name = "plan",
    .purpose = "Find the best strategies to train a model on a system",
    .options = plan_options,
    .option_count = sizeof(plan_options) / sizeof(plan_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes = "Degrees may be lists: --tp 4,8.  Numbers may end in k, M, G, B, T (powers of 1000; B "
             "is a billion)\nor Ki, Mi, Gi, Ti (of 1024).  Exit status: 0 done, 1 no strategy "
             "fits, 2 wrong usage or input.\n\nDocuments of Calculon are planned by its "
             "methodology, whose options "
             "'reckon plan --method calculon\n--help' lists.\n\n"
             "example: reckon plan --model llama3.1-405b --system h100-roce-24k \\\n"
             "             --accelerators 16384 --global-batch 2048",
    .run = run_plan,
};
