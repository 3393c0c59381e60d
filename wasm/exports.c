/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the WebAssembly build exports to JavaScript (library.js): they run a job from
 * a JSON request and pass on its answer, remarks and progress.  Files are in emscripten's file
 * system in memory.
 */
#include <reckon/reckon.h>

#include <emscripten.h>

#include <stdlib.h>
#include <string.h>

/* JavaScript's part of a job: pieces of the answer, remarks and progress. */
EM_JS(void, take_text, (const char *text, size_t size),
      { Module.taken.text.push(Module.HEAPU8.slice(text, text + size)); });

EM_JS(void, take_remark, (const char *line), { Module.taken.remarks.push(UTF8ToString(line)); });

EM_JS(int, take_progress, (const char *what, double done, double total),
      { return Module.taken.progress(UTF8ToString(what), done, total); });

static void write_text(void *user, const char *text, size_t size)
{
    (void)user;
    take_text(text, size);
}

static void write_remark(void *user, const char *line)
{
    (void)user;
    take_remark(line);
}

static bool write_progress(void *user, const rk_job_progress *progress)
{
    (void)user;
    return take_progress(progress->what, (double)progress->done, (double)progress->total) != 0;
}

/* Method, model and system may be NULL; see rk_command_resolve. */
static rk_status create_job(const char *command, const char *method, const char *model,
                            const char *system, const char *request, rk_job **job, rk_error *err)
{
    const rk_command *found = rk_command_find(command);
    if (!found) {
        (void)strcpy(err->message, "there is no such command");
        return err->code = RK_ERR_INVALID;
    }
    rk_status status = rk_command_resolve(found, method, model, system, &found, err);
    status = status ? status : rk_job_create(found, job, err);
    return status ? status : rk_job_set_json(*job, request, err);
}

/*
 * Runs a command and fills `message` where it fails.  Returns 0 for an answer, 1 where nothing
 * fits, and 2 for an error: the exit status of the program.
 */
EMSCRIPTEN_KEEPALIVE int reckon_run(const char *command, const char *method, const char *model,
                                    const char *system, const char *request, char *message,
                                    size_t size)
{
    rk_error err = {0};
    rk_job *job = NULL;
    const rk_job_control control = {
        .size = sizeof(control),
        .write = write_text,
        .remark = write_remark,
        .progress = write_progress,
    };
    rk_status status = create_job(command, method, model, system, request, &job, &err);
    status = status ? status : rk_job_run(job, &control, &err);
    const bool found = !status && rk_job_found(job);
    rk_job_free(job);
    if (status) {
        (void)rk_error_text(&err, message, size);
        return 2;
    }
    return found ? 0 : 1;
}

/* The JSON Schema of the requests of a command, to be released by free(); NULL: there is none. */
EMSCRIPTEN_KEEPALIVE char *reckon_schema(const char *command)
{
    rk_error err = {0};
    char *schema = NULL;
    (void)rk_command_schema(rk_command_find(command), &schema, &err);
    return schema;
}

/* The name of a catalogue entry, as "models/llama3-70b", to be released by free(); NULL past the
 * last. */
EMSCRIPTEN_KEEPALIVE char *reckon_entry(size_t index)
{
    const char *kind = NULL, *name = rk_catalogue_name(index, &kind);
    char *entry = name ? malloc(strlen(kind) + strlen(name) + 2) : NULL;
    if (entry) {
        (void)strcpy(entry, kind);
        (void)strcat(strcat(entry, "/"), name);
    }
    return entry;
}

EMSCRIPTEN_KEEPALIVE const char *reckon_version(void)
{
    return rk_version();
}
