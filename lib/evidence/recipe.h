/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A calibration's recipe: which numbers of which documents to fit, within which bounds, to which
 * rows of which tables, and with which loss. Recipes are in data/calibrations.
 */
#ifndef RK_EVIDENCE_RECIPE_H
#define RK_EVIDENCE_RECIPE_H

#include "reckon/reckon.h"

enum {
    RK_RECIPE_DOCUMENTS = 16,
    RK_RECIPE_CONSTANTS = 16, /* over all documents; a document should have at most about eight */
    RK_RECIPE_KEYS = 6,
    RK_RECIPE_TABLES = 16,
    RK_RECIPE_CONDITIONS = 8,
    RK_RECIPE_TEXTS = 24,
    RK_RECIPE_GROUPS = 4,
    RK_RECIPE_NAME = 64,
    RK_RECIPE_PATH = 512,
};

/* One number to fit, in each document that is named, at each of its keys. */
typedef struct rk_constant {
    int key_count;
    char keys[RK_RECIPE_KEYS][RK_RECIPE_NAME]; /* "gemm.bf16.feed", "tiers[0].efficiency" */
    unsigned documents;                        /* a bit for each document of the recipe */
    double start, min, max;
    bool logarithmic; /* searched on a logarithmic scale: min > 0 */
    char unit[24];
    char meaning[160];
} rk_constant;

typedef enum rk_condition_kind {
    RK_CONDITION_IS,       /* the cell is one of the texts */
    RK_CONDITION_CONTAINS, /* it contains a text, in letters of either case */
    RK_CONDITION_WITHOUT,  /* it contains none */
    RK_CONDITION_RANGE,    /* it is a number from min to max */
} rk_condition_kind;

typedef struct rk_condition {
    char column[RK_RECIPE_NAME];
    rk_condition_kind kind;
    int text_count;
    char texts[RK_RECIPE_TEXTS][RK_RECIPE_NAME];
    double min, max;
} rk_condition;

typedef enum rk_table_kind {
    RK_TABLE_GEMM,
    RK_TABLE_ATTENTION,
    RK_TABLE_COLLECTIVE,
    RK_TABLE_STREAM,
    RK_TABLE_FLASH,
    RK_TABLE_RUNS,
} rk_table_kind;

extern const char *const rk_table_kind_names[]; /* NULL-terminated, in enum order */

typedef enum rk_measure { RK_MEASURE_STEP, RK_MEASURE_MEMORY } rk_measure;

extern const char *const rk_measure_names[]; /* NULL-terminated, in enum order */

/* Rows of a file that meet all conditions. */
typedef struct rk_recipe_table {
    rk_table_kind kind;
    char file[RK_RECIPE_PATH]; /* as the program finds it */
    int condition_count;
    rk_condition conditions[RK_RECIPE_CONDITIONS];
    int group_count; /* rows with equal cells in these columns share their weight */
    char groups[RK_RECIPE_GROUPS][RK_RECIPE_NAME];
    /* Rows with equal cells in these, up to their first blank, are left out together; 0: groups. */
    int leave_out_count;
    char leave_out[RK_RECIPE_GROUPS][RK_RECIPE_NAME];
    rk_measure measure; /* of runs */
    bool rated;         /* GEMMs at clocks that are not the document's: their rate is data.rate */
    double weight;
} rk_recipe_table;

/* Cost of a relative error r = log(predicted / measured). */
typedef enum rk_loss_kind {
    RK_LOSS_ABSOLUTE, /* |r| */
    RK_LOSS_SQUARE,   /* r^2 / (2 scale) */
    RK_LOSS_HUBER,    /* between them: scale (sqrt(1 + (r / scale)^2) - 1) */
} rk_loss_kind;

extern const char *const rk_loss_kind_names[]; /* NULL-terminated, in enum order */

typedef struct rk_recipe {
    char name[RK_RECIPE_NAME];
    int document_count;
    char documents[RK_RECIPE_DOCUMENTS][RK_RECIPE_PATH]; /* as the program finds them */
    int constant_count;
    rk_constant constants[RK_RECIPE_CONSTANTS];
    int table_count;
    rk_recipe_table tables[RK_RECIPE_TABLES];
    rk_loss_kind loss;
    double scale;   /* of the loss */
    double ridge;   /* cost of moving a constant from its start, per squared share of its range */
    double balance; /* 0: all rows weigh the same; 1: all groups do; between: n^-balance per row */
    int64_t starts; /* random starts in addition to the given one */
    int64_t seed;
} rk_recipe;

/*
 * Reads a recipe; paths in it start from its folder.  Implemented in lib/io.  The caller
 * frees *recipe.
 */
rk_status rk_recipe_load(const char *path, rk_recipe **recipe, rk_error *err);

/* As rk_recipe_load, from text; `name` replaces its path. */
rk_status rk_recipe_parse(const char *text, size_t size, const char *name, rk_recipe **recipe,
                          rk_error *err);

void rk_recipe_free(rk_recipe *recipe);

#endif
