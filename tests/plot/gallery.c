/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of every kind, for tests and to look at. */
#include "gallery.h"
#include "base/units.h"

#include <math.h>

#define NONE ((double)NAN) /* no value */

/* ---- lines ----------------------------------------------------------------------------- */

static const double processors[] = {4096, 8192, 12288, 16384};
static const double rates[3][4] = {
    {113.3, 225.8, 331.9, 398.2}, {114.0, 228.1, 341.7, 450.3}, {113.0, NONE, 300.0, 310.0}};
static const double low[] = {105, 214, 320, 380}, high[] = {121, 240, 350, 420};
static const rk_plot_series scaling[] = {
    {.name = "NVLink domain of 8",
     .x = processors,
     .y = rates[0],
     .low = low,
     .high = high,
     .count = 4},
    {.name = "NVLink domain of 16", .x = processors, .y = rates[1], .count = 4},
    {.name = "no data at 8,192", .x = processors, .y = rates[2], .count = 4, .dashed = true},
};
static const rk_plot_rule ideal[] = {{RK_PLOT_RULE_SLOPE, 113.3 / 4096, "ideal"},
                                     {RK_PLOT_RULE_Y, 200, "target"},
                                     {RK_PLOT_RULE_X, 12288, "12,288"}};
static const rk_plot_note notes[] = {{16384, 398.2, RK_PLOT_BELOW, "falls off"},
                                     {4096, 114, RK_PLOT_RIGHT, "start"}};
static const rk_plot_panel lines[] = {
    {.x = {.title = "processors", .ticks = processors, .tick_count = 4},
     .y = {.title = "sample rate, sequences/s"},
     .series = scaling,
     .series_count = 3,
     .rules = ideal,
     .rule_count = 3,
     .notes = notes,
     .note_count = 2},
};

/* ---- scatter on logarithmic axes -------------------------------------------------------- */

static const double measured[] = {0.012, 0.3, 1.4, 18.1, 49, 94.4, 600};
static const double predicted[] = {0.014, 0.27, 1.5, 17.2, 52, 90.1, 650};
static const double predicted2[] = {0.01, 0.4, 1.2, 22, 45, 101, 580};
static const rk_plot_series points[] = {
    {.name = "Megatron-LM", .kind = RK_PLOT_SCATTER, .x = measured, .y = predicted, .count = 7},
    {.name = "torchtitan", .kind = RK_PLOT_SCATTER, .x = measured, .y = predicted2, .count = 7},
    {.name = "nanotron", .kind = RK_PLOT_SCATTER, .x = predicted2, .y = predicted, .count = 7},
    {.name = "FSDP", .kind = RK_PLOT_SCATTER, .x = predicted, .y = predicted2, .count = 7},
    {.name = "NeMo", .kind = RK_PLOT_SCATTER, .x = predicted, .y = measured, .count = 7},
    {.name = "MindSpeed", .kind = RK_PLOT_SCATTER, .x = predicted2, .y = measured, .count = 7},
};
static const rk_plot_rule diagonal[] = {{RK_PLOT_RULE_SLOPE, 1, "y = x"},
                                        {RK_PLOT_RULE_SLOPE, 1.5, "+50 %"}};
static const rk_plot_panel scatter[] = {
    {.title = "(a) logarithmic",
     .x = {.title = "measured step time, s", .logarithmic = true},
     .y = {.title = "predicted step time, s", .logarithmic = true},
     .series = points,
     .series_count = 6,
     .rules = diagonal,
     .rule_count = 2},
    {.title = "(b) linear",
     .x = {.title = "measured step time, s"},
     .y = {.title = "predicted step time, s"},
     .series = points,
     .series_count = 2,
     .rules = diagonal,
     .rule_count = 1},
};

/* ---- bars ------------------------------------------------------------------------------ */

static const char *const models[] = {"1T",  "2T",  "4T",  "7T",  "11T", "18T",
                                     "26T", "37T", "53T", "72T", "96T", "128T"};
static const double without[] = {60.1, 55.2, 51.3, 44.1, 30.2, NONE,
                                 NONE, NONE, NONE, NONE, NONE, NONE};
static const double with[] = {76.1, 76.3, 75.2, 75.8, 74.2, 75.9,
                              74.2, 74.7, 74.1, 74.2, 74.3, 74.1};
