/* SPDX-License-Identifier: Apache-2.0 */
/* Any words, a line each, as a command line: values that are accepted lie in their bounds. */
#include "cli/options.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "target.h"

enum { WORDS = 32 };

struct values {
    const char *name;
    int64_t count, least;
    int color;
    bool loud;
    double share, real;
    rk_option_counts sizes;
    unsigned colors;
};

static const char *const colors[] = {"red", "green", "blue", NULL};

#define PLACE(member) .offset = offsetof(struct values, member)
static const rk_option options[] = {
    {.name = "name", .positional = true, PLACE(name), .value = "NAME"},
    {.name = "count",
     .letter = 'c',
     .type = RK_OPTION_COUNT,
     PLACE(count),
     .min = 1,
     .max = INT64_MAX,
     .value = "N"},
    {.name = "least",
     .aliases = {"lowest"},
     .type = RK_OPTION_COUNT,
     PLACE(least),
     .min = -5,
     .max = 5,
     .value = "N"},
    {.name = "color", .type = RK_OPTION_CHOICE, PLACE(color), .choices = colors, .value = "COLOR"},
    {.name = "loud", .letter = 'l', .type = RK_OPTION_FLAG, PLACE(loud)},
    {.name = "share", .type = RK_OPTION_REAL, PLACE(share), .min = 0, .max = 1, .value = "X"},
    {.name = "real", .type = RK_OPTION_REAL, PLACE(real), .min = 1, .max = INT64_MAX, .value = "X"},
    {.name = "sizes",
     .type = RK_OPTION_COUNTS,
     PLACE(sizes),
     .min = 1,
     .max = 1 << 20,
     .value = "N,..."},
    {.name = "colors", .type = RK_OPTION_SET, PLACE(colors), .choices = colors, .value = "C,..."},
};

static const rk_command command = {
    .name = "fuzz",
    .purpose = "Reads words",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
};

static void require_values(const struct values *v)
{
    REQUIRE(v->count >= 1);
    REQUIRE(v->least >= -5 && v->least <= 5);
    REQUIRE(v->color >= 0 && v->color < 3);
    REQUIRE(v->share >= 0 && v->share <= 1);
    REQUIRE(v->real >= 1 && isfinite(v->real));
    REQUIRE(v->sizes.count >= 0 && v->sizes.count <= RK_OPTION_COUNTS_MAX);
    for (int i = 0; i < v->sizes.count; i++) {
        REQUIRE(v->sizes.values[i] >= 1 && v->sizes.values[i] <= 1 << 20);
    }
    REQUIRE(v->colors >> 3 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct values values = {.count = 1, .share = 0.5, .real = 1};
    char *words[WORDS + 1] = {(char[]){"fuzz"}};
    char *text = malloc(size + 1), *rest = text;
    int count = 1;
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word; count < WORDS && (word = strtok_r(rest, "\n", &rest)) != NULL;) {
        words[count++] = word;
    }

    /* Messages and help texts of thousands of command lines help nobody. */
    FILE *const output = stdout, *const errors = stderr;
    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    REQUIRE(nowhere);
    stdout = stderr = nowhere;
    const int done = rk_options_parse(&command, count, words, &values);
    stdout = output;
    stderr = errors;

    REQUIRE(done == RK_PARSED || done == RK_EXIT_DONE || done == RK_EXIT_USAGE);
    if (done == RK_PARSED) {
        require_values(&values);
    }
    free(text);
    return 0;
}
