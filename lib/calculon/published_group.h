/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published measurements of sequence parallelism and selective recomputation (Korthikanti et
 * al., arXiv 2205.05198), and the same quantities by the model.
 */
#ifndef RK_CALCULON_PUBLISHED_GROUP_H
#define RK_CALCULON_PUBLISHED_GROUP_H

#include "reckon/calculon.h"

enum { RK_PUBLISHED_MODELS = 4, RK_PUBLISHED_MODES = 5, RK_PUBLISHED_QUANTITIES = 2 };

typedef struct rk_published_quantity {
    const char *name;
    /* `none`: the same model in the group's first mode. */
    double (*computed)(const rk_calculon_stats *stats, const rk_calculon_stats *none);
    /* By the group's modes, in their order. */
    double published[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES];
} rk_published_quantity;

/* A figure or table of the paper. */
typedef struct rk_published_group {
    const char *title, *system;
    size_t mode_count, quantity_count;
    int modes[RK_PUBLISHED_MODES];
    rk_published_quantity quantities[RK_PUBLISHED_QUANTITIES];
} rk_published_group;

enum { RK_PUBLISHED_GROUPS = 3 };
extern const rk_published_group rk_published_groups[RK_PUBLISHED_GROUPS];

const char *rk_published_model_name(size_t model);
const char *rk_published_mode_name(int mode);

/* The execution of a model in a mode. */
rk_calculon_exe rk_published_execution(size_t model, int mode);

/*
 * Evaluates the models of a group in its modes.  Documents below the folder `base` replace those
 * of the catalogue; NULL: none.
 */
rk_status rk_published_evaluate(const rk_published_group *group, const char *base,
                                rk_calculon_stats stats[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES],
                                rk_error *err);

#endif
