/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of all ranks against the model, and groups of ranks against an enumeration of all. */
#include "models.h"

#include <stdlib.h>

/* ---- chunks -------------------------------------------------------------------------------- */

static rk_chunk chunk_of(const rk_model *model, const rk_strategy *s, int64_t rank, int64_t chunk)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_strategy_chunks(model, s, chunks);
    return chunks[rank * rk_stage_chunks(s) + chunk];
}

/* Layers of all chunks of a rank. */
static int64_t layers_of(const rk_model *model, const rk_strategy *s, int64_t rank)
{
    int64_t layers = 0;
    for (int64_t i = 0; i < rk_stage_chunks(s); i++) {
        layers += chunk_of(model, s, rank, i).count;
    }
    return layers;
}

/* Two chunks per rank, the second on the way back. */
static bool is_v(rk_schedule_kind kind)
{
    return kind == RK_SCHEDULE_ZB_V || kind == RK_SCHEDULE_V_HALF || kind == RK_SCHEDULE_V_MIN;
}

/* Every layer on one chunk (of DualPipe two), in the order in which microbatches pass. */
static void check_cover(const rk_model *model, const rk_strategy *s)
{
    const int64_t directions = s->schedule == RK_SCHEDULE_DUALPIPE ? 2 : 1;
    const int64_t rounds = directions == 2 ? 1 : rk_stage_chunks(s);
    for (int64_t direction = 0; direction < directions; direction++) {
        int64_t next = 0, passed = 0;
        for (int64_t round = 0; round < rounds; round++) {
            for (int64_t i = 0; i < s->pp; i++) {
                const bool back = direction == 1 || (is_v(s->schedule) && round == 1);
                const rk_chunk chunk = chunk_of(model, s, back ? s->pp - 1 - i : i,
                                                directions == 2 ? direction : round);
                assert_true(chunk.count >= 0);
                assert_int_equal(chunk.first, next);
                assert_int_equal(chunk.embedding, passed == 0);
                assert_int_equal(chunk.head, passed == rounds * s->pp - 1);
                const bool apart = s->mtp_before_head && rounds * s->pp > 1;
                assert_int_equal(chunk.mtp, passed == rounds * s->pp - (apart ? 2 : 1));
                next += chunk.count;
                passed++;
            }
        }
        assert_int_equal(next, model->layers);
    }
}

/* Without numbers of their own, chunks differ by one unit at most, larger ones first. */
static void check_even(const rk_model *model, const rk_strategy *s)
{
    int64_t previous = INT64_MAX, least = INT64_MAX, most = 0;
    for (int64_t stage = 0; stage < s->pp * s->vp; stage++) {
        const rk_chunk chunk = chunk_of(model, s, stage % s->pp, stage / s->pp);
        const int64_t units =
            chunk.count + (s->count_embedding && chunk.embedding) + (s->count_head && chunk.head);
        assert_true(units <= previous);
        previous = units;
        least = units < least ? units : least;
        most = units > most ? units : most;
    }
    assert_true(most - least <= 1);
    assert_true(least >= 1);
}

static rk_strategy random_split(const rk_model *model, uint64_t *seed)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.pp = random_int(seed, 1, 12);
    s.schedule = (rk_schedule_kind)random_int(seed, 0, RK_SCHEDULE_KIND_COUNT - 1);
    s.vp = s.schedule == RK_SCHEDULE_INTERLEAVED ? random_int(seed, 2, 5) : 1;
    s.global_batch = 2 * s.pp;
    if (one_in(seed, 2)) {
        s.first_stage_layers = random_int(seed, 0, 12);
        s.last_stage_layers = random_int(seed, 0, 12);
    } else {
        s.count_embedding = one_in(seed, 2);
        s.count_head = one_in(seed, 2);
    }
    return s;
}

