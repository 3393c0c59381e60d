/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of pipeline stages as Megatron-LM writes them.  Source: PipelineParallelLayerLayout of
 * megatron/core/transformer/pipeline_parallel_layer_layout.py and the patterns of
 * megatron/core/ssm/mamba_hybrid_layer_allocation.py, commit d98e8a64.
 */
#include "launch/pipeline_layout.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS_MAX = 16384, DEPTH_MAX = 8 };

/* The symbols of a layout with its repetitions written out. */
typedef struct symbols {
    char text[SYMBOLS_MAX];
    size_t count;
} symbols;

/* Repeats the symbols from `first` on, `times` in all. */
static bool repeat(symbols *out, size_t first, long times)
{
    assert(first <= out->count && out->count <= SYMBOLS_MAX);
    const size_t length = out->count - first;
    if (times < 0 || times > SYMBOLS_MAX || first + length * (size_t)times > SYMBOLS_MAX) {
        return false;
    }
    for (long i = 1; i < times; i++) {
        memcpy(out->text + out->count, out->text + first, length);
        out->count += length;
    }
    out->count = times == 0 ? first : out->count;
    return true;
}

/* One symbol or a group in brackets, with a factor behind it. */
static bool expand(const char **at, symbols *out, int depth)
{
    while (**at && **at != ')') {
        const size_t first = out->count;
        const char c = *(*at)++;
        if (c == ',' || isspace((unsigned char)c)) {
            continue;
        }
        if (c == '(') {
            if (depth == DEPTH_MAX || !expand(at, out, depth + 1) || **at != ')') {
                return false;
            }
            (*at)++;
        } else if (strchr("EtdmL|", c) && out->count < SYMBOLS_MAX) {
            out->text[out->count++] = c;
        } else {
            return false;
        }
        if (**at == '*') {
            char *end = NULL;
            const long times = isdigit((unsigned char)(*at)[1]) ? strtol(*at + 1, &end, 10) : -1;
            if (!repeat(out, first, times)) {
                return false;
            }
            *at = end;
        }
    }
    return true;
}

static bool read_symbols(const char *layout, symbols *out)
{
    out->count = 0;
    return expand(&layout, out, 0) && *layout == '\0' && out->count > 0;
}

int rk_pipeline_layout_stages(const char *layout)
{
    symbols out;
    int stages = 1;
    if (!read_symbols(layout, &out)) {
        return 0;
    }
    for (size_t i = 0; i < out.count; i++) {
        stages += out.text[i] == '|';
    }
    return stages;
}

bool rk_pipeline_add_stages(char out[RK_PIPELINE_LAYOUT_SIZE], size_t *used, int layers, int same)
{
    assert(same >= 0 && *used < RK_PIPELINE_LAYOUT_SIZE);
    const char *comma = *used > 0 ? "," : "";
    const size_t room = RK_PIPELINE_LAYOUT_SIZE - *used;
    const int length = same > 1 ? snprintf(out + *used, room, "%s%d*%d", comma, layers, same)
                                : snprintf(out + *used, room, "%s%d", comma, layers);
    const bool fits = length > 0 && (size_t)length < room;
    *used += fits ? (size_t)length : 0;
    return fits;
}

/* Counts letters between bars, only letters in `letters`; NULL: all. */
static bool list_stages(const char *text, size_t length, const char *letters,
                        char out[RK_PIPELINE_LAYOUT_SIZE])
{
    size_t used = 0;
    int layers = 0, last = -1, same = 0;
    bool fits = true;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] != '|') {
            layers += !letters || strchr(letters, text[i]) != NULL;
            continue;
        }
        if (layers != last && same > 0) {
            fits = fits && rk_pipeline_add_stages(out, &used, last, same);
            same = 0;
        }
        last = layers;
        same++;
        layers = 0;
    }
    return fits && rk_pipeline_add_stages(out, &used, last, same);
}

bool rk_pipeline_layout_list(const char *layout, char out[RK_PIPELINE_LAYOUT_SIZE])
{
    symbols expanded;
    return read_symbols(layout, &expanded) && list_stages(expanded.text, expanded.count, "td", out);
}

bool rk_pipeline_pattern_list(const char *pattern, char out[RK_PIPELINE_LAYOUT_SIZE])
{
    const size_t length = strcspn(pattern, "/");
    return memchr(pattern, '|', length) && list_stages(pattern, length, NULL, out);
}

int rk_pipeline_pattern_blocks(const char *pattern, int *stages)
{
    int blocks = 0;
    *stages = 1;
    for (const char *c = pattern; *c && *c != '/'; c++) {
        *stages += *c == '|';
        blocks += *c != '|';
    }
    return blocks;
}
