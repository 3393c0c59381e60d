/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that share documents answer as jobs that read their own, one after another and at once. */
#include "reckon/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SMALL "\"model\": \"llama3-8b\", \"global_batch\": 64, \"tp\": 2, \"threads\": 1"

static const struct {
    const char *command, *request;
} questions[] = {
    {"estimate", "{\"model\": \"llama3-8b\", \"system\": \"8xh100\", \"set\": \"hbm=1TB/s\"}"},
    {"estimate", "{\"model\": \"llama3-8b\", \"system\": \"8xh100\", \"max_memory\": 40}"},
    {"estimate", "{\"model\": \"llama3-8b\", \"system\": \"8xh100\"}"},
    {"estimate", "{\"model\": \"Llama-3-8B\", \"system\": \"8xh100\", \"gpus_per_node\": 4}"},
    {"estimate", "{\"model\": \"llama3-8b\", \"system\": \"8xh100\", \"stack\": \"nanotron\"}"},
    {"estimate", "{\"model\": \"qwen3-30b-a3b\", \"system\": \"2xgb200-nvl72\", \"ep\": 8}"},
    {"estimate", "{\"model\": \"no-such-model\", \"system\": \"8xh100\"}"},
    {"estimate",
     "{\"model\": \"llama3-8b\", \"system\": \"8xh100\", \"stack\": \"no-such-stack\"}"},
    {"plan", "{" SMALL ", \"system\": \"8xh100\", \"top\": 3}"},
    {"plan", "{" SMALL ", \"system\": \"hgx-b200-simumax\", \"accelerators\": 8}"},
    {"plan", "{" SMALL ", \"system\": \"8xmi300x\", \"framework\": \"torchtitan\"}"},
    {"fit", "{" SMALL ", \"system\": \"2xh100\"}"},
    {"run", "{" SMALL ", \"system\": \"8xh100\", \"tokens\": \"1T\"}"},
    {"explain", "{" SMALL ", \"system\": \"8xh100\"}"},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]), THREADS = 4 };

/* The answer to a question, without the time it took, or the message of its error. */
static char *ask(size_t i, rk_documents *documents)
{
    const rk_job_control control = {.size = sizeof(control), .documents = documents};
    char *answer, text[1024];
    rk_error err;
    if (rk_answer_request(questions[i].command, questions[i].request, &control, &answer, &err)) {
        return strdup(rk_error_text(&err, text, sizeof(text)));
    }
    char *time = strstr(answer, "\"performance\": {");
    if (time) {
        const char *rest = time + strcspn(time, "}");
        memmove(time, rest, strlen(rest) + 1);
    }
    return answer;
}

static char *expected[QUESTIONS];

static int ask_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        expected[i] = ask(i, NULL);
    }
    return 0;
}

static int free_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        rk_free(expected[i]);
    }
    return 0;
}

/* Counts the answers that differ, from question `first` on. */
static int count_others(rk_documents *documents, size_t first)
{
    int others = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const size_t place = (first + i) % QUESTIONS;
        char *answer = ask(place, documents);
        others += strcmp(answer, expected[place]) != 0;
        rk_free(answer);
    }
    return others;
}

static void test_one_after_another(void **state)
{
    rk_documents *documents;
    rk_error err;
    (void)state;
    assert_int_equal(rk_documents_create(&documents, &err), RK_OK);
    for (size_t first = 0; first < QUESTIONS; first += 5) {
        assert_int_equal(count_others(documents, first), 0);
    }
    rk_documents_free(documents);
    rk_documents_free(NULL);
}

struct asker {
    rk_documents *documents;
    size_t first;
    int others;
};

static void *ask_all(void *user)
{
    struct asker *asker = user;
    asker->others = count_others(asker->documents, asker->first);
    return NULL;
}

static void test_at_once(void **state)
{
    pthread_t threads[THREADS];
    struct asker askers[THREADS];
    rk_documents *documents;
    rk_error err;
    (void)state;
    assert_int_equal(rk_documents_create(&documents, &err), RK_OK);
    for (size_t i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.documents = documents, .first = i / 2};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &askers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(askers[i].others, 0);
    }
    rk_documents_free(documents);
}

/* A document that is a file is read by every job. */
static void test_changed_file(void **state)
{
    static const char format[] =
        "{\"name\": \"own\", \"layers\": %d, \"hidden\": 1024, \"heads\": 16, \"kv_heads\": 16, "
        "\"ffn\": 4096, \"vocab\": 32000, \"seq\": 2048, \"tied\": false}\n";
    static const char path[] = "shared_documents.json";
    char request[128], *answers[2];
    rk_documents *documents;
    rk_error err;
    (void)state;
    (void)snprintf(request, sizeof(request), "{\"model\": \"%s\", \"system\": \"8xh100\"}", path);
    assert_int_equal(rk_documents_create(&documents, &err), RK_OK);
    const rk_job_control control = {.size = sizeof(control), .documents = documents};
    for (int i = 0; i < 2; i++) {
        char text[1024] = "";
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        (void)fprintf(file, format, 8 + 8 * i);
        assert_int_equal(fclose(file), 0);
        if (rk_answer_request("estimate", request, &control, &answers[i], &err)) {
            fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
        }
    }
    assert_string_not_equal(answers[0], answers[1]);
    (void)remove(path);
    rk_free(answers[0]);
    rk_free(answers[1]);
    rk_documents_free(documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_another),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_changed_file),
    };
    return cmocka_run_group_tests(tests, ask_alone, free_answers);
}