static void test_chunks_cover_the_model(void **state)
{
    uint64_t seed = 21;
    int tested = 0, megatron = 0;
    rk_model model;
    (void)state;
    fill_dense(&model);
    for (int i = 0; i < 100000; i++) {
        model.layers = (int)random_int(&seed, 1, 70);
        const rk_strategy s = random_split(&model, &seed);
        if (!rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL)) {
            continue;
        }
        tested++;
        check_cover(&model, &s);
        if (s.first_stage_layers > 0) {
            assert_int_equal(layers_of(&model, &s, 0),
                             s.first_stage_layers + (s.schedule == RK_SCHEDULE_DUALPIPE
                                                         ? chunk_of(&model, &s, 0, 1).count
                                                         : 0));
        }
        if (s.last_stage_layers > 0 && s.schedule != RK_SCHEDULE_DUALPIPE) {
            assert_int_equal(layers_of(&model, &s, s.pp - 1), s.last_stage_layers);
        }
        if (s.first_stage_layers + s.last_stage_layers == 0 && !is_v(s.schedule) &&
            s.schedule != RK_SCHEDULE_DUALPIPE) {
            check_even(&model, &s);
        }
        if (rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL)) {
            megatron++; /* ranks without a number of their own are equal */
            for (int64_t r = 2; r < s.pp - 1; r++) {
                assert_int_equal(layers_of(&model, &s, r), layers_of(&model, &s, 1));
            }
        }
    }
    print_message("%d splits, %d of them Megatron's\n", tested, megatron);
    assert_true(tested > 10000);
    assert_true(megatron > 1000);
}

static void assert_chunk(const rk_model *model, const rk_strategy *s, int64_t rank, int64_t chunk,
                         int first, int count)
{
    const rk_chunk found = chunk_of(model, s, rank, chunk);
    assert_int_equal(found.first, first);
    assert_int_equal(found.count, count);
}

/* MTP modules go to the stage before the head's where there is one. */
static void test_mtp_before_head(void **state)
{
    (void)state;
    rk_model model;
    fill_dense(&model);
    model.layers = 61;
    rk_strategy s = rk_strategy_defaults(&model);
    s.mtp_before_head = true;
    check_cover(&model, &s);
    s.pp = 8;
    check_cover(&model, &s);
    s.vp = 4;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    check_cover(&model, &s);
    s.vp = 1;
    s.schedule = RK_SCHEDULE_ZB_V;
    check_cover(&model, &s);
}

/* 126 layers with both ends counted on 16 x 8 stages: the ends have no layer beside them. */
static void test_counted_ends(void **state)
{
    rk_model model;
    (void)state;
    fill_dense(&model);
    model.layers = 126;
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 16;
    s.vp = 8;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.count_embedding = s.count_head = true;
    assert_chunk(&model, &s, 0, 0, 0, 0);
    assert_chunk(&model, &s, 1, 0, 0, 1);
    assert_chunk(&model, &s, 0, 1, 15, 1);
    assert_chunk(&model, &s, 15, 7, 126, 0);
    assert_true(chunk_of(&model, &s, 0, 0).embedding);
    assert_true(chunk_of(&model, &s, 15, 7).head);
    s.count_embedding = s.count_head = false;
    s.pp = 9;
    s.vp = 2;
    assert_chunk(&model, &s, 8, 1, 119, 7);
}

/* 61 layers on 16 ranks, 1 on the last: 4 on each other. */
static void test_own_layers(void **state)
{
    rk_model model;
    (void)state;
    fill_dense(&model);
    model.layers = 61;
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 16;
    s.last_stage_layers = 1;
    assert_chunk(&model, &s, 0, 0, 0, 4);
    assert_chunk(&model, &s, 14, 0, 56, 4);
    assert_chunk(&model, &s, 15, 0, 60, 1);
    /* chunks of a rank share its number: stages hold 1, 2, 2, 1, then the same again */
    model.layers = 12;
    s.pp = 4;
    s.vp = 2;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.first_stage_layers = s.last_stage_layers = 2;
    assert_chunk(&model, &s, 0, 0, 0, 1);
    assert_chunk(&model, &s, 2, 0, 3, 2);
    assert_chunk(&model, &s, 3, 0, 5, 1);
    assert_chunk(&model, &s, 0, 1, 6, 1);
    assert_chunk(&model, &s, 1, 1, 7, 2);
    assert_chunk(&model, &s, 3, 1, 11, 1);
}

