/* SPDX-License-Identifier: Apache-2.0 */
/* Sets options of a job by name, word or launch line, checks its outputs, and runs its command. */
#include "job/job.h"

#include "base/error.h"
#include "base/members.h"
#include "base/text.h"
#include "base/units.h"
#include "io/inputs.h"
#include "io/json.h"
#include "job/stated_options.h"
#include "job/text_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USUAL_WIDTH 80

/* A text that an option points to. */
struct text {
    struct text *next;
    bool read, written; /* names an input, an output */
    char text[];
};

/* A thing that a command keeps as long as its job. */
struct thing {
    struct thing *next;
    void *thing;
    void (*clear)(void *thing);
};

struct rk_job {
    const rk_command *command;
    rk_job_control control;
    rk_control work;      /* its progress and team */
    rk_out_writer *write; /* receives the answer; NULL: it is dropped */
    void *write_user;
    void *arguments;
    struct text *texts;               /* owned */
    struct thing *things;             /* owned */
    bool seen[RK_OPTION_MAX];         /* options that are set */
    const char *given[RK_OPTION_MAX]; /* their last values */
    bool by_word[RK_OPTION_MAX];      /* set by a word without an option's name */
    rk_stated stated;                 /* what the caller sets, and not another option */
    int nested;                       /* above 0: options are set by others */
    const char *spelled;              /* the name that an option is given by; NULL: its own */
    bool found;
};

/* ---- making one ------------------------------------------------------------------------------ */

rk_status rk_job_create(const rk_command *command, rk_job **job, rk_error *err)
{
    *job = NULL;
    if (!command) {
        return rk_fail(err, RK_ERR_INVALID, "a job needs a command: rk_command_find found none");
    }
    rk_job *created = calloc(1, sizeof(*created));
    void *arguments = calloc(1, command->size > 0 ? command->size : 1);
    if (!created || !arguments) {
        free(created);
        free(arguments);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a job");
    }
    created->command = command;
    created->arguments = arguments;
    if (command->init) {
        command->init(arguments);
    }
    *job = created;
    return RK_OK;
}

void rk_job_free(rk_job *job)
{
    if (!job) {
        return;
    }
    while (job->texts) {
        struct text *next = job->texts->next;
        free(job->texts);
        job->texts = next;
    }
    while (job->things) {
        struct thing *next = job->things->next;
        job->things->clear(job->things->thing);
        free(job->things);
        job->things = next;
    }
    rk_bytes_clear(&job->stated.words);
    free(job->arguments);
    free(job);
}

bool rk_job_keep(rk_job *job, void *thing, void (*clear)(void *thing))
{
    struct thing *kept = malloc(sizeof(*kept));
    if (kept) {
        *kept = (struct thing){.next = job->things, .thing = thing, .clear = clear};
        job->things = kept;
    }
    return kept != NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Whether two names are the same but for '_' in place of '-'. */
static bool is_name(const char *given, const char *name)
{
    for (; *given && *name; given++, name++) {
        if (*given != *name && !(*given == '_' && *name == '-')) {
            return false;
        }
    }
    return *given == *name;
}

static bool has_name(const rk_option *option, const char *given)
{
    bool found = is_name(given, option->name);
    for (int i = 0; i < RK_ALIAS_MAX && option->aliases[i]; i++) {
        found = found || is_name(given, option->aliases[i]);
    }
    return found;
}

/* The number behind a name, as in "tp8" and "zero-3", whose name goes to `word`; NULL: none. */
static const char *find_number(const char *given, const char *const *names, size_t count,
                               char word[RK_OPTION_WORD_SIZE])
{
    const size_t length = strcspn(given, "0123456789");
    const size_t letters = length > 0 && given[length - 1] == '-' ? length - 1 : length;
    const char *number = given + length;
    if (*number == '\0' || number[strspn(number, "0123456789")] != '\0') {
        return NULL;
    }
    (void)snprintf(word, RK_OPTION_WORD_SIZE, "%.*s", (int)letters, given);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(names[i], word) == 0) {
            (void)snprintf(word, RK_OPTION_WORD_SIZE, "%s", names[i]);
            return number;
        }
    }
    return NULL;
}

