/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application and execution documents of the Calculon methodology, and loading all three.
 * Documents that crash the published tool while it loads them are refused with a reason; numbers
 * are bounded so that no later arithmetic on them overflows unnoticed.
 */
#include "calculon/calculon_docs.h"

#include "base/error.h"
#include "base/units.h"
#include "calculon/execution.h"
#include "io/json_memory.h"

#include <string.h>

#define DEGREE_MOST 0x1p31 /* processors along a dimension */

const char *const rk_datatype_names[] = {"float8", "float16", "bfloat16", "float32", NULL};
const char *const rk_attention_names[] = {"multihead", "multiquery", NULL};
const char *const rk_recompute_names[] = {"full", "attn_only", "none", NULL};
const char *const rk_tp_comm_names[] = {"ar", "p2p_rs_ag", "rs_ag", NULL};
const char *const rk_tp_overlap_names[] = {"none", "ring", "pipe", NULL};

/* ---- application ------------------------------------------------------------------------ */

#define APP_SIZE(key, text)                                                                        \
    RK_FIELD(#key, INT, offsetof(rk_calculon_app, key), .min = 1, .max = RK_DOCUMENT_COUNT_MAX,    \
             .help = text)

static const rk_field app_fields[] = {
    APP_SIZE(hidden, "width of the residual stream, elements"),
    APP_SIZE(feedforward, "inner width of the MLP, elements"),
    APP_SIZE(seq_size, "tokens per sequence"),
    APP_SIZE(attn_heads, "attention heads"),
    APP_SIZE(attn_size, "elements per attention head"),
    APP_SIZE(num_blocks, "transformer blocks"),
};

rk_status rk_calculon_app_from_json(const json_t *object, bool lenient, rk_calculon_app *app,
                                    rk_error *err)
{
    memset(app, 0, sizeof(*app));
    return rk_fields_read(object, "", app_fields, COUNT(app_fields),
                          lenient ? RK_UNKNOWN_IGNORE : RK_UNKNOWN_REFUSE, app, err);
}

/* ---- execution -------------------------------------------------------------------------- */

#define EXE_INT(key, least, most, text)                                                            \
    RK_FIELD(#key, INT, offsetof(rk_calculon_exe, key), .min = least, .max = most, .help = text)
#define EXE_ENUM(key, values, text)                                                                \
    RK_FIELD(#key, ENUM, offsetof(rk_calculon_exe, key), .names = values, .help = text)
#define EXE_BOOL(key, text) RK_FIELD(#key, BOOL, offsetof(rk_calculon_exe, key), .help = text)

const rk_field rk_calculon_exe_fields[RK_CALCULON_EXE_FIELD_COUNT] = {
    EXE_INT(num_procs, 1, DEGREE_MOST, "processors in all"),
    EXE_INT(tensor_par, 1, DEGREE_MOST, "tensor parallelism"),
    EXE_INT(pipeline_par, 1, DEGREE_MOST, "pipeline parallelism"),
    EXE_INT(data_par, 1, DEGREE_MOST, "data parallelism"),
    EXE_INT(tensor_par_net, 0, RK_NETWORK_MAX - 1, "network tier of tensor parallelism"),
    EXE_INT(pipeline_par_net, 0, RK_NETWORK_MAX - 1, "network tier of pipeline parallelism"),
    EXE_INT(data_par_net, 0, RK_NETWORK_MAX - 1, "network tier of data parallelism"),
    EXE_INT(batch_size, 1, RK_DOCUMENT_COUNT_MAX, "sequences per step"),
    EXE_INT(microbatch_size, 1, RK_DOCUMENT_COUNT_MAX, "sequences per microbatch"),
    EXE_ENUM(datatype, rk_datatype_names, "of weights, activations and messages"),
    EXE_BOOL(fused_activation, "GeLU is fused and stores nothing"),
    EXE_ENUM(attention_type, rk_attention_names, "heads of keys and values"),
    EXE_ENUM(activation_recompute, rk_recompute_names, "what the backward pass computes again"),
    EXE_INT(pipeline_interleaving, 1, DEGREE_MOST, "chunks of blocks per processor"),
    EXE_BOOL(optimizer_sharding, "optimizer state is split over data parallelism"),
    EXE_ENUM(tensor_par_comm_type, rk_tp_comm_names, "collectives of tensor parallelism"),
    EXE_ENUM(tensor_par_overlap, rk_tp_overlap_names, "overlap of tensor parallel messages"),
    EXE_BOOL(seq_par_ag_redo, "all-gathers are repeated in the backward pass"),
    EXE_BOOL(data_par_overlap, "gradient messages overlap with the backward pass"),
    EXE_BOOL(weight_offload, "weights live in the second memory"),
    EXE_BOOL(activations_offload, "activations live in the second memory"),
    EXE_BOOL(optimizer_offload, "optimizer state lives in the second memory"),
    EXE_BOOL(training, "forward and backward; otherwise inference"),
};

/* Whether the datatype is a string, but none of the four. */
static bool has_unknown_datatype(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "datatype"));
    for (size_t i = 0; name && rk_datatype_names[i]; i++) {
        if (strcmp(name, rk_datatype_names[i]) == 0) {
            return false;
        }
    }
    return name != NULL;
}

rk_status rk_calculon_exe_from_json(const json_t *object, rk_calculon_exe *exe, rk_error *err)
{
    json_t *readable = NULL;
    memset(exe, 0, sizeof(*exe));
    /* The published tool looks at the name of the datatype after the networks: see evaluate.c. */
    const bool unknown = has_unknown_datatype(object);
    if (unknown) {
        readable = rk_json_copy(object);
        if (json_object_set_new(readable, "datatype", json_string(rk_datatype_names[0]))) {
            json_decref(readable);
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the document");
        }
    }
    rk_status status = rk_fields_read(unknown ? readable : object, "", rk_calculon_exe_fields,
                                      RK_CALCULON_EXE_FIELD_COUNT, RK_UNKNOWN_NEVER, exe, err);
    json_decref(readable);
    if (unknown) {
        exe->datatype = RK_DATATYPE_UNKNOWN;
    }
    return status ? status : rk_calculon_exe_check(exe, err);
}

json_t *rk_calculon_exe_to_json(const rk_calculon_exe *exe)
{
    return rk_fields_write(rk_calculon_exe_fields, RK_CALCULON_EXE_FIELD_COUNT, exe);
}

/* ---- files and catalogue ---------------------------------------------------------------- */

/* Ends the reading of a document: names it in an error and releases it. */
static rk_status finish(rk_status status, rk_json_doc *doc, rk_error *err)
{
    rk_error_set_file(status ? err : NULL, doc->name);
    rk_json_clear(doc);
    return status;
}

rk_status rk_calculon_app_load(const char *name, bool lenient, rk_calculon_app *app, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "calculon/applications", &doc, err);
    return status ? status
                  : finish(rk_calculon_app_from_json(doc.root, lenient, app, err), &doc, err);
}

rk_status rk_calculon_sys_load(const char *name, bool lenient, rk_calculon_sys *sys, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "calculon/systems", &doc, err);
    return status ? status
                  : finish(rk_calculon_sys_from_json(doc.root, lenient, sys, err), &doc, err);
}

rk_status rk_calculon_exe_load(const char *name, rk_calculon_exe *exe, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, NULL, &doc, err);
    return status ? status : finish(rk_calculon_exe_from_json(doc.root, exe, err), &doc, err);
}