static const rk_plot_series bars[] = {
    {.name = "no offload", .kind = RK_PLOT_BAR, .y = without, .count = 12},
    {.name = "1 TiB offload", .kind = RK_PLOT_BAR, .y = with, .count = 12},
};
static const double two[] = {15.61, 0.84}, two_low[] = {14, 0.8}, two_high[] = {17, 0.9};
static const char *const blocks[] = {"256 blocks", "254 blocks"};
static const rk_plot_series few[] = {
    {.name = "mappings",
     .kind = RK_PLOT_BAR,
     .y = two,
     .low = two_low,
     .high = two_high,
     .count = 2},
    {.name = "written", .kind = RK_PLOT_BAR, .y = two, .count = 2, .labelled = true, .decimals = 2},
};
static const rk_plot_panel bar_panels[] = {
    {.title = "Efficiency by model",
     .x = {.title = "parameters", .categories = models, .category_count = 12},
     .y = {.title = "efficiency, %", .from = 0, .to = 100},
     .series = bars,
     .series_count = 2,
     .missing = "does not run"},
    {.title = "Few bars",
     .x = {.categories = blocks, .category_count = 2},
     .y = {.title = "mappings, millions"},
     .series = few,
     .series_count = 2},
};

/* ---- heat ------------------------------------------------------------------------------ */

static const double cells[] = {52,   61,   66, 71, NONE, 58,   64,   70,
                               NONE, NONE, 60, 68, NONE, NONE, NONE, 55};
static const char *const capacities[] = {"256 GiB", "512 GiB", "1 TiB", "2 TiB"};
static const char *const speeds[] = {"25 GB/s per direction", "50 GB/s per direction",
                                     "100 GB/s per direction", "infinite"};
static const rk_plot_panel heats[] = {
    {.title = "Offload",
     .x = {.title = "capacity", .categories = capacities, .category_count = 4},
     .y = {.title = "bandwidth, GB/s", .categories = capacities, .category_count = 4},
     .heat = {cells, 4, 4, .title = "efficiency, %", .labelled = true},
     .missing = "\xE2\x80\x93"},
    {.title = "Turned labels",
     .x = {.title = "bandwidth", .categories = speeds, .category_count = 4},
     .y = {.title = "capacity", .categories = capacities, .category_count = 4},
     .heat = {cells, 4, 4, .title = "efficiency, %", .logarithmic = true}},
};

/* ---- hard cases ------------------------------------------------------------------------ */

static const double one[] = {42}, nothing[] = {NONE, (double)INFINITY, -(double)INFINITY};
static const double wild[] = {-1e300, 1e300, 0, 3, -1, 1e-300};
static const rk_plot_series single[] = {{.name = "one point", .x = one, .y = one, .count = 1}};
static const rk_plot_series none[] = {
    {.name = "no numbers", .x = nothing, .y = nothing, .count = 3}, {.name = "empty"}};
static const rk_plot_series extremes[] = {{.name = "extremes", .y = wild, .count = 6}};
static const char *const rude[] = {"<b>&\"'", "\xFF\xC0\x80 \x01 bytes", NULL};
static const rk_plot_series escaped[] = {
    {.name = "</svg><script>alert(1)</script>", .y = with, .count = 3}};
static const rk_plot_note injected[] = {{1, 76, RK_PLOT_ABOVE, "a < b && c > \"d\""}};
static const rk_plot_panel hard[] = {
    {.title = "one point", .series = single, .series_count = 1},
    {.title = "nothing", .x = {.logarithmic = true}, .series = none, .series_count = 2},
    {.title = "extremes", .series = extremes, .series_count = 1},
    {.title = "<panel> & 'title'",
     .x = {.title = "<x>", .categories = rude, .category_count = 3},
     .y = {.title = "\"y\" & \xED\xA0\x80"},
     .series = escaped,
     .series_count = 1,
     .notes = injected,
     .note_count = 1},
    {.title = "no series"},
    {.title = "one column",
     .x = {.categories = models, .category_count = 1},
     .y = {.categories = blocks, .category_count = 2},
     .heat = {.values = cells, .rows = 2, .columns = 1}},
    {.title = "one row",
     .x = {.categories = blocks, .category_count = 2},
     .y = {.categories = models, .category_count = 1},
     .heat = {.values = cells, .rows = 1, .columns = 2}},
    {.title = "extremes, logarithmic",
     .y = {.logarithmic = true},
     .series = extremes,
     .series_count = 1},
};

const example gallery[] = {
    {"lines", {.title = "Strong scaling", .panels = lines, .panel_count = 1}},
    {"scatter", {.panels = scatter, .panel_count = 2, .one_legend = true}},
    {"scatter-column", {.panels = scatter, .panel_count = 1, .plot_height = 190}},
    {"bars", {.title = "Bars", .panels = bar_panels, .panel_count = 2}},
    {"bars-wide",
     {.panels = bar_panels, .panel_count = 1, .width = RK_PLOT_TWO_COLUMNS, .plot_height = 130}},
    {"heat", {.panels = heats, .panel_count = 2}},
    {"hard", {.title = "</title> & co", .panels = hard, .panel_count = COUNT(hard), .columns = 3}},
};
const size_t gallery_count = COUNT(gallery);