/* Whether a word of `given` is a word of `name` too, as "batch" of "batch-size" and "global-batch".
 */
static bool shares_word(const char *given, const char *name)
{
    static const char separators[] = "-_", common[] = " max min no num number size type use ";
    char word[RK_OPTION_WORD_SIZE];
    for (size_t length; *given; given += length + strspn(given + length, separators)) {
        length = strcspn(given, separators);
        (void)snprintf(word, sizeof(word), " %.*s ", (int)length, given);
        for (const char *at = strstr(common, word) ? "" : name; *at;) {
            const size_t other = strcspn(at, separators);
            if (other == length && strncmp(at, given, length) == 0) {
                return true;
            }
            at += other + strspn(at + other, separators);
        }
    }
    return false;
}

/* Refuses an option by those that share a word with it, or by where all are listed. */
static rk_status fail_unlike(const rk_command *command, const char *given, rk_error *err)
{
    enum { RELATED_MAX = 3 };
    char forms[RELATED_MAX][RK_OPTION_WORD_SIZE], list[256];
    const char *related[RELATED_MAX];
    size_t count = 0;
    const rk_option *option;
    for (size_t i = 0; count < RELATED_MAX && (option = rk_command_option(command, i)); i++) {
        if (!option->positional && shares_word(given, option->name)) {
            (void)snprintf(forms[count], sizeof(forms[0]), "--%s", option->name);
            related[count] = forms[count];
            count++;
        }
    }
    return count > 0 ? rk_fail(err, RK_ERR_INVALID, "unknown option --%s; did you mean %s?", given,
                               rk_join_words(related, count, " or ", list, sizeof(list)))
                     : rk_fail(err, RK_ERR_INVALID,
                               "unknown option --%s; 'reckon %s --help' lists the options", given,
                               command->name);
}

/* A suggestion: the names that begin with the given one, or the nearest one. */
rk_status rk_job_fail_unknown(const rk_command *command, const char *given, rk_error *err)
{
    enum { FITTING_MAX = 6 };
    const char *names[(1 + RK_ALIAS_MAX) * RK_OPTION_MAX], *fitting[FITTING_MAX];
    char forms[FITTING_MAX][RK_OPTION_WORD_SIZE], list[256], word[RK_OPTION_WORD_SIZE];
    size_t count = 0, fitting_count = 0;
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        names[count] = option->name;
        count += !option->positional;
        for (int j = 0; j < RK_ALIAS_MAX && option->aliases[j]; j++) {
            names[count++] = option->aliases[j];
        }
    }
    for (size_t i = 0; i < count && fitting_count < FITTING_MAX; i++) {
        if (given[0] && strncmp(names[i], given, strlen(given)) == 0) {
            (void)snprintf(forms[fitting_count], sizeof(forms[0]), "--%s", names[i]);
            fitting[fitting_count] = forms[fitting_count];
            fitting_count++;
        }
    }
    if (fitting_count > 1) {
        return rk_fail(err, RK_ERR_INVALID, "option --%s could be %s", given,
                       rk_join_words(fitting, fitting_count, " or ", list, sizeof(list)));
    }
    const char *number = find_number(given, names, count, word);
    if (number) {
        return rk_fail(err, RK_ERR_INVALID, "unknown option --%s; did you mean --%s %s?", given,
                       word, number);
    }
    const char *nearest = rk_nearest_name(given, names, count);
    return nearest ? rk_fail(err, RK_ERR_INVALID, "unknown option --%s; did you mean --%s?", given,
                             nearest)
                   : fail_unlike(command, given, err);
}

/* Whether the value of an option may be a file that the job reads: no number, and no name of the
 * catalogue. */
static bool names_file(const rk_option *option, const char *value)
{
    return option->type == RK_OPTION_TEXT && !option->writes &&
           (!option->catalogue || rk_json_is_file(value));
}

/* Keeps a copy of a text as long as the job. */
static const char *keep_text(rk_job *job, const char *text, bool read, bool written)
{
    const size_t size = strlen(text) + 1;
    struct text *kept = malloc(sizeof(*kept) + size);
    if (!kept) {
        return NULL;
    }
    memcpy(kept->text, text, size);
    kept->next = job->texts;
    kept->read = read;
    kept->written = written;
    job->texts = kept;
    return kept->text;
}

