/* SPDX-License-Identifier: Apache-2.0 */
/* What every rule says of a strategy that breaks it, whole. */
#include "breakages.h"

static const struct {
    const char *id, *message;
} expected[] = {
    {"zero", "every size must be from 1 to 2^30: tp 0, cp 1, pp 4, vp 1, dp 8, ep 1, etp 1, "
             "micro-batch 1, global batch 128, sequence 8192, replicas 1"},
    {"large", "every size must be from 1 to 2^30: tp 2, cp 1, pp 4, vp 1, dp 8, ep 1, etp 1, "
              "micro-batch 1, global batch 128, sequence 1099511627776, replicas 1"},
    {"negative", "every size must be from 1 to 2^30: tp 2, cp 1, pp 4, vp 1, dp 8, ep 1, etp 1, "
                 "micro-batch 1, global batch 128, sequence 8192, replicas -9223372036854775808"},
    {"accelerators", "tp 2 x cp 1 x pp 4 x dp 536870912 are more than 2^31 accelerators"},
    {"imbalance",
     "layers of stages and of recompute, the capacity factor, adapters and documents must be 0 or "
     "more, the imbalance 1 or more; adapters need linears outside routed experts"},
    {"adapters",
     "layers of stages and of recompute, the capacity factor, adapters and documents must be 0 or "
     "more, the imbalance 1 or more; adapters need linears outside routed experts"},
    {"document",
     "layers of stages and of recompute, the capacity factor, adapters and documents must be 0 or "
     "more, the imbalance 1 or more; adapters need linears outside routed experts"},
    {"batch", "the global batch 130 is not a multiple of 8 = micro-batch 1 x dp 8; nearest legal "
              "global batch: 128 or 136"},
    {"folding", "ep 12 x etp 1 does not divide the 16 ranks of a stage, tp 2 x cp 1 x dp 8; "
                "nearest legal ep: 8 or 16"},
    {"vp_alone", "vp 2 splits the stages of a pipeline, but pp is 1; nearest legal pp: 2"},
    {"gpipe_alone", "the schedule gpipe is that of a pipeline, but pp is 1; use 1f1b"},
    {"vp_plain", "vp 2 needs the schedule interleaved, not 1f1b; or use vp 1"},
    {"no_vp",
     "the schedule interleaved needs several chunks per rank, but vp is 1; nearest legal vp: 2"},
    {"gpipe", "megatron does not run the schedule gpipe; it runs 1f1b and interleaved"},
    {"zb_h1",
     "torchtitan does not run the schedule zb-h1; it runs gpipe, 1f1b, interleaved and zb-v"},
    {"chunks", "deepspeed does not run the schedule interleaved; it runs 1f1b"},
    {"odd_ranks",
     "the schedule dualpipe needs a multiple of 2 ranks, but pp is 5; nearest legal pp: 4 or 6"},
    {"borrowed", "a stage starts with layer 20, whose keys and values are those of a layer before "
                 "it; use stages that keep such layers together (pp 4, vp 1)"},
    {"blocks", "layer 1 borrows the weights of an earlier layer, so all layers must be on one "
               "stage; use pp 1, not 4; nearest legal pp: 1"},
    {"remainder", "interleaving needs a multiple of 4 = pp microbatches, not 18 (global batch "
                  "144); nearest legal global batch: 128 or 160"},
    {"few", "the schedule zb-v needs 7 microbatches or more, not 6 (global batch 48); nearest "
            "legal global batch: 56"},
    {"odd", "the schedule dualpipe needs a multiple of 2 microbatches, not 17 (global batch 136); "
            "nearest legal global batch: 128 or 144"},
    {"pipelined", "huggingface runs no pipelines, not pp 4; nearest legal pp: 1"},
    {"blocks_split", "huggingface splits no quantised weights: use data parallelism or ZeRO-3, not "
                     "tp 2; nearest legal tp: 1"},
    {"rounds", "maxtext runs a pipeline in rounds of 4 = pp microbatches, not 18 (global batch "
               "144); nearest legal global batch: 128 or 160"},
    {"two_ranks", "pp 2 with vp 2 needs overlapped messages between stages; nearest legal pp: 4"},
    {"layout_below", "every stage of a layout must have 0 layers or more, not -1"},
    {"layout_split", "a layout names the layers of every stage, so layers of the first or last "
                     "stage and embedding or head as layers say nothing; drop one of the two"},
    {"layout_own", "a layout names the layers of every stage, so layers of the first or last stage "
                   "and embedding or head as layers say nothing; drop one of the two"},
    {"layout_short",
     "the layout has 2 stages, but pp 4 with 1 stages each needs 4; nearest legal pp: 2"},
    {"layout_chunks",
     "the layout has 4 stages, but pp 4 with 2 stages each needs 8; nearest legal pp: 2"},
    {"layout_sum",
     "the layout has 82 layers, but dense has 80; nearest legal: 21 instead of 23 on stage 1"},
    {"layout_none",
     "the layout has 360 layers, but dense has 80; without a layout they are shared evenly"},
    {"own_alone", "layers of the first and last stage are given, but pp is 1; nearest legal pp: 2"},
    {"both_ways", "layers of the first or last stage are given (18, 22), so embedding and head "
                  "cannot count as layers too; drop one of the two"},
    {"own_few", "each of the 4 chunks of a stage needs a layer, but 0 and 2 are given for the "
                "first and last stage"},
    {"more_stages", "80 layers do not split over pp 81 with 1 stages each; nearest legal pp: 80, "
                    "or the layout 1*80,0"},
    {"left_over", "80 layers do not split over pp 2 with 1 stages each, with 30 on the first rank "
                  "and 40 on the last rank; nearest legal pp: 3"},
    {"given_all", "80 layers do not split over pp 4 with 1 stages each, with 78 on the first rank; "
                  "nearest legal pp: 3"},
    {"uneven",
     "80 layers do not split evenly over pp 3; nearest legal pp: 2 or 4, or the layout 27*2,26"},
    {"uneven_chunks", "80 layers do not split evenly over pp 4 x vp 3; nearest legal vp: 2 or 4, "
                      "or the layout 6*2,7*8,6*2"},
    {"counted",
     "81 layers do not split evenly over pp 4; nearest legal pp: 3 or 9, or the layout 20*4"},
    {"uneven_own", "61 layers do not split evenly over pp 4; nearest legal pp: 2 or 62"},
    {"own_chunks",
     "the 19 and 21 layers given for the first and last stage do not split over vp 2"},
    {"own_xla",
     "maxtext gives every stage the same layers and none of them the embedding or the head"},
    {"heads", "64 attention heads do not split over tp 128; nearest legal tp: 64"},
    {"kv_heads",
     "3 key/value heads neither split over tp 2 nor are copied evenly to it; nearest legal tp: 1"},
    {"state_heads",
     "5 heads or groups of a recurrence do not split over tp 2; nearest legal tp: 1"},
    {"state_context",
     "16 heads or groups of a recurrence do not split over tp 2 x cp 16; nearest legal cp: 8"},
    {"mamba_fp8", "the input projection of Mamba-2 has 514 outputs, which over tp 2 is not a "
                  "multiple of 16, as fp8 needs"},
    {"indexer", "a query attends to 2048 keys that an indexer picks from all ranks of cp 2; use "
                "the cp kind all-gather"},
    {"copied_kv", "torchtitan does not copy key/value heads: 8 of them do not split over tp 16; "
                  "nearest legal tp: 8"},
    {"ffn", "the FFN width 28671 does not split over tp 2; nearest legal tp: 1"},
    {"shared", "the FFN width 2047 does not split over tp 2; nearest legal tp: 1"},
    {"no_experts", "ep is 2, but dense has no experts; nearest legal ep: 1"},
    {"experts", "100 experts do not split over ep 8; nearest legal ep: 4"},
    {"expert_ffn", "the expert width 2047 does not split over etp 2; nearest legal etp: 1 or 23"},
    {"ep_tp", "ep 8 with tp 2 needs sequence parallelism; turn it on"},
    {"order_experts", "the order tp-cp-pp-dp needs ep x etp = 2 = tp x cp, not ep 8 x etp 1; or "
                      "use the order tp-cp-dp-pp; nearest legal ep: 2"},
    {"order_titan", "torchtitan numbers ranks in the order tp-cp-dp-pp only"},
    {"bias", "experts with biases cannot be split over etp 2; nearest legal etp: 1"},
    {"etp", "torchtitan does not split experts, but etp is 2; nearest legal etp: 1"},
    {"context", "the sequence 8192 does not split over cp 3; nearest legal sequence: 8190 or 8193"},
    {"balance", "the sequence 8190 is not a multiple of 4 = 2 x cp 2, as balanced causal work "
                "needs; nearest legal sequence: 8188 or 8192"},
    {"sequence", "the sequence 8191 does not split over 2 = cp 1 x tp 2 with sequence parallelism "
                 "(--no-sp leaves it out); nearest legal sequence: 8190 or 8192"},
    {"positions", "the sequence 8192 is longer than the 4096 learned positions of dense; nearest "
                  "legal sequence: 4096"},
    {"ulysses",
     "64 attention heads do not split over tp 2 x cp 64, as Ulysses needs; nearest legal cp: 32"},
    {"ulysses_kv", "6 key/value heads neither split over tp 2 x cp 2 nor are copied evenly to it, "
                   "as Ulysses needs; nearest legal cp: 1"},
    {"ring", "deepspeed does not split sequences by ring; use cp of the kind ulysses, or cp 1"},
    {"exchange", "torchtitan does not split sequences by ulysses; use cp of the kind ring or "
                 "all-gather, or cp 1"},
    {"gathered",
     "neuronx does not split sequences by all-gather; use cp of the kind ring, or cp 1"},
    {"sp", "deepspeed has no sequence parallelism in the tensor group; turn it off"},
    {"muon_sharded", "muon updates whole matrices on every data rank; use ZeRO-0, or the optimizer "
                     "dist-muon with ZeRO-1"},
    {"muon_dealt",
     "dist-muon shares the states out by whole matrices, which is ZeRO-1 and no other; use ZeRO-1"},
    {"unsharded", "2 replicas of the shards are asked for, but nothing is sharded; nearest legal "
                  "hsdp replicas: 1"},
    {"replicas", "8 = dp x cp ranks do not split into 3 replicas of the shards; nearest legal hsdp "
                 "replicas: 2 or 4"},
    {"expert_replicas", "2 expert-data ranks do not split into 8 replicas of the shards; nearest "
                        "legal hsdp replicas: 2"},
    {"zero2", "megatron does not run ZeRO-2 with pp 4; use ZeRO-0 or 1; nearest legal pp: 1"},
    {"zero3", "deepspeed does not run ZeRO-3 with pp 4; use ZeRO-0 or 1; nearest legal pp: 1"},
    {"zero1", "torchtitan does not run ZeRO-1; use ZeRO-0, 2 or 3"},
    {"zero2_xla", "maxtext does not run ZeRO-2; use ZeRO-0, 1 or 3"},
    {"zero3_neuron", "neuronx does not run ZeRO-3; use ZeRO-0 or 1"},
    {"ddp", "torchtitan shards parameters as soon as tp, cp, pp or ep is above 1; use ZeRO-2 or 3"},
    {"fp4", "hopper-like has no rate of fp4 in its document"},
    {"mxfp8", "hopper-like does not read the scales of mxfp8; use the recipe tensorwise, delayed "
              "or blockwise"},
    {"kernel", "there is no attention kernel cudnn_mxfp8 for hopper-like; use flash"},
    {"wide_weights",
     "weights are kept in the precision of the linears, but that is bf16; use fp8, fp4 or int8"},
    {"low_weights", "weights in low precision need the distributed optimizer; use ZeRO-1 or more"},
    {"low_offload", "an offloaded optimizer writes weights in fp8 by the recipe delayed only; use "
                    "that, or keep weights in bf16"},
    {"delayed",
     "the modules norm and act cannot be recomputed with the fp8 recipe delayed; use tensorwise"},
    {"ungated", "the inputs of gated activations are kept in fp8, but no feed-forward layer of the "
                "model has a gate"},
    {"nf4", "weights in NF4 are frozen and multiplied in 16 bits: use adapters (lora-rank) and "
            "bf16, fp16 or tf32, not bf16"},
    {"gradients_alone",
     "gradients go to the host for the optimizer that steps there; offload optimizer too"},
    {"nvme_alone", "only what is offloaded lies on NVMe disks; offload it too"},
    {"nvme_megatron", "megatron does not offload to NVMe disks; DeepSpeed does"},
    {"nvme_zero1", "deepspeed offloads to NVMe with ZeRO-3 alone; use that"},
    {"modules", "selective recompute names no module; name one, such as core attention"},
    {"operators",
     "recompute by operators covers norms, activations and more; name no other module"},
    {"streams", "the module mhc is to be recomputed, but dense has no hyper-connections"},
    {"operators_of", "megatron does not recompute the modules operators; it recomputes core_attn, "
                     "norm, act, mla_up, mlp, moe and mhc"},
    {"modules_of", "torchtitan does not recompute the modules norm; it recomputes operators"},
    {"latent_neuron",
     "neuronx does not recompute the modules act; it recomputes core_attn, norm, mlp and moe"},
    {"policy",
     "every policy of maxtext recomputes norms and activations; name the modules norm and act too"},
    {"some_layers", "maxtext recomputes all layers or none, not 2 of a stage"},
    {"split_rec", "primus recomputes no activations with the schedule v-half; turn recompute off, "
                  "or use 1f1b or interleaved"},
    {"split_h2", "primus does not run the schedule zb-h2; it runs 1f1b, interleaved, zb-h1, zb-v, "
                 "v-half and v-min"},
    {"count", "2 layers to recompute are given, which needs full recompute"},
    {"latent", "the module mla_up is to be recomputed, but dense has no latent attention"},
    {"act", "the module act is the activation of experts (moe_act), but dense has none; drop it, "
            "or recompute the module mlp"},
    {"weights_ascend", "mindspeed does not offload weights"},
    {"weights_pp", "weights cannot be offloaded with pp 4; nearest legal pp: 1"},
    {"weights_rec", "weights cannot be offloaded together with recompute; drop one of the two"},
    {"weights", "deepspeed offloads only sharded weights; use ZeRO-3"},
    {"optimizer", "deepspeed offloads only a sharded optimizer; use ZeRO-1 or more"},
    {"tp_overlap", "overlap of tensor-parallel messages needs sequence parallelism; turn it on"},
    {"gather", "overlap of the parameter gather needs that of the gradient reduction; turn it on"},
    {"moe_ep", "overlap of expert messages is on, but ep is 1; nearest legal ep: 2"},
    {"moe_vp", "overlap of expert messages with pp 4 needs interleaving (vp 2 or more)"},
    {"moe_full",
     "overlap of expert messages excludes recompute of whole layers and of the module moe"},
    {"moe_module",
     "overlap of expert messages excludes recompute of whole layers and of the module moe"},
    {"moe_mtp", "overlap of expert messages allows one MTP layer, but moe has 2"},
};

static const char *expected_of(const char *id)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        if (strcmp(expected[i].id, id) == 0) {
            return expected[i].message;
        }
    }
    return "nothing";
}

static void test_messages(void **state)
{
    const rk_system system = hopper_like();
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
        rk_model model;
        rk_legality violation;
        fill_model(&model, breakages[i].kind);
        rk_strategy s = base_strategy(&model, breakages[i].framework);
        breakages[i].breaks(&model, &s);
        assert_false(rk_strategy_legal(&model, &system, &s, breakages[i].framework, &violation));
        if (strcmp(violation.message, expected_of(breakages[i].id)) != 0) {
            print_error("%s says: %s\n    not: %s\n", breakages[i].id, violation.message,
                        expected_of(breakages[i].id));
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