/*
 * The 1.34B model of the H100 sweep: 16 layers of 67 M weights and a head of 268 M.  The parameters
 * that its logs print for rank 0 say 10 layers of 2 stages, 5 of 4, 3 of 8 and 2 of 16.
 */
static void test_layout_by_weight(void **state)
{
    static const struct {
        int64_t stages;
        int16_t layout[16];
    } known[] = {
        {1, {16}},
        {2, {10, 6}},
        {4, {5, 5, 5, 1}},
        {8, {3, 2, 3, 2, 3, 2, 1, 0}},
        {16, {2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0}},
    };
    rk_model model;
    (void)state;
    fill_dense(&model);
    model.hidden = 2048;
    model.vocab = 131072;
    model.layers = 16;
    model.types[0].attention =
        (rk_attention_shape){.query_heads = 32, .kv_heads = 32, .head_size = 64};
    model.types[0].ffn.width = 8192;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int16_t layout[16];
        rk_strategy_layout_by_weight(&model, known[i].stages, layout);
        for (int64_t stage = 0; stage < known[i].stages; stage++) {
            assert_int_equal(layout[stage], known[i].layout[stage]);
        }
    }
}

/* Layers of the virtual stages of a strategy without a layout. */
static int list_stages(const rk_model *model, const rk_strategy *s, int16_t *layout)
{
    for (int64_t r = 0; r < s->pp; r++) {
        for (int64_t i = 0; i < rk_stage_chunks(s); i++) {
            layout[rk_schedule_stage(s->schedule, s->pp, r, i)] =
                (int16_t)chunk_of(model, s, r, i).count;
        }
    }
    return (int)rk_schedule_stages(s->schedule, s->pp, s->vp);
}

static void check_same_chunks(const rk_model *model, const rk_strategy *a, const rk_strategy *b)
{
    for (int64_t r = 0; r < a->pp; r++) {
        for (int64_t i = 0; i < rk_stage_chunks(a); i++) {
            const rk_chunk x = chunk_of(model, a, r, i);
            const rk_chunk y = chunk_of(model, b, r, i);
            assert_int_equal(x.first, y.first);
            assert_int_equal(x.count, y.count);
            assert_int_equal(x.embedding, y.embedding);
            assert_int_equal(x.head, y.head);
        }
    }
}

/* Moves layers between random stages; the sum stays. */
static void shuffle_layers(int16_t *layout, int stages, uint64_t *seed)
{
    for (int i = 0; i < 2 * stages; i++) {
        int16_t *from = &layout[random_int(seed, 0, stages - 1)];
        int16_t *to = &layout[random_int(seed, 0, stages - 1)];
        const int16_t moved = (int16_t)random_int(seed, 0, *from);
        *from = (int16_t)(*from - moved);
        *to = (int16_t)(*to + moved);
    }
}

/* Any split written as a layout is the same split; any layout of the model covers it. */
static void test_layouts(void **state)
{
    uint64_t seed = 5;
    int tested[RK_SCHEDULE_KIND_COUNT] = {0}, empty = 0;
    rk_model model;
    (void)state;
    fill_dense(&model);
    for (int i = 0; i < 20000; i++) {
        int16_t layout[64];
        model.layers = (int)random_int(&seed, 1, 70);
        const rk_strategy split = random_split(&model, &seed);
        if (!rk_strategy_legal(&model, NULL, &split, RK_FRAMEWORK_ANY, NULL)) {
            continue;
        }
        rk_strategy s = split;
        s.first_stage_layers = s.last_stage_layers = 0;
        s.count_embedding = s.count_head = false;
        s.layout = layout;
        s.layout_count = list_stages(&model, &split, layout);
        assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL));
        check_same_chunks(&model, &split, &s);
        shuffle_layers(layout, s.layout_count, &seed);
        assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL));
        check_cover(&model, &s);
        for (int64_t r = 0; r < s.pp; r++) {
            const rk_chunk chunk = chunk_of(&model, &s, r, 0);
            const int64_t stage = rk_schedule_stage(s.schedule, s.pp, r, 0);
            assert_int_equal(chunk.count, layout[stage]);
            empty += chunk.count == 0;
        }
        tested[s.schedule]++;
    }
    for (int i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        assert_true(tested[i] > 100);
    }
    assert_true(empty > 100);
}

