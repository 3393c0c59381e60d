/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of tables that a recipe selects: measurements, with what is needed to predict them. */
#ifndef RK_EVIDENCE_OBSERVATIONS_H
#define RK_EVIDENCE_OBSERVATIONS_H

#include "evidence/recipe.h"
#include "evidence/runs.h"
#include "system/operator_rows.h"
#include "system/system.h"

typedef struct rk_observation {
    int table;       /* of the recipe */
    size_t row;      /* of its file, 0-based */
    int group;       /* left out together: into the groups */
    int cluster;     /* sharing their weight: into the clusters */
    int document;    /* of the recipe, whose machine the row ran on; runs: -1 */
    bool held;       /* not fitted: only its error is reported */
    double measured; /* seconds, or bytes of memory */
    double weight;
    union {
        rk_operator_row op; /* GEMM or attention */
        rk_collective_row collective;
        rk_flash_row flash;
        double stream_bytes;
        size_t run; /* into the cases */
    };
} rk_observation;

typedef struct rk_observation_group {
    char name[96];
    size_t rows; /* to fit */
} rk_observation_group;

typedef struct rk_observations {
    rk_observation *rows; /* owned */
    size_t count, room;
    rk_observation_group *groups, *clusters; /* owned */
    size_t group_count, group_room, cluster_count, cluster_room;
    rk_run_table *tables; /* owned; one for each table of the recipe */
    size_t table_count;
    rk_run_sources sources; /* of runs; empty without them */
    rk_run_case *cases;     /* owned */
    size_t case_count, case_room;
    size_t skipped; /* runs that meet the conditions and cannot be predicted */
} rk_observations;

/*
 * Reads all tables of a recipe.  `names`: of its documents; operator rows of other machines and
 * runs of other stacks and machines are left out.  Rows whose column "split" is not "fit" are
 * never fitted: operators are held out, runs left out.  The caller releases the observations with
 * rk_observations_clear.
 */
rk_status rk_observations_read(const rk_recipe *recipe, const char *const *names,
                               rk_observations *out, rk_error *err);
void rk_observations_clear(rk_observations *observations);

/* Cell of the row of an observation by the name of its column, "" without one. */
const char *rk_observation_cell(const rk_observations *all, const rk_observation *row,
                                const char *column);

#endif
