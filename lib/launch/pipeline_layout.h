/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of pipeline stages as Megatron-LM writes them: "Et*3|(tt|)*6mL". */
#ifndef RK_LAUNCH_PIPELINE_LAYOUT_H
#define RK_LAUNCH_PIPELINE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Holds the list of a layout. */
#define RK_PIPELINE_LAYOUT_SIZE 4096

/* Stages of a layout; 0: it is none. */
int rk_pipeline_layout_stages(const char *layout);

/* Decoder layers of each stage, as --layout has them: "3,2*6,0"; false: it is none, or too long. */
bool rk_pipeline_layout_list(const char *layout, char out[RK_PIPELINE_LAYOUT_SIZE]);

/* Blocks of a hybrid pattern, without multi-token prediction and the ends of stages. */
int rk_pipeline_pattern_blocks(const char *pattern, int *stages);

/* Blocks of each stage of a hybrid pattern; false: it does not cut stages, or is too long. */
bool rk_pipeline_pattern_list(const char *pattern, char out[RK_PIPELINE_LAYOUT_SIZE]);

/*
 * Appends to a list `same` stages of `layers` layers each; false: they do not fit.  `used` is the
 * length of the list so far.
 */
bool rk_pipeline_add_stages(char out[RK_PIPELINE_LAYOUT_SIZE], size_t *used, int layers, int same);

#endif