static void test_both_ends(void **state)
{
    rk_model model;
    (void)state;
    fill_dense(&model);
    model.layers = 16;
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 4;
    s.schedule = RK_SCHEDULE_ZB_V;
    assert_chunk(&model, &s, 0, 0, 0, 2);
    assert_chunk(&model, &s, 0, 1, 14, 2);
    assert_chunk(&model, &s, 3, 1, 8, 2);
    assert_true(chunk_of(&model, &s, 0, 1).head);
    s.schedule = RK_SCHEDULE_DUALPIPE;
    assert_chunk(&model, &s, 0, 0, 0, 4);
    assert_chunk(&model, &s, 0, 1, 12, 4);
    assert_chunk(&model, &s, 3, 0, 12, 4);
    assert_true(chunk_of(&model, &s, 3, 1).embedding);
}

/* ---- groups -------------------------------------------------------------------------------- */

/* Place of a rank along each dimension, by Megatron's numberings. */
struct coordinates {
    int64_t tensor, context, data, pipeline;
    int64_t expert_tensor, expert, expert_data;
    int64_t replica, shard;               /* of the data and context ranks together */
    int64_t expert_replica, expert_shard; /* of the expert data ranks */
};

static struct coordinates coordinates_of(const rk_strategy *s, int64_t rank)
{
    const int64_t block = s->tp * s->cp, blocks = rank / block;
    const bool pipeline_first = s->order == RK_ORDER_PIPELINE_DATA;
    const int64_t data = pipeline_first ? blocks / s->pp : blocks % s->dp;
    const int64_t within = data * block + rank % block; /* the stage, counted on its own */
    struct coordinates c = {
        .tensor = within % s->tp,
        .context = within / s->tp % s->cp,
        .data = data,
        .pipeline = pipeline_first ? blocks % s->pp : blocks / s->dp,
        .expert_tensor = within % s->etp,
        .expert = within / s->etp % s->ep,
        .expert_data = within / (s->etp * s->ep),
    };
    const int64_t dense = c.data * s->cp + c.context;
    c.shard = dense % (s->dp * s->cp / s->replicas);
    c.replica = dense / (s->dp * s->cp / s->replicas);
    const int64_t shards = s->tp * s->cp * s->dp / (s->ep * s->etp) / s->replicas;
    c.expert_shard = c.expert_data % shards;
    c.expert_replica = c.expert_data / shards;
    return c;
}

static bool share_group(rk_group_kind group, const struct coordinates *a,
                        const struct coordinates *b)
{
    const bool stage = a->pipeline == b->pipeline;
    const bool tensor = a->tensor == b->tensor, context = a->context == b->context;
    const bool expert_tensor = a->expert_tensor == b->expert_tensor;
    switch (group) {
    case RK_GROUP_TENSOR:
        return stage && context && a->data == b->data;
    case RK_GROUP_CONTEXT:
        return stage && tensor && a->data == b->data;
    case RK_GROUP_DATA:
        return stage && tensor;
    case RK_GROUP_SHARD:
        return stage && tensor && a->replica == b->replica;
    case RK_GROUP_REPLICA:
        return stage && tensor && a->shard == b->shard;
    case RK_GROUP_EXPERT:
        return stage && expert_tensor && a->expert_data == b->expert_data;
    case RK_GROUP_EXPERT_TENSOR:
        return stage && a->expert == b->expert && a->expert_data == b->expert_data;
    case RK_GROUP_EXPERT_DATA:
        return stage && expert_tensor && a->expert == b->expert;
    case RK_GROUP_EXPERT_SHARD:
        return stage && expert_tensor && a->expert == b->expert &&
               a->expert_replica == b->expert_replica;
    default:
        return tensor && context && a->data == b->data;
    }
}

