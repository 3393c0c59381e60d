/* SPDX-License-Identifier: Apache-2.0 */
/* Random questions about the catalogue. */
#include "questions.h"

#include "command/commands.h"
#include "io/catalogue.h"
#include "models.h"

#include <stdarg.h>
#include <string.h>

static void say(question *q, const char *format, ...) RK_PRINTF(2, 3);

static void say(question *q, const char *format, ...)
{
    const size_t used = strlen(q->text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(q->text + used, sizeof(q->text) - used, format, list);
    va_end(list);
}

/* A name of the catalogue, of one of two kinds. */
static const char *pick_name(uint64_t *r, const char *kind, const char *other)
{
    for (;;) {
        const rk_catalogue_entry *entry = &rk_catalogue[next_random(r) % rk_catalogue_count];
        if (strcmp(entry->kind, kind) == 0 || strcmp(entry->kind, other) == 0) {
            return entry->name;
        }
    }
}

/* Degrees that are given keep the space small. */
static void give_degrees(question *q, uint64_t *r)
{
    static const char *const names[] = {"tp", "cp", "pp", "ep"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        switch (PICK(r, 0, 1, 1, 2)) {
        case 1:
            say(q, " --%s %lld", names[i], (long long)PICK(r, 1, 1, 1, 2, 4, 8));
            break;
        case 2:
            say(q, " --%s %lld,%lld", names[i], (long long)PICK(r, 1, 2), (long long)PICK(r, 4, 8));
            break;
        default:
            break;
        }
    }
    if (PICK(r, 0, 1)) {
        say(q, " --micro-batch %lld", (long long)PICK(r, 1, 2, 4));
    }
    if (PICK(r, 0, 0, 1)) {
        say(q, " --zero %lld", (long long)PICK(r, 0, 1, 2, 3));
    }
}

void question_fill(uint64_t number, question *q)
{
    static const char *const frameworks[] = {"any", "megatron", "torchtitan", "deepspeed"};
    static const char *const recomputes[] = {"none", "full", "selective", "none,full"};
    uint64_t seed = 0x6a09e667f3bcc909u + number, *r = &seed;
    const int64_t accelerators = PICK(r, 1, 4, 8, 8, 16, 32, 64, 64, 96, 128, 256, 512, 1024);
    *q = (question){.job = NULL};
    say(q, "--model %s", pick_name(r, "models", "models"));
    say(q, " --system %s", pick_name(r, "systems", "accelerators"));
    const int64_t batch = accelerators * PICK(r, 1, 1, 2, 4, 8) / PICK(r, 1, 1, 2);
    say(q, " --accelerators %lld --global-batch %lld", (long long)accelerators,
        (long long)(batch ? batch : 1));
    if (PICK(r, 0, 0, 1)) {
        say(q, " --framework %s", frameworks[next_random(r) % 4]);
    }
    if (PICK(r, 0, 0, 0, 1)) {
        say(q, " --precision %s", PICK(r, 0, 1) ? "fp8" : "fp16");
    }
    if (PICK(r, 0, 0, 1)) {
        say(q, " --recompute %s", recomputes[next_random(r) % 4]);
    }
    if (PICK(r, 0, 0, 0, 1)) {
        say(q, " --offload %s", PICK(r, 0, 1) ? "optimizer" : "activations,optimizer");
    }
    if (PICK(r, 0, 0, 0, 1)) {
        say(q, " --seq %lld", (long long)PICK(r, 2048, 4096, 8192, 32768));
    }
    give_degrees(q, r);
}

rk_status question_read(question *q, rk_request *request, rk_inputs *inputs, rk_error *err)
{
    question_clear(q);
    const rk_status status = words_read(q->text, &q->job, request, err);
    return status ? status : rk_request_load(request, inputs, err);
}

void question_clear(question *q)
{
    rk_job_free(q->job);
    q->job = NULL;
}
