/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: options as text and as JSON, what goes out, and requests by the name of a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "job/job.h"
#include "job/stated_options.h"

#include <stdlib.h>
#include <string.h>

struct values {
    const char *name, *output;
    int64_t count;
    rk_option_counts sizes;
    bool loud;
};

#define PLACE(member) offsetof(struct values, member)
static const rk_option options[] = {
    {.name = "name", .required = true, .offset = PLACE(name), .value = "NAME"},
    {.name = "big-count",
     .aliases = {"bc"},
     .type = RK_OPTION_COUNT,
     .offset = PLACE(count),
     .max = INT64_MAX,
     .value = "N"},
    {.name = "sizes", .type = RK_OPTION_COUNTS, .offset = PLACE(sizes), .max = INT64_MAX},
    {.name = "loud", .type = RK_OPTION_FLAG, .offset = PLACE(loud)},
    {.name = "output", .offset = PLACE(output), .value = "FILE"},
};

static struct values kept;

static void init(void *values)
{
    ((struct values *)values)->count = 7;
}

static rk_status complete(void *values, rk_error *err)
{
    const struct values *v = values;
    return v->loud && v->count == 0 ? rk_fail(err, RK_ERR_INVALID, "nothing is not loud") : RK_OK;
}

static rk_status run(rk_job *job, void *values, rk_error *err)
{
    const struct values *v = values;
    const rk_job_progress progress = {.what = "words", .done = 1, .total = 2};
    rk_out *out;
    kept = *v;
    if (!rk_control_report(rk_job_work(job), &progress)) {
        return rk_fail(err, RK_ERR_STOPPED, "stopped");
    }
    rk_job_remark(job, "%s is %d", "one", 1);
    const rk_status status = rk_job_open(job, v->output, &out, err);
    if (status) {
        return status;
    }
    rk_out_printf(out, "hello %s\n", v->name);
    rk_job_set_found(job, v->loud);
    return rk_out_close(out, err);
}

static const rk_command command = {
    .name = "test",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .size = sizeof(struct values),
    .init = init,
    .complete = complete,
    .run = run,
};

struct heard {
    char answer[64], remark[64];
    int reports;
    bool stop;
};

static void hear_answer(void *user, const char *text, size_t size)
{
    struct heard *heard = user;
    strncat(heard->answer, text, size);
}

static void hear_remark(void *user, const char *line)
{
    struct heard *heard = user;
    strcpy(heard->remark, line);
}

static bool hear_progress(void *user, const rk_job_progress *progress)
{
    struct heard *heard = user;
    heard->reports++;
    assert_string_equal(progress->what, "words");
    return !heard->stop;
}

static rk_job *create(void)
{
    rk_job *job;
    rk_error err;
    assert_int_equal(rk_job_create(&command, &job, &err), RK_OK);
    return job;
}

static void test_text(void **state)
{
    (void)state;
    rk_error err;
    rk_job *job = create();
    char name[] = "a name";
    assert_int_equal(rk_job_set(job, "name", name, &err), RK_OK);
    name[0] = 'b'; /* the job has a copy */
    assert_int_equal(rk_job_set(job, "big_count", "2k", &err), RK_OK);
    assert_int_equal(rk_job_set(job, "sizes", "1,2", &err), RK_OK);
    assert_int_equal(rk_job_run(job, NULL, &err), RK_OK);
    assert_string_equal(kept.name, "a name");
    assert_int_equal(kept.count, 2000);
    assert_int_equal(kept.sizes.count, 2);
    assert_false(rk_job_found(job));
    assert_int_equal(rk_job_set(job, "bc", "3", &err), RK_OK);
    assert_int_equal(rk_job_set(job, "loud", NULL, &err), RK_OK);
    assert_int_equal(rk_job_run(job, NULL, &err), RK_OK); /* a job can run again */
    assert_int_equal(kept.count, 3);
    assert_true(rk_job_found(job));
    rk_job_free(job);
    rk_job_free(NULL);
}