/* Members of the group of `rank`, all and in its own domain of each tier. */
static void check_group(const rk_system *system, const rk_strategy *s, rk_group_kind group,
                        int64_t rank)
{
    const struct coordinates mine = coordinates_of(s, rank);
    const rk_group found = rk_strategy_group(system, s, group);
    int64_t size = 0, within[RK_TIER_MAX] = {0};
    for (int64_t other = 0; other < rk_strategy_ranks(s); other++) {
        const struct coordinates theirs = coordinates_of(s, other);
        if (!share_group(group, &mine, &theirs)) {
            continue;
        }
        size++;
        for (int t = 0; t < system->tier_count; t++) {
            within[t] += rank / system->tiers[t].size == other / system->tiers[t].size;
        }
    }
    assert_int_equal(found.size, size);
    for (int t = 0; t < system->tier_count; t++) {
        assert_int_equal(found.within[t], within[t]);
    }
}

static void test_groups(void **state)
{
    const rk_system system = {.tier_count = 3,
                              .tiers = {{.size = 8}, {.size = 32}, {.size = 1 << 20}}};
    uint64_t seed = 31;
    int tested = 0;
    rk_model model;
    (void)state;
    fill_moe(&model);
    while (tested < 150) {
        rk_strategy s = rk_strategy_defaults(&model);
        s.tp = PICK(&seed, 1, 2, 4, 8, 16);
        s.cp = PICK(&seed, 1, 1, 2, 4);
        s.dp = PICK(&seed, 1, 2, 4, 8, 16);
        s.pp = PICK(&seed, 1, 2, 4, 8);
        s.etp = PICK(&seed, 1, 1, 2, 4);
        s.ep = PICK(&seed, 1, 2, 4, 8, 16);
        s.replicas = PICK(&seed, 1, 1, 2, 4);
        s.order = (rk_rank_order)random_int(&seed, 0, RK_ORDER_COUNT - 1);
        const int64_t data = s.dp * s.cp, ranks = rk_strategy_ranks(&s);
        if (ranks > 256 || data % s.replicas != 0 ||
            s.tp * data % (s.ep * s.etp * s.replicas) != 0) {
            continue;
        }
        for (int group = 0; group < RK_GROUP_ENDS; group++) {
            check_group(&system, &s, (rk_group_kind)group, 0);
            check_group(&system, &s, (rk_group_kind)group, random_int(&seed, 0, ranks - 1));
        }
        tested++;
    }
}

/*
 * Both orders number all ranks once: every rank has coordinates of its own, so it is in one group
 * of each kind, and pipelines of two layers of a kind are the same.
 */
static void test_numbering(void **state)
{
    enum { RANKS = 2 * 3 * 4 * 5 };
    rk_model model;
    (void)state;
    fill_moe(&model);
    for (int order = 0; order < RK_ORDER_COUNT; order++) {
        bool dense[RANKS] = {false}, experts[RANKS] = {false};
        rk_strategy s = rk_strategy_defaults(&model);
        s.tp = 2;
        s.cp = s.ep = 3;
        s.etp = 2;
        s.dp = 4;
        s.pp = 5;
        s.order = (rk_rank_order)order;
        for (int64_t rank = 0; rank < RANKS; rank++) {
            const struct coordinates c = coordinates_of(&s, rank);
            const int64_t x = c.tensor + s.tp * (c.context + s.cp * (c.data + s.dp * c.pipeline));
            const int64_t y =
                c.expert_tensor + s.etp * (c.expert + s.ep * (c.expert_data + s.dp * c.pipeline));
            assert_in_range(x, 0, RANKS - 1);
            assert_in_range(y, 0, RANKS - 1);
            assert_false(dense[x] || experts[y]);
            dense[x] = experts[y] = true;
        }
    }
}

static int64_t within_node(const rk_system *system, const rk_strategy *s, rk_group_kind kind)
{
    return rk_strategy_group(system, s, kind).within[0];
}

