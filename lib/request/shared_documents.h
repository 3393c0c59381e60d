/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What questions read from the catalogue, kept for those after them: models, systems, and the
 * software of a wish.  Files and JSON texts are read every time, as they may change.
 */
#ifndef RK_REQUEST_SHARED_DOCUMENTS_H
#define RK_REQUEST_SHARED_DOCUMENTS_H

#include "framework/software_choice.h"
#include "layer/model_load.h"
#include "reckon/command.h"

/* As rk_model_load, rk_system_load and rk_software_choose; `documents` may be NULL: none are kept.
 */
rk_status rk_documents_model(rk_documents *documents, const char *name, rk_model *model,
                             rk_error *err);
rk_status rk_documents_system(rk_documents *documents, const char *name, rk_system *system,
                              rk_error *err);
rk_status rk_documents_software(rk_documents *documents, const rk_software_request *wish,
                                const rk_accelerator *accelerator, rk_software *software,
                                rk_error *err);

#endif
