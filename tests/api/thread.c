/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are answered on a thread whose stack has 128 KiB. */
#include "reckon/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

enum { STACK = 128 << 10 };

struct question {
    const char *command, *request;
    rk_status status;
    rk_error err;
};

static void *answer(void *user)
{
    struct question *q = user;
    char *response;
    q->status = rk_answer_request(q->command, q->request, NULL, &response, &q->err);
    rk_free(response);
    return NULL;
}

#define SMALL "\"model\": \"llama3-8b\", \"system\": \"h100-sxm\""
#define SPACE SMALL ", \"accelerators\": 8, \"global_batch\": 64"

static void test_small_stack(void **state)
{
    static struct question questions[] = {
        {.command = "plan", .request = "{" SPACE "}"},
        {.command = "plan", .request = "{" SPACE ", \"bounded\": true}"},
        {.command = "estimate", .request = "{" SMALL ", \"tp\": 2, \"explain\": true}"},
        {.command = "fit",
         .request = "{\"model\": \"llama3-70b\", \"system\": \"h100-sxm\", \"dp\": 8}"},
        {.command = "run", .request = "{" SMALL ", \"dp\": 8, \"tokens\": \"1T\"}"},
        {.command = "run", .request = "{" SMALL ", \"tokens\": \"1T\", \"deadline\": \"90d\"}"},
        {.command = "timeline", .request = "{" SPACE "}"},
        {.command = "comm", .request = "{\"system\": \"h100-sxm\"}"},
        {.command = "explain", .request = "{" SPACE "}"},
        {.command = "shape", .request = "{" SPACE ", \"blocks\": [32, 36], \"tolerance\": 5}"},
        {.command = "list", .request = "{}"},
    };
    pthread_attr_t attributes;
    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        struct question *q = &questions[i];
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, &attributes, answer, q), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (q->status) {
            char text[256];
            fail_msg("%s %s: %s", q->command, q->request,
                     rk_error_text(&q->err, text, sizeof(text)));
        }
    }
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