/* Where groups stand by the two orders: TP 2, CP 2, PP 2 and DP 4 in nodes of 8. */
static void test_orders(void **state)
{
    const rk_system system = {.tier_count = 2, .tiers = {{.size = 8}, {.size = 1 << 20}}};
    rk_model model;
    (void)state;
    fill_dense(&model);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = s.cp = s.pp = s.replicas = 2;
    s.dp = 4;
    assert_int_equal(within_node(&system, &s, RK_GROUP_DATA), 4); /* CP 2 and DP 2 */
    assert_int_equal(within_node(&system, &s, RK_GROUP_PIPELINE), 1);
    assert_int_equal(within_node(&system, &s, RK_GROUP_ENDS), 1);
    s.order = RK_ORDER_PIPELINE_DATA;
    assert_int_equal(rk_strategy_group(&system, &s, RK_GROUP_DATA).size, 8);
    assert_int_equal(within_node(&system, &s, RK_GROUP_DATA), 2); /* CP only */
    assert_int_equal(within_node(&system, &s, RK_GROUP_SHARD), 2);
    assert_int_equal(within_node(&system, &s, RK_GROUP_REPLICA), 1);
    assert_int_equal(within_node(&system, &s, RK_GROUP_PIPELINE), 2);
    assert_int_equal(within_node(&system, &s, RK_GROUP_ENDS), 2);
    assert_int_equal(within_node(&system, &s, RK_GROUP_TENSOR), 2);
    assert_int_equal(within_node(&system, &s, RK_GROUP_CONTEXT), 2);
}

/*
 * Experts have as many replicas as the rest, and the ranks that hold the same shard of an expert
 * are those that hold the same shard of dense parameters: one group serves both.
 */
static void test_expert_replicas(void **state)
{
    rk_model model;
    (void)state;
    fill_moe(&model);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = s.cp = s.pp = 2;
    s.dp = 8;
    s.ep = 4;
    s.replicas = 4;
    for (int64_t rank = 0; rank < rk_strategy_ranks(&s); rank++) {
        const struct coordinates mine = coordinates_of(&s, rank);
        for (int64_t other = 0; other < rk_strategy_ranks(&s); other++) {
            const struct coordinates theirs = coordinates_of(&s, other);
            const bool experts =
                mine.pipeline == theirs.pipeline && mine.expert_tensor == theirs.expert_tensor &&
                mine.expert == theirs.expert && mine.expert_shard == theirs.expert_shard;
            assert_int_equal(experts, share_group(RK_GROUP_REPLICA, &mine, &theirs));
        }
    }
}

/* Any sizes: the groups of each kind have as many ranks as they should. */
static void test_group_sizes(void **state)
{
    const rk_system system = {.tier_count = 2, .tiers = {{.size = 72}, {.size = 1 << 20}}};
    rk_model model;
    (void)state;
    fill_moe(&model);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 6;
    s.cp = 2;
    s.dp = 12;
    s.pp = 5;
    s.ep = 24;
    s.etp = 3;
    s.replicas = 4;
    static const struct {
        rk_group_kind kind;
        int64_t size;
    } sizes[] = {
        {RK_GROUP_TENSOR, 6},        {RK_GROUP_CONTEXT, 2},     {RK_GROUP_DATA, 24},
        {RK_GROUP_SHARD, 6},         {RK_GROUP_REPLICA, 4},     {RK_GROUP_EXPERT, 24},
        {RK_GROUP_EXPERT_TENSOR, 3}, {RK_GROUP_EXPERT_DATA, 2}, {RK_GROUP_PIPELINE, 5},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(rk_strategy_group(&system, &s, sizes[i].kind).size, sizes[i].size);
    }
    assert_int_equal(within_node(&system, &s, RK_GROUP_DATA),
                     12); /* 144 ranks of a stage on two domains */
    assert_int_equal(within_node(&system, &s, RK_GROUP_EXPERT), 24); /* 24 x 3 is one domain */
    assert_int_equal(within_node(&system, &s, RK_GROUP_EXPERT_DATA), 1);
    assert_int_equal(within_node(&system, &s, RK_GROUP_PIPELINE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_cover_the_model),
        cmocka_unit_test(test_mtp_before_head),
        cmocka_unit_test(test_counted_ends),
        cmocka_unit_test(test_own_layers),
        cmocka_unit_test(test_layout_by_weight),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_both_ends),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_expert_replicas),
        cmocka_unit_test(test_group_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