/* Keeps two texts with a comma between them. */
static const char *keep_joined(rk_job *job, const char *first, const char *second)
{
    const size_t size = strlen(first) + strlen(second) + 2;
    char *text = malloc(size);
    if (!text) {
        return NULL;
    }
    (void)snprintf(text, size, "%s,%s", first, second);
    const char *kept = keep_text(job, text, false, false);
    free(text);
    return kept;
}

/* Whether two values of an option differ: "64" and "64" do not, nor do "1k" and "1000". */
static bool differ(const rk_option *option, const char *a, const char *b, void *scratch)
{
    const int64_t *count = (const int64_t *)(const void *)((const char *)scratch + option->offset);
    if (option->type != RK_OPTION_COUNT || rk_option_read(option, a, scratch, NULL)) {
        return strcmp(a, b) != 0;
    }
    const int64_t first = *count;
    return rk_option_read(option, b, scratch, NULL) || *count != first;
}

/* A word says what the question is about; another value of the same is a mistake, not a change. */
static rk_status fail_twice(const rk_job *job, const rk_option *option, const char *first,
                            const char *second, rk_error *err)
{
    char form[RK_OPTION_WORD_SIZE], a[RK_JSON_TEXT_SIZE], b[RK_JSON_TEXT_SIZE];
    (void)rk_json_printable(first, a, sizeof(a));
    (void)rk_json_printable(second, b, sizeof(b));
    if (option->word == RK_WORD_COUNT || option->word == RK_WORD_NODES ||
        option->word == RK_WORD_LAUNCH) {
        return rk_fail(err, RK_ERR_INVALID, "%s is given twice, as %s and as %s; leave one out",
                       rk_option_form(option, form), a, b);
    }
    const bool model = option->word == RK_WORD_MODEL;
    char choice[3 * RK_JSON_TEXT_SIZE] = "";
    if (!model) {
        (void)snprintf(choice, sizeof(choice),
                       "; to choose one, use 'reckon run --deadline 30d --system %s,%s'", a, b);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "expected one %s, found two; run 'reckon %s' with %s, then with %s%s",
                   model ? "model" : "system", job->command->name, a, b, choice);
}

/* ---- what the caller states ------------------------------------------------------------------ */

const rk_stated *rk_job_stated(const rk_job *job)
{
    return &job->stated;
}

const char *rk_job_given(const rk_job *job, size_t option)
{
    return job->given[option] ? job->given[option] : "true";
}

/* States an option, unless another one sets it. */
static void state_option(rk_job *job, size_t i, const char *value)
{
    const rk_option *option = rk_command_option(job->command, i);
    const bool spelled = job->spelled && has_name(option, job->spelled);
    if (job->nested == 0) {
        rk_stated_option(&job->stated, job->command, i, spelled ? job->spelled : option->name,
                         value);
    }
}

/* How an option is given. */
enum giving {
    BY_NAME,      /* a system may come with a number: "64xh100" */
    BY_NAME_ONLY, /* a system is a document, however it is called */
    BY_WORD,      /* without a name */
    BY_OTHERS,    /* it follows from other options, until somebody gives it */
};

/* The index of the option with this name. */
static rk_status find_option(const rk_job *job, const char *name, size_t *index, rk_error *err)
{
    const size_t count = rk_command_option_count(job->command);
    *index = 0;
    while (*index < count && !has_name(rk_command_option(job->command, *index), name)) {
        (*index)++;
    }
    return *index < count ? RK_OK : rk_job_fail_unknown(job->command, name, err);
}

