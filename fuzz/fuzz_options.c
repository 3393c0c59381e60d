/* SPDX-License-Identifier: Apache-2.0 */
/* Any words as options of a job, and any text as its JSON request: what is accepted is in bounds.
 */
#include "job/job.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

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

static void init(void *values)
{
    *(struct values *)values = (struct values){.count = 1, .share = 0.5, .real = 1};
}

static rk_status run(rk_job *job, void *values, rk_error *err)
{
    (void)job;
    (void)err;
    require_values(values);
    return RK_OK;
}

static const rk_command command = {
    .name = "fuzz",
    .purpose = "Reads words",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .size = sizeof(struct values),
    .init = init,
    .run = run,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text;
    rk_job *job;
    rk_error err;
    rk_status status = RK_OK;
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    REQUIRE(rk_job_create(&command, &job, &err) == RK_OK);
    if (!rk_job_set_json(job, text, &err)) {
        REQUIRE(rk_job_run(job, NULL, &err) == RK_OK);
    }
    rk_job_free(job);
    REQUIRE(rk_job_create(&command, &job, &err) == RK_OK);
    for (char *word; !status && (word = strtok_r(rest, "\n", &rest));) {
        char *value = strchr(word, '=');
        if (value) {
            *value++ = '\0';
        }
        status = rk_job_set(job, word, value, &err);
    }
    if (!status) {
        REQUIRE(rk_job_run(job, NULL, &err) == RK_OK);
    }
    rk_job_free(job);
    free(text);
    return 0;
}