static void test_json(void **state)
{
    (void)state;
    rk_error err;
    rk_job *job = create();
    const char *request =
        "{\"name\": {\"a\": 1}, \"big_count\": 12, \"sizes\": [4, \"8k\"], \"loud\": true,"
        " \"output\": null}";
    assert_int_equal(rk_job_set_json(job, request, &err), RK_OK);
    assert_int_equal(rk_job_run(job, NULL, &err), RK_OK);
    assert_string_equal(kept.name, "{\"a\": 1}"); /* a document is its text */
    assert_int_equal(kept.count, 12);
    assert_int_equal(kept.sizes.values[1], 8000);
    assert_true(kept.loud);
    assert_null(kept.output);
    rk_job_free(job);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request, *message;
    } cases[] = {
        {"{\"name\": \"a\", \"big_cuont\": 1}",
         "unknown option --big_cuont; did you mean --big-count?"},
        {"{\"name\": \"a\", \"big_count\": 1.5}",
         "--big-count needs a whole number such as 64, 4k or 2Mi, not '1.5'"},
        {"{\"name\": \"a\", \"sizes\": [[1]]}",
         "expected a number, a text, true or false, not an array"},
        {"{\"name\": \"a\", \"loud\": 3}", "--loud is true or false, not '3'"},
        {"[1]", ""},
        {"{\"name\": \"a\",", ""},
    };
    rk_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_job *job = create();
        assert_int_not_equal(rk_job_set_json(job, cases[i].request, &err), RK_OK);
        assert_non_null(strstr(err.message, cases[i].message));
        rk_job_free(job);
    }
    rk_job *job = create();
    assert_int_equal(rk_job_set(job, "big-count", NULL, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "big-count needs a value: N");
    assert_int_equal(rk_job_set(job, "sizes", NULL, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "sizes needs a value: VALUE"); /* the table has none */
    rk_job_free(job);
}

static void test_checked_before_it_runs(void **state)
{
    (void)state;
    rk_error err;
    rk_job *job = create();
    assert_int_equal(rk_job_run(job, NULL, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "--name is missing"));
    assert_int_equal(rk_job_set_json(job, "{\"name\": 1, \"loud\": true, \"bc\": 0}", &err), RK_OK);
    assert_int_equal(rk_job_run(job, NULL, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "nothing is not loud");
    rk_job_free(job);
    assert_int_equal(rk_job_create(NULL, &job, &err), RK_ERR_INVALID);
    assert_null(job);
}

static void test_callbacks(void **state)
{
    (void)state;
    rk_error err;
    struct heard heard = {.reports = 0};
    const rk_job_control control = {.size = sizeof(control),
                                    .user = &heard,
                                    .write = hear_answer,
                                    .remark = hear_remark,
                                    .progress = hear_progress};
    rk_job *job = create();
    assert_int_equal(rk_job_set(job, "name", "you", &err), RK_OK);
    assert_int_equal(rk_job_run(job, &control, &err), RK_OK);
    assert_string_equal(heard.answer, "hello you\n");
    assert_string_equal(heard.remark, "one is 1");
    assert_int_equal(heard.reports, 1);
    heard.stop = true;
    assert_int_equal(rk_job_run(job, &control, &err), RK_ERR_STOPPED);
    rk_job_free(job);
}

/* A caller that was built when the struct was shorter: what it does not know is zero. */
static void test_shorter_control(void **state)
{
    (void)state;
    rk_error err;
    struct heard heard = {.stop = true};
    rk_job_control control = {.user = &heard, .progress = hear_progress};
    rk_job *job = create();
    control.size = offsetof(rk_job_control, progress);
    assert_int_equal(rk_job_set(job, "name", "you", &err), RK_OK);
    assert_int_equal(rk_job_run(job, &control, &err), RK_OK);
    assert_int_equal(heard.reports, 0);
    rk_job_free(job);
}

static void test_requests(void **state)
{
    (void)state;
    rk_error err;
    char *response;
    const char *request = "{\"model\": \"llama3-8b\", \"system\": \"h100-sxm\","
                          " \"accelerators\": 8, \"tp\": 2, \"global_batch\": 64}";
    assert_int_equal(rk_answer_request("estimate", request, NULL, &response, &err), RK_OK);
    assert_int_equal(response[0], '{');
    assert_non_null(strstr(response, "\"step_s\""));
    rk_free(response);
    assert_int_equal(rk_answer_request("estmate", request, NULL, &response, &err), RK_ERR_INVALID);
    assert_null(response);
    assert_int_equal(rk_answer_request("plan", "{\"model\": 1}", NULL, &response, &err),
                     RK_ERR_INVALID);
    assert_null(response);
}

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; rk_command_at(i); i++) {
        const rk_command *found = rk_command_at(i);
        assert_ptr_equal(rk_command_find(rk_command_name(found)), found);
        assert_non_null(rk_command_purpose(found));
        assert_true(rk_command_option_count(found) <= RK_OPTION_MAX); /* jobs have room for them */
        for (size_t j = 0; rk_command_option(found, j); j++) {
            rk_option_info info;
            rk_option_describe(rk_command_option(found, j), &info, sizeof(info));
            assert_non_null(info.name);
        }
    }
    assert_null(rk_command_find("no such"));
    assert_string_equal(rk_command_suggest("estimte"), "estimate");
}

