/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as rules of sources: good ones say what a row is, or what is wrong with it. */
#include "evidence/runs.h"

#include <math.h>
#include <string.h>

#include "input_file.h"

/* A row as collections print it. */
static const char table_text[] =
    "id,part,source,commit_or_version,model,layers,hidden,ffn,heads,kv_heads,head_dim"
    ",vocab,seq,moe_experts,moe_topk,moe_ffn,shared_experts,accelerator,n_accel,gpus_"
    "per_node,tp,pp,vpp,cp,ep,etp,dp,mbs,gbs,seq_parallel,recompute,zero_or_fsdp,prec"
    "ision,other_flags,outcome,step_time_s,tokens_per_s_per_gpu,tflops_per_gpu,mfu,pe"
    "ak_mem_gib,interconnect,year,tier,split,notes\nhf_playbook-0052,hf_playbook,Huggi"
    "ngFace nanotron Ultra-Scale Playbook benchmark CSV (copy stored in nanocad-lab/R"
    "apid-LLM),317a2cbd54ae,Llama-like 1.34B,16,2048,8192,32,32,64,131072,4096,,,,,H1"
    "00-SXM-80GB,128,8,2,1,1,1,,,64,4,256,True,none,ZeRO-0,BF16,\"1F1B (all-forward/on"
    "e-forward-one-backward nanotron engine); tp_linear_async_communication=True; RED"
    "UCE_SCATTER TP mode (sequence parallel); DDP bucket 25.0 MB; accumulate_grad_in_"
    "fp32=True; tied embeddings=True; grad accumulation 1; rank order TP innermost, t"
    "hen DP, then PP; net_regime=fast\",,0.2714,30186.12,291.71,0.29495,38.84,\"HF scie"
    "nce cluster: NVLink 4 intra-node, AWS EFA 3200 Gb/s per node inter-node (not sta"
    "ted in the CSV)\",2025,A,fit,job 13502252; 'Mem Alloc (GB)' 12.7; local params 67"
    "1M; after_pp_fix=False. recompute: nanotron default recompute_layer=False (colum"
    "n absent from the CSV). mfu here = mTFLOPs/989; the CSV's own mfu column (29.455"
    "%) counts tied embeddings twice under PP. AR/AG/RS bus GB/s measured at job star"
    "t: 175.37/127.74/122.09.\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rk_run_case run;
    rk_run_sources sources;
    rk_run_table table;
    rk_error err;
    const char *path = write_input(data, size, ".json");
    rk_status status = rk_run_sources_load(path, &sources, &err);
    (void)unlink(path);
    if (status) {
        require_sound_error(&err, status);
        REQUIRE(!sources.document && !sources.rules);
        return 0;
    }
    status = rk_run_table_parse(table_text, strlen(table_text), "table", &table, &err);
    if (status == RK_OK) {
        status = rk_run_case_fill(&sources, &table, 0, &run, &err);
        if (status == RK_OK) {
            rk_run_prediction p;
            (void)rk_run_predict(&sources, &run, NULL, NULL, &p, NULL);
            REQUIRE(isfinite(p.estimate.step) && isfinite(p.memory));
        }
        rk_run_table_clear(&table);
    }
    if (status) {
        require_sound_error(&err, status);
    }
    rk_run_sources_clear(&sources);
    return 0;
}