static rk_status set_option(rk_job *job, const char *option, const char *value, enum giving giving,
                            rk_error *err)
{
    size_t i;
    const rk_status known = find_option(job, option, &i, err);
    if (known) {
        return known;
    }
    const rk_option *found = rk_command_option(job->command, i);
    if (!value && found->type != RK_OPTION_FLAG) {
        rk_option_info info;
        rk_option_describe(found, &info, sizeof(info));
        return rk_fail(err, RK_ERR_INVALID, "%s needs a value: %s", info.name, info.value);
    }
    if (giving == BY_NAME && found->word == RK_WORD_SYSTEM) {
        bool split = false;
        const rk_status status = rk_job_split_machine(job, value, &split, err);
        if (status || split) {
            return status;
        }
    }
    const bool read = value && names_file(found, value);
    const char *before = found->joins ? job->given[i] : NULL;
    const char *kept = !value   ? NULL
                       : before ? keep_joined(job, before, value)
                                : keep_text(job, value, read, found->writes);
    const bool by_word = giving == BY_WORD;
    if (value && !kept) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the options");
    }
    if (value && job->given[i] && (by_word || job->by_word[i]) &&
        differ(found, job->given[i], kept, job->arguments)) {
        return fail_twice(job, found, job->given[i], kept, err);
    }
    job->seen[i] = true;
    job->given[i] = giving == BY_OTHERS ? NULL : kept;
    job->by_word[i] = job->by_word[i] || by_word;
    state_option(job, i, value);
    return rk_option_read(found, kept, job->arguments, err);
}

rk_status rk_job_set(rk_job *job, const char *option, const char *value, rk_error *err)
{
    return set_option(job, option, value, BY_NAME, err);
}

rk_status rk_job_set_exactly(rk_job *job, const char *option, const char *value, rk_error *err)
{
    return set_option(job, option, value, BY_NAME_ONLY, err);
}

rk_status rk_job_set_by_word(rk_job *job, const char *option, const char *value, rk_error *err)
{
    return set_option(job, option, value, BY_WORD, err);
}

rk_status rk_job_set_implied(rk_job *job, const char *option, const char *value, rk_error *err)
{
    return set_option(job, option, value, BY_OTHERS, err);
}

static bool has_option(const rk_command *command, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        found = found || has_name(rk_command_option(command, i), name);
    }
    return found;
}

const char *rk_job_option_name(const rk_job *job, const char *given)
{
    for (size_t i = 0; i < rk_command_option_count(job->command); i++) {
        const rk_option *option = rk_command_option(job->command, i);
        const bool is_letter = given[0] && given[0] == option->letter && !given[1];
        if (!option->positional && (is_letter || has_name(option, given))) {
            return option->name;
        }
    }
    return NULL;
}

bool rk_job_has(const rk_job *job, const char *option)
{
    bool set = false;
    for (size_t i = 0; i < rk_command_option_count(job->command); i++) {
        set = set || (job->seen[i] && has_name(rk_command_option(job->command, i), option));
    }
    return set;
}

rk_status rk_job_state_text(rk_job *job, const char *option, const char *text, rk_error *err)
{
    for (size_t i = 0; i < rk_command_option_count(job->command); i++) {
        if (job->stated.options[i] && has_name(rk_command_option(job->command, i), option)) {
            job->given[i] = keep_text(job, text, false, false);
            return job->given[i] ? RK_OK
                                 : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the options");
        }
    }
    return RK_OK;
}

static void note_launch_word(rk_job *job, const char *word)
{
    if (job->command->note_launch_word && job->command->note_launch_word(job->arguments, word)) {
        job->stated.more = true;
    }
}

void rk_job_take_launch_word(rk_job *job, const char *word)
{
    note_launch_word(job, word);
    rk_stated_word(&job->stated, word);
}

rk_status rk_job_set_launch_line(rk_job *job, const char *const *words, size_t count, bool *taken,
                                 rk_error *err)
{
    *taken = false;
    if (!job->command->take_launch_line) {
        return RK_OK;
    }
    job->nested++;
    const rk_status status = job->command->take_launch_line(job, words, count, taken, err);
    job->nested--;
    if (*taken) {
        rk_stated_line(&job->stated, job->command, words, count);
    }
    return status;
}

