/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of `reckon comm --plot`: bus bandwidth by size. */
#ifndef RK_ANSWER_COMM_PLOT_H
#define RK_ANSWER_COMM_PLOT_H

#include "job/job.h"

#define RK_COMM_LINE_NAME_SIZE 80

typedef struct rk_comm_lines rk_comm_lines;

/* No lines yet; NULL without memory.  The caller releases them with free(). */
rk_comm_lines *rk_comm_lines_create(void);

/* Adds a point to the line of a name, at most RK_COMM_LINE_NAME_SIZE - 1 characters. */
void rk_comm_lines_add(rk_comm_lines *lines, const char *name, double bytes, double bus);

/* Writes the figure; refuses more lines than one has. */
rk_status rk_comm_lines_plot(const rk_job *job, const rk_comm_lines *lines, const char *title,
                             const char *path, rk_error *err);

#endif
