/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that commands of the Calculon methodology share.  The struct of each begins with an
 * rk_calculon_request.
 */
#ifndef RK_COMMAND_CALCULON_OPTIONS_H
#define RK_COMMAND_CALCULON_OPTIONS_H

#include "calculon/calculon_docs.h"
#include "method/calculon_request.h"

#define RK_PLAN_PLACE(member) offsetof(rk_calculon_request, member)

#define RK_OPTION_APPLICATION                                                                      \
    {                                                                                              \
        .name = "model", .required = true, .offset = RK_PLAN_PLACE(model), .value = "NAME|FILE",   \
        .catalogue = "calculon/applications", .word = RK_WORD_MODEL,                               \
        .help = "the model: a name of 'reckon list calculon-models' or a .json file"               \
    }

#define RK_OPTION_SYSTEM                                                                           \
    {                                                                                              \
        .name = "system", .required = true, .offset = RK_PLAN_PLACE(system), .value = "NAME|FILE", \
        .catalogue = "calculon/systems", .word = RK_WORD_SYSTEM,                                   \
        .help = "the machine: a name of 'reckon list calculon-systems' or a .json file"            \
    }

#define RK_OPTION_PROCESSORS(required_)                                                            \
    RK_OPTION("processors", COUNT, RK_PLAN_PLACE(processors), .letter = 'p',                       \
              .required = required_, .min = 1, .max = INT64_MAX, .value = "N",                     \
              .word = RK_WORD_COUNT, .help = "processors to train on")

#define RK_OPTION_BATCH                                                                            \
    RK_OPTION("batch", COUNT, RK_PLAN_PLACE(batch), .letter = 'b', .required = true, .min = 1,     \
              .max = INT64_MAX, .value = "N", .help = "largest global batch, sequences")

#define RK_OPTION_METHOD                                                                           \
    RK_OPTION("method", CHOICE, RK_PLAN_PLACE(method), .choices = rk_calculon_methods,             \
              .value = "NAME", .help = "how to estimate")

#define RK_OPTION_DATATYPE                                                                         \
    RK_OPTION("datatype", CHOICE, RK_PLAN_PLACE(datatype), .choices = rk_datatype_names,           \
              .value = "NAME", .help = "precision; default: the smallest that the system has")

#define RK_OPTION_FUSED                                                                            \
    RK_OPTION("fused", CHOICE, RK_PLAN_PLACE(fused), .choices = rk_fused_names, .value = "WHICH",  \
              .help = "fused activation functions; default: true")

#define RK_OPTION_NO_TP_OVERLAP                                                                    \
    RK_OPTION("no-tp-overlap", FLAG, RK_PLAN_PLACE(no_tp_overlap),                                 \
              .help = "leave out overlap of tensor-parallel communication")

#define RK_OPTION_NO_DP_OVERLAP                                                                    \
    RK_OPTION("no-dp-overlap", FLAG, RK_PLAN_PLACE(no_dp_overlap),                                 \
              .help = "leave out overlap of data-parallel communication")

#define RK_OPTION_THREADS                                                                          \
    RK_OPTION("threads", COUNT, RK_PLAN_PLACE(threads), .letter = 't', .max = 4096, .value = "N",  \
              .help = "threads to use; default: one per core")

#define RK_OPTION_JSON RK_OPTION("json", FLAG, RK_PLAN_PLACE(json), .help = "write JSON")

#define RK_OPTION_CSV RK_OPTION("csv", FLAG, RK_PLAN_PLACE(csv), .help = "write the table as CSV")

#define RK_OPTION_OUTPUT                                                                           \
    {                                                                                              \
        .name = "output", .letter = 'o', .writes = true, .offset = RK_PLAN_PLACE(output),          \
        .value = "FILE", .help = "write to a file instead of standard output"                      \
    }

/* Options at the end of their lists. */
#define RK_OPTIONS_OF_CALCULON                                                                     \
    RK_OPTION_DATATYPE, RK_OPTION_FUSED, RK_OPTION_NO_TP_OVERLAP, RK_OPTION_NO_DP_OVERLAP,         \
        RK_OPTION_THREADS, RK_OPTION_JSON, RK_OPTION_CSV, RK_OPTION_OUTPUT

extern const char *const rk_calculon_methods[]; /* names of `method` */
extern const char *const rk_fused_names[];

#endif
