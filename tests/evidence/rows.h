/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table in the text of a test. */
#ifndef TESTS_ROWS_H
#define TESTS_ROWS_H

#include "runs_test.h"

#include <stdio.h>

#define COLUMNS                                                                                    \
    "id,part,model,layers,hidden,ffn,heads,vocab,seq,accelerator,n_accel,tp,pp,vpp,dp,mbs,gbs,"    \
    "recompute,sharding,precision,step_time_s,tokens_per_s_per_gpu,peak_mem_gib"
#define EXPERTS COLUMNS ",moe_experts,moe_topk,mfu,flop_convention,shared_experts"
#define MODEL   "llama,32,4096,11008,32,32000,4096,"
#define SHAPE   MODEL "H100,"

static rk_run_sources sources;

/* Set up and take down the group of tests. */
static inline int load_sources(void **state)
{
    rk_error err;
    (void)state;
    return rk_run_sources_load(NULL, &sources, &err) ? -1 : 0;
}

static inline int clear_sources(void **state)
{
    (void)state;
    rk_run_sources_clear(&sources);
    return 0;
}

static inline rk_status fill_under(const char *header, const char *row, rk_run_case *run,
                                   rk_error *err)
{
    char text[1024];
    rk_run_table table;
    (void)snprintf(text, sizeof(text), "%s\n%s", header, row);
    assert_int_equal(rk_run_table_parse(text, strlen(text), "test.csv", &table, err), RK_OK);
    assert_int_equal(rk_run_sources_add(&sources, &table, err), RK_OK);
    const rk_status status = rk_run_case_fill(&sources, &table, 0, run, err);
    rk_run_table_clear(&table);
    return status;
}

/* Fills a run from a row that is printed by a format under a header. */
__attribute__((format(printf, 3, 4))) static inline void
fill_printed(const char *header, rk_run_case *run, const char *format, ...)
{
    rk_error err;
    char row[256];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(row, sizeof(row), format, words);
    va_end(words);
    if (fill_under(header, row, run, &err)) {
        fail_msg("%s: %s", row, err.message);
    }
}

/* A row with the year and the framework. */
static inline rk_status fill_framework(const char *row, rk_run_case *run, rk_error *err)
{
    return fill_under(COLUMNS ",year,framework", row, run, err);
}

#endif