/* A command that only holds others is no job of its own. */
static void test_commands_of(void **state)
{
    rk_job *job;
    rk_error err;
    (void)state;
    assert_int_equal(rk_job_create(rk_command_find("calculon"), &job, &err), RK_OK);
    assert_int_equal(rk_job_set(job, "command", "llm", &err), RK_OK);
    assert_int_equal(rk_job_run(job, NULL, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "run one of its commands instead, e.g. 'calculon llm': "
                                     "rk_command_find finds it");
    rk_job_free(job);
    assert_non_null(rk_command_find("calculon llm"));
}

/* An option that names a file to write says so: rk_job_open and others rely on it. */
static void test_writes(void **state)
{
    const rk_command *each;
    size_t written = 0;
    (void)state;
    for (size_t i = 0; (each = rk_command_at(i)); i++) {
        const rk_option *option;
        for (size_t j = 0; (option = rk_command_option(each, j)); j++) {
            const bool text = option->type == RK_OPTION_TEXT && option->value && option->help;
            const bool writes = text && (strncmp(option->help, "write ", 6) == 0 ||
                                         strncmp(option->help, "plot ", 5) == 0 ||
                                         strstr(option->help, "to write"));
            if (writes && !option->writes) {
                fail_msg("%s --%s", rk_command_name(each), option->name);
            }
            written += writes;
        }
    }
    assert_true(written > 10);
}

/* A flag of a framework is stated as it was given, with its value if it has one. */
static void test_stated_flags(void **state)
{
    static const struct {
        const char *flag, *value, *words;
    } cases[] = {
        {"num-layers", "80", "--num-layers 80"},
        {"bf16", NULL, "--num-layers 80 --bf16"},
        {"swiglu", "80", "--num-layers 80 --bf16 --swiglu"},
    };
    rk_error err;
    rk_job *job;
    (void)state;
    assert_int_equal(rk_job_create(rk_command_find("estimate"), &job, &err), RK_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_flag_use use;
        assert_int_equal(rk_job_set_launch_flag(job, cases[i].flag, cases[i].value, &use, &err),
                         RK_OK);
        assert_string_equal((const char *)rk_job_stated(job)->words.data, cases[i].words);
        assert_true(rk_job_stated(job)->more);
    }
    rk_job_free(job);
}

/* The value that a job has of an option; "": none. */
static const char *given(const rk_job *job, const char *name)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(rk_job_command(job), i)); i++) {
        if (strcmp(option->name, name) == 0) {
            return rk_job_has(job, name) ? rk_job_given(job, i) : "";
        }
    }
    fail_msg("no option is called %s", name);
    return "";
}

