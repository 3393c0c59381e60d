/* SPDX-License-Identifier: Apache-2.0 */
/* How many tokens a run trains on, and the batch that suits them. */
#include "command/whole_run.h"

#include "base/error.h"
#include "request/sizes.h"

rk_status rk_run_tokens(const rk_run_args *args, const rk_model *model, double *tokens,
                        rk_error *err)
{
    rk_loss_law law;
    *tokens = args->tokens;
    if (!(args->loss > 0)) {
        return RK_OK;
    }
    const rk_status status =
        rk_loss_law_load(args->law ? args->law : "chinchilla-refit", &law, err);
    return status ? status
                  : rk_loss_tokens(&law, rk_loss_parameters(&law, model), args->loss, tokens, err);
}

rk_status rk_run_settle_batch(rk_run_args *args, const rk_model *model, rk_error *err)
{
    rk_request *r = &args->request;
    rk_batch_law law;
    double tokens;
    rk_status status = rk_run_tokens(args, model, &tokens, err);
    if (status || !r->assumed_batch || !(tokens > 0)) {
        return status;
    }
    status = rk_batch_law_load("step-law", &law, err);
    if (!status) {
        const int64_t micro_batch = r->micro_batch.count == 1 ? r->micro_batch.values[0] : 1;
        r->run_tokens = tokens;
        r->global_batch =
            rk_global_batch_near(r->accelerators, micro_batch, r->seq > 0 ? r->seq : model->seq,
                                 rk_batch_critical(&law, tokens, 0));
    }
    return status;
}