/* A flag that is not an option of the command. */
static rk_status take_flag(rk_job *job, const char *flag, const char *name, const char *value,
                           rk_flag_use *use, rk_error *err)
{
    char word[RK_OPTION_WORD_SIZE + 3];
    if (value && !keep_text(job, value, true, false)) { /* it may name a file */
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the options");
    }
    if (!job->command->take_launch_flag) {
        return rk_job_fail_unknown(job->command, flag, err);
    }
    job->nested++;
    const rk_status status = job->command->take_launch_flag(job, name, value, use, err);
    job->nested--;
    if (!status && *use != RK_FLAG_UNUSED) {
        (void)snprintf(word, sizeof(word), "--%s", name);
        rk_stated_word(&job->stated, word);
        if (*use == RK_FLAG_WITH_VALUE && value) {
            rk_stated_word(&job->stated, value);
        }
        job->stated.more = true;
    }
    return status;
}

rk_status rk_job_set_launch_flag(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                                 rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    const rk_option *option;
    (void)snprintf(name, sizeof(name), "%s", flag);
    for (char *c = name; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    for (size_t i = 0; (option = rk_command_option(job->command, i)); i++) {
        if (!option->positional && (has_name(option, flag) || has_name(option, name))) {
            const char *truth = rk_truth_of(value);
            note_launch_word(job, name);
            *use = option->type == RK_OPTION_FLAG && !truth ? RK_FLAG_ALONE : RK_FLAG_WITH_VALUE;
            job->spelled = name;
            const rk_status status =
                rk_job_set(job, option->name, option->type == RK_OPTION_FLAG ? truth : value, err);
            job->spelled = NULL;
            return status;
        }
    }
    return take_flag(job, flag, name, value, use, err);
}

/* Shows how to write a command in words: "reckon run llama3-70b 64xh100"; "" if it has none. */
static const char *example_of(const rk_command *command, char out[RK_OPTION_WORD_SIZE])
{
    bool model = false, system = false, prices = false;
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        model = model || rk_command_option(command, i)->word == RK_WORD_MODEL;
        system = system || rk_command_option(command, i)->word == RK_WORD_SYSTEM;
        prices = prices || (rk_command_option(command, i)->required &&
                            strcmp(rk_command_option(command, i)->name, "prices") == 0);
    }
    (void)snprintf(out, RK_OPTION_WORD_SIZE, "%s%s", model ? " llama3-70b" : "",
                   prices   ? " h100 --prices example"
                   : system ? " 64xh100"
                            : "");
    return out;
}

/* A text may also be in its place without having been set. */
static bool is_missing(const rk_job *job, size_t i)
{
    const rk_option *option = rk_command_option(job->command, i);
    const void *place = (const char *)job->arguments + option->offset;
    return option->required && !job->seen[i] &&
           !(option->type == RK_OPTION_TEXT && *(const char *const *)place);
}