/* Words without an option's name: what they set, or nothing, or why not. */
static void test_words(void **state)
{
    static const struct {
        const char *word, *option, *value; /* no value: what is said */
    } cases[] = {
        {"llama3-8b", "model", "llama3-8b"},
        {"64", "accelerators", "64"},
        {"4090", "system", "4090"},
        {"h100", "system", "h100"},
        {"64xh100", "accelerators", "64"},
        {"64xh100", "system", "h100"},
        {"2xdgx-h100-superpod", "nodes", "2"},
        {"h100,gb200", "system", "h100,gb200"},
        {"h100:64,gb200", "system", "h100:64,gb200"},
        {"run.sh", "from", "run.sh"},
        {"run.bash", "from", "run.bash"},
        {"run.slurm", "from", "run.slurm"},
        {"run.sbatch", "from", "run.sbatch"},
        {"run.yaml", "from", "run.yaml"},
        {"run.yml", "from", "run.yml"},
        {"run.toml", "from", "run.toml"},
        {"run.sh 70b", "from", "run.sh 70b"},
        {"x", "model", ""},
        {"on", "model", ""},
        {"GPU", "model", ""},
        {"gpus", "model", ""},
        {"accelerators", "model", ""},
        {"Chips", "model", ""},
        {"tp=8", "unexpected argument 'tp=8'; did you mean --tp 8?", NULL},
        {"MBS2", "unexpected argument 'MBS2'; did you mean --micro-batch 2?", NULL},
        {"64h100", "unexpected argument '64h100'; did you mean 64xh100?", NULL},
        {"million", "unexpected argument 'million'; write M directly after the number, as in 15M",
         NULL},
        {"Billion", "unexpected argument 'Billion'; write B directly after the number, as in 15B",
         NULL},
        {"trillion", "unexpected argument 'trillion'; write T directly after the number, as in 15T",
         NULL},
        {"hours", "unexpected argument 'hours'; write h directly after the number, as in 15h",
         NULL},
        {"days", "unexpected argument 'days'; write d directly after the number, as in 15d", NULL},
        {"weeks", "unexpected argument 'weeks'; write d directly after the number, as in 15d",
         NULL},
        {"months", "unexpected argument 'months'; write d directly after the number, as in 15d",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_error err = {0};
        rk_job *job;
        assert_int_equal(rk_job_create(rk_command_find("estimate"), &job, &err), RK_OK);
        const rk_status status = rk_job_set_word(job, cases[i].word, &err);
        const char *found = cases[i].value ? given(job, cases[i].option) : err.message;
        const char *wanted = cases[i].value ? cases[i].value : cases[i].option;
        if (strcmp(found, wanted) != 0 || (status == RK_OK) != (cases[i].value != NULL)) {
            fail_msg("%s: %s %s", cases[i].word, found, err.message);
        }
        rk_job_free(job);
    }
}

/* Where a model and a system are given: a number, and what is no model and no system. */
static void test_further_words(void **state)
{
    static const struct {
        const char *word, *count, *message;
    } cases[] = {
        {"4090", "4090", ""}, /* no second system */
        {"megatron-2025", "",
         "unexpected argument 'megatron-2025'; 'reckon estimate --help' says more"},
        {"a.json", "", "--json takes no file; did you mean -o a.json?"},
        {"a.csv", "", "unexpected argument 'a.csv'; 'reckon estimate --help' says more"},
        {"word", "", "unexpected argument 'word'; 'reckon estimate --help' says more"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_error err = {0};
        rk_job *job;
        assert_int_equal(rk_job_create(rk_command_find("estimate"), &job, &err), RK_OK);
        assert_int_equal(rk_job_set_word(job, "llama3-8b", &err), RK_OK);
        assert_int_equal(rk_job_set_word(job, "h100", &err), RK_OK);
        assert_int_equal(rk_job_set(job, "json", NULL, &err), RK_OK);
        const rk_status status = rk_job_set_word(job, cases[i].word, &err);
        assert_int_equal(status, cases[i].count[0] ? RK_OK : RK_ERR_INVALID);
        assert_string_equal(cases[i].count[0] ? "" : err.message, cases[i].message);
        assert_string_equal(given(job, "accelerators"), cases[i].count);
        rk_job_free(job);
    }
}

/* Words that begin a launch line are part of what was stated, and set nothing. */
static void test_launchers(void **state)
{
    static const char *const words[] = {"torchrun", "deepspeed", "accelerate", "launch",
                                        "python",   "python3",   "srun",       "train.py"};
    rk_error err;
    rk_job *job;
    char stated[128] = "";
    (void)state;
    assert_int_equal(rk_job_create(rk_command_find("estimate"), &job, &err), RK_OK);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(rk_job_set_word(job, words[i], &err), RK_OK);
        assert_string_equal(given(job, "model"), "");
        strcat(strcat(stated, i ? " " : ""), words[i]);
        assert_string_equal((const char *)rk_job_stated(job)->words.data, stated);
    }
    rk_job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_json),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_checked_before_it_runs),
        cmocka_unit_test(test_callbacks),    cmocka_unit_test(test_shorter_control),
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_tables),
        cmocka_unit_test(test_commands_of),  cmocka_unit_test(test_writes),
        cmocka_unit_test(test_stated_flags), cmocka_unit_test(test_words),
        cmocka_unit_test(test_launchers),    cmocka_unit_test(test_further_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
