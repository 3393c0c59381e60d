/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of layers as Megatron-LM writes them: expressions of Python.
 * Source: moe_freq_type and tuple_type of megatron/training/arguments.py, commit d98e8a64.
 */
#include "launch/layer_list.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

static void skip_blanks(const char **text)
{
    *text += strspn(*text, " ");
}

static bool take(const char **text, char c)
{
    skip_blanks(text);
    const bool found = **text == c;
    *text += found;
    return found;
}

static bool read_number(const char **text, long *number)
{
    char *end = NULL;
    skip_blanks(text);
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    *number = strtol(*text, &end, 10);
    *text = end;
    return true;
}

/* "0, 1, 1]", behind the first bracket. */
static bool read_items(const char **text, rk_layer_list *list)
{
    do {
        long number = 0;
        if (!read_number(text, &number) || number > 1 || list->count == RK_LAYER_MAX) {
            return false;
        }
        list->of[list->count++] = (uint8_t)number;
    } while (take(text, ','));
    return take(text, ']');
}

/* Repeats the layers from `first` on. */
static bool repeat(rk_layer_list *list, int first, long times)
{
    assert(first >= 0 && first <= list->count && list->count <= RK_LAYER_MAX);
    const int length = list->count - first;
    if (times < 1 || times > RK_LAYER_MAX || first + length * times > RK_LAYER_MAX) {
        return false;
    }
    for (long i = 1; i < times; i++) {
        memcpy(&list->of[list->count], &list->of[first], (size_t)length);
        list->count += length;
    }
    return true;
}

/* "[0]*3+[1]*58": lists and sums in brackets, each with a factor behind it. */
static bool read_sum(const char **text, rk_layer_list *list, int depth)
{
    assert(depth <= DEPTH_MAX);
    do {
        const int first = list->count;
        long times = 1;
        const bool read = take(text, '[') ? read_items(text, list)
                                          : depth < DEPTH_MAX && take(text, '(') &&
                                                read_sum(text, list, depth + 1) && take(text, ')');
        if (!read || (take(text, '*') && !read_number(text, &times)) ||
            !repeat(list, first, times)) {
            return false;
        }
    } while (take(text, '+'));
    return true;
}

bool rk_layer_list_read(const char *text, rk_layer_list *list)
{
    long number = 0;
    memset(list, 0, sizeof(*list));
    if (read_number(&text, &number)) {
        list->every = number <= RK_LAYER_MAX ? (int)number : 0;
        return list->every > 0 && *text == '\0';
    }
    const bool read = read_sum(&text, list, 0);
    skip_blanks(&text);
    return read && *text == '\0';
}

bool rk_layer_list_has(const rk_layer_list *list, int i, rk_every_layer *every)
{
    return list->every > 0 ? every(list->every, i) : i < list->count && list->of[i];
}
