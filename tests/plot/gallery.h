/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of every kind, for the tests and to be looked at. */
#ifndef RK_TESTS_PLOT_GALLERY_H
#define RK_TESTS_PLOT_GALLERY_H

#include "figures/plot.h"

typedef struct example {
    const char *name;
    rk_plot_figure figure;
} example;

extern const example gallery[];
extern const size_t gallery_count;

#endif
