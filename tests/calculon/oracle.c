/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares evaluations with reference results of the published tool.
 *
 * Usage: oracle FILE.jsonl[.gz]...  Each line has an application and a system (a catalogue name or
 * the document), an execution, and one of "stats", "error" (the exact message) or "fault".  A file
 * that does not exist is skipped: the whole reference sets are not part of the project.
 */
#include "base/error.h"
#include "calculon/calculon_docs.h"
#include "calculon/calculon_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define TOLERANCE 1e-9

struct tally {
    long results, errors, faults, fields, wrong;
};

static void complain(struct tally *tally, const char *file, long line, const char *text)
{
    if (tally->wrong++ < 20) {
        (void)fprintf(stderr, "%s:%ld: %s\n", file, line, text);
    }
}

static bool close_enough(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    return a == b || fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b));
}

/* The value of a field: NaN for null. */
static double reference_value(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/*
 * Time of offloading that is not hidden: 0 or 0.0, as one of the blocks exposes some or none of it
 * that is then taken zero times.
 */
static bool is_zero_of_either_kind(const char *key, const json_t *value)
{
    return strstr(key, "_offload_exposed_time") && json_number_value(value) == 0;
}

/* Compares a parsed result, written by our own writer, with the reference, key by key. */
static void compare_objects(const json_t *ours, json_t *theirs, const char *what,
                            struct tally *tally, const char *file, long line)
{
    const char *key;
    json_t *value;
    char text[256];
    if (json_object_size(ours) != json_object_size(theirs)) {
        (void)snprintf(text, sizeof(text), "%s: %zu keys, reference has %zu", what,
                       json_object_size(ours), json_object_size(theirs));
        complain(tally, file, line, text);
    }
    json_object_foreach(theirs, key, value)
    {
        const json_t *mine = json_object_get(ours, key);
        tally->fields++;
        if (json_is_string(value)) {
            if (!json_equal(mine, value)) {
                complain(tally, file, line, key);
            }
            continue;
        }
        if (json_is_array(value)) {
            size_t i;
            json_t *layer;
            if (json_array_size(mine) != json_array_size(value)) {
                complain(tally, file, line, "number of layers");
                continue;
            }
            json_array_foreach(value, i, layer)
            {
                compare_objects(json_array_get(mine, i), layer, "layer", tally, file, line);
            }
            continue;
        }
        const bool exact = json_is_integer(value) && json_is_integer(mine);
        if (json_is_integer(value) != json_is_integer(mine) && !is_zero_of_either_kind(key, mine)) {
            (void)snprintf(text, sizeof(text), "%s: %s is %s, reference %s", what, key,
                           json_is_integer(mine) ? "an integer" : "a float",
                           json_is_integer(value) ? "an integer" : "a float");
            complain(tally, file, line, text);
        }
        if (exact ? json_integer_value(value) != json_integer_value(mine)
                  : !close_enough(reference_value(mine), reference_value(value)) || !mine) {
            (void)snprintf(text, sizeof(text), "%s: %s is %.17g, reference %.17g", what, key,
                           reference_value(mine), reference_value(value));
            complain(tally, file, line, text);
        }
    }
}

/* Our result as a JSON value, through the writer that users see. */
static json_t *written(const rk_calculon_result *result)
{
    char path[64]; /* of this process: others run beside it */
    rk_out *out = NULL;
    rk_error err;
    (void)snprintf(path, sizeof(path), "oracle-%ld.tmp.json", (long)getpid());
    if (rk_out_open(path, &out, &err)) {
        return NULL;
    }
    rk_calculon_write_stats(out, true, result);
    if (rk_out_close(out, &err)) {
        return NULL;
    }
    json_t *root = json_load_file(path, 0, NULL);
    (void)remove(path);
    return root;
}

static rk_status load_inputs(const json_t *root, rk_calculon_app *app, rk_calculon_sys *sys,
                             rk_calculon_exe *exe, rk_error *err)
{
    const json_t *a = json_object_get(root, "application"), *s = json_object_get(root, "system");
    rk_status status = json_is_string(a)
                           ? rk_calculon_app_load(json_string_value(a), true, app, err)
                           : rk_calculon_app_from_json(a, true, app, err);
    if (!status) {
        status = rk_calculon_exe_from_json(json_object_get(root, "execution"), exe, err);
    }
    if (!status) {
        status = json_is_string(s) ? rk_calculon_sys_load(json_string_value(s), true, sys, err)
                                   : rk_calculon_sys_from_json(s, true, sys, err);
    }
    return status;
}

static void check_case(json_t *root, struct tally *tally, const char *file, long line)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_result result = {.layer_count = 0};
    rk_calculon_verdict verdict = {RK_FITS, 0, 0, 0};
    rk_error err;
    char text[1024], ours[600] = "";
    json_t *stats = json_object_get(root, "stats");
    json_t *layers = json_object_get(stats, "layers");

    rk_status status = load_inputs(root, &app, &sys, &result.exe, &err);
    if (!status) {
        status = rk_calculon_evaluate(&app, &sys, &result.exe, &result.stats,
                                      layers ? result.layers : NULL, &result.layer_count, &verdict,
                                      &err);
    }
    if (status) {
        (void)rk_error_text(&err, ours, sizeof(ours));
    } else if (verdict.verdict) {
        (void)rk_calculon_verdict_text(&verdict, ours, sizeof(ours));
    }
    const json_t *error = json_object_get(root, "error");
    if (json_object_get(root, "fault")) {
        tally->faults++;
        if (!status || err.message[0] == '\0') {
            complain(tally, file, line, "a fault of the reference was accepted");
        }
    } else if (status) {
        (void)snprintf(text, sizeof(text), "refused: %s", ours);
        complain(tally, file, line, text);
    } else if (error) {
        tally->errors++;
        if (strcmp(ours, json_string_value(error)) != 0) {
            (void)snprintf(text, sizeof(text), "\"%s\", reference \"%s\"", ours,
                           json_string_value(error));
            complain(tally, file, line, text);
        }
    } else if (verdict.verdict) {
        complain(tally, file, line, ours);
    } else {
        tally->results++;
        json_t *mine = written(&result);
        compare_objects(mine, stats, "stats", tally, file, line);
        json_decref(mine);
    }
}

static bool check_file(const char *file, struct tally *tally)
{
    enum { LONGEST = 1 << 20 };
    gzFile in = gzopen(file, "rb");
    char *text = malloc(LONGEST);
    long line = 0;
    if (!in || !text) {
        free(text);
        (void)printf("%s: not here, skipped\n", file);
        return false;
    }
    while (gzgets(in, text, LONGEST)) {
        json_error_t error;
        line++;
        json_t *root = json_loads(text, 0, &error);
        if (!root) {
            complain(tally, file, line, error.text);
            continue;
        }
        check_case(root, tally, file, line);
        json_decref(root);
    }
    (void)gzclose(in);
    free(text);
    return true;
}

int main(int argc, char **argv)
{
    int files = 0;
    struct tally all = {0};
    for (int i = 1; i < argc; i++) {
        struct tally tally = {0};
        if (!check_file(argv[i], &tally)) {
            continue;
        }
        files++;
        all.wrong += tally.wrong;
        (void)printf("%s: %ld results (%ld fields), %ld user errors, %ld faults; %ld wrong\n",
                     argv[i], tally.results, tally.fields, tally.errors, tally.faults, tally.wrong);
        if (tally.results + tally.errors + tally.faults == 0) {
            return 1;
        }
    }
    return files == 0 ? 77 : all.wrong > 0;
}
