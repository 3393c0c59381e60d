/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults and checks of the options of commands that support both methods. */
#include "command/question_args.h"

#include "base/error.h"
#include "job/output_form.h"

const char *const rk_request_methods[] = {"reckon", "calculon", NULL};
const char *const rk_calculon_methods[] = {"calculon", NULL};
const char *const rk_fused_names[] = {"true", "false", "both", NULL};

const rk_option rk_calculon_plan_options[RK_CALCULON_PLAN_OPTIONS] = {
    RK_OPTION_APPLICATION, RK_OPTION_SYSTEM,       RK_OPTION_PROCESSORS(true),
    RK_OPTION_BATCH,       RK_OPTIONS_OF_CALCULON,
};

void rk_question_args_reckon(void *arguments)
{
    rk_question_args *args = arguments;
    rk_request_init(&args->reckon);
    args->method = &rk_method_reckon;
}

void rk_question_args_calculon(void *arguments)
{
    rk_question_args *args = arguments;
    args->calculon = (rk_calculon_request){
        .top = RK_PLAN_TOP, .output = "-", .datatype = -1, .fused = RK_FUSED_TRUE};
    args->method = &rk_method_calculon;
}

static rk_status check_calculon(rk_calculon_request *r, rk_error *err)
{
    const rk_output output = {.path = r->output,
                              .json = &r->json,
                              .csv = &r->csv,
                              .html = true,
                              .message = RK_OUTPUT_MESSAGE};
    return r->json && r->csv ? rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other")
                             : rk_output_settle(&output, err);
}

rk_status rk_question_args_check(void *arguments, rk_error *err)
{
    rk_question_args *args = arguments;
    return args->method == &rk_method_calculon ? check_calculon(&args->calculon, err)
                                               : rk_request_finish(&args->reckon, err);
}