static rk_status check_required(const rk_job *job, rk_error *err)
{
    char names[RK_OPTION_MAX][RK_OPTION_WORD_SIZE], list[256];
    const char *missing[RK_OPTION_MAX];
    char example[RK_OPTION_WORD_SIZE];
    size_t count = 0;
    bool words = true;
    for (size_t i = 0; i < rk_command_option_count(job->command); i++) {
        const rk_option *option = rk_command_option(job->command, i);
        if (is_missing(job, i)) {
            missing[count] = rk_option_form(option, names[count]);
            words = words && option->word != RK_WORD_NONE;
            count++;
        }
    }
    if (count == 0) {
        return RK_OK;
    }
    (void)rk_join_words(missing, count, " and ", list, sizeof(list));
    if (words) {
        return rk_fail(err, RK_ERR_INVALID, "%s %s missing, as in 'reckon %s%s'", list,
                       count > 1 ? "are" : "is", job->command->name,
                       example_of(job->command, example));
    }
    return rk_fail(err, RK_ERR_INVALID, "%s %s missing; 'reckon %s --help' says more", list,
                   count > 1 ? "are" : "is", job->command->name);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Refuses to write a file that the job reads. */
static rk_status check_output(const rk_job *job, const char *path, rk_error *err)
{
    rk_status status = RK_OK;
    for (const struct text *text = job->texts; text && !status; text = text->next) {
        const char *input = text->text;
        status = text->read ? rk_refuse_input(path, &input, 1, err) : RK_OK;
    }
    return status;
}

/* Refuses it before the job runs. */
static rk_status check_outputs(const rk_job *job, rk_error *err)
{
    rk_status status = RK_OK;
    for (const struct text *text = job->texts; text && !status; text = text->next) {
        status = text->written ? check_output(job, text->text, err) : RK_OK;
    }
    return status;
}

/* ---- running one ----------------------------------------------------------------------------- */

#define WIDTH_MAX (1 << 20) /* columns */

static const rk_member control_members[] = {
    RK_FLAG(rk_job_control, drawn),
    RK_MEMBER(rk_job_control, INT, width, 0, WIDTH_MAX),
};

/* A control of all zero is legal, too. */
static rk_status take_control(const rk_job_control *given, rk_job_control *own, rk_error *err)
{
    *own = (rk_job_control){0};
    return given && given->size > 0 ? rk_members_take(own, sizeof(*own), given, "rk_job_control",
                                                      control_members, COUNT(control_members), err)
                                    : RK_OK;
}

rk_status rk_job_start(rk_job *job, const rk_job_control *control, rk_out_writer *write, void *user,
                       rk_error *err)
{
    job->write = write;
    job->write_user = user;
    job->found = false;
    rk_status status = take_control(control, &job->control, err);
    job->work = (rk_control){
        .progress = job->control.progress,
        .user = job->control.user,
        .team = job->control.team,
        .documents = job->control.documents,
    };
    job->nested++;
    if (!status && job->command->prepare) {
        status = job->command->prepare(job, err);
    }
    job->nested--;
    status = status ? status : check_required(job, err);
    status = status ? status : check_outputs(job, err);
    return !status && job->command->complete ? job->command->complete(job->arguments, err) : status;
}

rk_status rk_job_run_into(rk_job *job, const rk_job_control *control, rk_out_writer *write,
                          void *user, rk_error *err)
{
    const rk_status status = rk_job_start(job, control, write, user, err);
    return status ? status : job->command->run(job, job->arguments, err);
}

const rk_command *rk_job_command(const rk_job *job)
{
    return job->command;
}

rk_control *rk_job_work(rk_job *job)
{
    return &job->work;
}

void *rk_job_arguments(rk_job *job)
{
    return job->arguments;
}

rk_status rk_job_run(rk_job *job, const rk_job_control *control, rk_error *err)
{
    return rk_job_run_into(job, control, control ? control->write : NULL,
                           control ? control->user : NULL, err);
}

bool rk_job_found(const rk_job *job)
{
    return job->found;
}

void rk_job_set_found(rk_job *job, bool found)
{
    job->found = found;
}

void rk_job_remark(const rk_job *job, const char *format, ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (job->control.remark) {
        job->control.remark(job->control.user, line);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool is_answer(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

rk_status rk_job_open(const rk_job *job, const char *path, rk_out **out, rk_error *err)
{
    if (is_answer(path)) {
        return rk_out_open_writer(job->write, job->write_user, out, err);
    }
    const rk_status status = check_output(job, path, err);
    return status ? status : rk_out_open(path, out, err);
}

rk_status rk_job_open_csv(const rk_job *job, const char *path, rk_csv_out **out, rk_error *err)
{
    if (is_answer(path)) {
        return rk_csv_open_writer(job->write, job->write_user, out, err);
    }
    const rk_status status = check_output(job, path, err);
    return status ? status : rk_csv_open(path, out, err);
}

rk_status rk_job_print(const rk_job *job, const char *path, rk_text_writer *write, const void *what,
                       rk_error *err)
{
    rk_out *out = NULL;
    const rk_table_style style = {
        .width = job->control.width > 0 ? job->control.width : USUAL_WIDTH,
        .drawn = is_answer(path) && job->control.drawn,
        .full = rk_job_has(job, "verbose") || !has_option(job->command, "verbose"),
    };
    char *text = NULL;
    rk_status status = rk_page_make(write, what, style, &text, err);
    if (!status) {
        status = rk_job_open(job, path, &out, err);
    }
    if (!status) {
        rk_page_write(out, text, style.drawn);
        status = rk_out_close(out, err);
    }
    free(text);
    return status;
}

void rk_job_write(void *job, const char *text, size_t size)
{
    const rk_job *to = job;
    if (to->write) {
        to->write(to->write_user, text, size);
    }
}

bool rk_job_is_drawn(const rk_job *job)
{
    return job->control.drawn;
}
