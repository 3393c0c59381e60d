/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon fit`: whether a strategy, or any, fits in memory, and if not what would make it. */
#include "cli/commands.h"
#include "cli/found.h"
#include "cli/progress.h"

static const rk_option fit_options[] = {
    {.name = "threads",
     .letter = 't',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(rk_request, threads),
     .max = 4096,
     .value = "N",
     .help = "of a search; one per core unless given"},
};

/* What was asked and what was found. */
struct fit {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_found found;
    rk_remedy remedy; /* of a strategy that was given and does not fit */
};

static bool fits(const struct fit *fit)
{
    const rk_answer *answer = rk_found_answer(&fit->found);
    return answer && answer->estimate.fits;
}

/* The strategy that the answer is about, or NULL: none is legal. */
static const rk_answer *answer_of(const struct fit *fit)
{
    const rk_answer *answer = rk_found_answer(&fit->found);
    const rk_reckoning *plan = &fit->found.plan;
    return answer ? answer : plan->has_nearest ? &plan->nearest : NULL;
}

static rk_status write_strategy(FILE *to, const struct fit *fit, rk_table_style style,
                                rk_error *err)
{
    const rk_answer *answer = answer_of(fit);
    if (fit->found.searched && !fits(fit)) {
        (void)fputc('\n', to);
        rk_write_shortage(to, &fit->found.plan);
    } else {
        rk_write_strategy(to, &answer->strategy);
        (void)fputc('\n', to);
        rk_write_summary(to, fit->inputs, answer);
    }
    if (!answer) {
        return RK_OK;
    }
    (void)fputc('\n', to);
    const rk_status status = rk_write_memory(to, answer, style, err);
    (void)fputc('\n', to);
    return status ? status : rk_write_stages(to, fit->inputs, answer, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, int width,
                            rk_error *err)
{
    const struct fit *fit = what;
    (void)width;
    rk_write_inputs(to, fit->request, fit->inputs);
    rk_write_found(to, &fit->found);
    const rk_status status = write_strategy(to, fit, style, err);
    if (!status && !fit->found.searched && !fits(fit)) {
        (void)fputc('\n', to);
        rk_write_remedy(to, &fit->found.given, &fit->remedy);
    }
    return status;
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const struct fit *fit = what;
    const rk_answer *answer = answer_of(fit);
    rk_json_flag(writer, "fits", fits(fit));
    rk_found_write_json(writer, &fit->found);
    if (fit->found.searched && !fits(fit)) {
        rk_shortage_write_json(writer, &fit->found.plan);
    } else {
        rk_json_real(writer, "left_bytes", answer->estimate.usable - answer->estimate.memory.total);
        rk_answer_write_json(writer, answer);
        if (!fits(fit)) {
            rk_remedy_write_json(writer, answer, &fit->remedy);
        }
    }
}

static rk_status write_answer(const struct fit *fit, rk_error *err)
{
    const rk_request *request = fit->request;
    const rk_answer *answer = answer_of(fit);
    if (request->json) {
        return rk_write_document(request, fit->inputs, write_members, fit, err);
    }
    return request->csv ? rk_write_rows(request, answer, answer ? 1 : 0, err)
                        : rk_print_text(request->output, write_text, fit, err);
}

static rk_status find_answer(struct fit *fit, rk_error *err)
{
    rk_status status = rk_found_fill(fit->request, fit->inputs, &fit->found, err);
    if (!status && !fit->found.searched && !fits(fit)) {
        const rk_setting setting = rk_setting_of(fit->request, fit->inputs);
        status = rk_remedy_find(&setting, &fit->found.given.strategy, &fit->remedy, err);
    }
    return status;
}

static int run_fit(int argc, char **argv)
{
    rk_request request = rk_request_defaults();
    rk_inputs inputs;
    rk_error err;
    int result = rk_request_parse(&rk_command_fit, argc, argv, &request);
    if (result != RK_PARSED) {
        return result;
    }
    struct fit fit = {.request = &request, .inputs = &inputs};
    rk_status status = rk_request_load(&request, &inputs, &err);
    if (!status) {
        status = find_answer(&fit, &err);
    }
    if (!status) {
        status = write_answer(&fit, &err);
    }
    result = rk_command_end(&rk_command_fit, status, fits(&fit), &err);
    rk_found_clear(&fit.found);
    rk_inputs_clear(&inputs);
    return result;
}

const rk_command rk_command_fit = {
    .name = "fit",
    .purpose = "Say whether a strategy, or any, fits in memory, and if not what would make it fit",
    .options = fit_options,
    .option_count = sizeof(fit_options) / sizeof(fit_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes =
        RK_NOTES_OF_CHOICES "Exit status: 0 it fits, 1 it does not, 2 wrong usage or input, or "
                            "a strategy that the framework refuses.\n\n"
                            "example: reckon fit --model llama3-70b --system dgx-h100-superpod \\\n"
                            "             --accelerators 16 --global-batch 128",
    .run = run_fit,
};
