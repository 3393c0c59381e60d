/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon convert`: what job a launch is, and where each of its values comes from. */
#include "base/error.h"
#include "command/commands.h"
#include "io/json.h"
#include "job/answer_writers.h"
#include "launch/launch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct convert_arguments {
    const char *from;
    const char *framework, *release;
    bool json, verbose;
} convert_arguments;

static const rk_option convert_options[] = {
    RK_OPTION("from", TEXT, offsetof(convert_arguments, from), .positional = true, .required = true,
              .value = "FILE", .common = true,
              .help = "script, launch line, YAML, TOML or JSON; - reads standard input"),
    RK_OPTION("reader", TEXT, offsetof(convert_arguments, framework), .value = "NAME",
              .common = true,
              .help = "framework that the launch is written for; default: recognised"),
    RK_OPTION("release", TEXT, offsetof(convert_arguments, release), .value = "NAME",
              .help = "release of the framework; default: the newest known"),
    RK_OPTION("verbose", FLAG, offsetof(convert_arguments, verbose), .letter = 'v', .common = true,
              .help = "the whole answer, not one screen of it"),
    RK_OPTION("json", FLAG, offsetof(convert_arguments, json), .common = true,
              .help = "write facts, their origin and the use of every key as JSON"),
};

enum { BRIEF_KEYS = 4 }; /* of a use */

/* ---- text ------------------------------------------------------------------------------------ */

static const rk_table_column fact_columns[] = {
    {"field", RK_ALIGN_LEFT}, {"value", RK_ALIGN_LEFT}, {"from", RK_ALIGN_LEFT}};

static rk_status write_facts(FILE *to, const rk_launch *launch, rk_table_style style, rk_error *err)
{
    rk_table table;
    rk_table_init(&table, fact_columns, sizeof(fact_columns) / sizeof(fact_columns[0]));
    for (size_t i = 0; i < launch->fact_count; i++) {
        const rk_launch_fact *fact = &launch->facts[i];
        char value[41], name[RK_JSON_PATH_SIZE];
        if (fact->origin == RK_FACT_OPEN || strcmp(fact->field, "model.document") == 0) {
            continue;
        }
        rk_table_cell(&table, "%s", fact->field);
        rk_table_cell(&table, "%s", rk_json_printable(fact->value, value, sizeof(value)));
        if (fact->by) {
            (void)rk_json_printable(fact->by->name, name, sizeof(name));
        }
        if (fact->by && fact->by->line > 0) {
            rk_table_cell(&table, "%s, line %d", name, fact->by->line);
        } else {
            rk_table_cell(&table, "%s",
                          fact->by                          ? name
                          : fact->origin == RK_FACT_STATED  ? "the launch"
                          : fact->origin == RK_FACT_DERIVED ? "derived"
                                                            : "framework default");
        }
    }
    return rk_write_table(to, &table, style, err);
}

/* The first key of a use that has the same note, or, without one, the key itself. */
static size_t find_same(const rk_launch *launch, size_t key)
{
    assert(key < launch->key_count);
    const char *note = launch->keys[key].note;
    size_t i = note ? 0 : key;
    while (launch->keys[i].use != launch->keys[key].use || !launch->keys[i].note != !note ||
           (note && strcmp(launch->keys[i].note, note) != 0)) {
        i++;
    }
    return i;
}

/* A line for each note: the first key that has it, and how many others do. */
static void write_keys(FILE *to, const rk_launch *launch, rk_key_use use, const char *heading,
                       size_t most)
{
    bool first = true;
    size_t lines = 0;
    for (size_t i = 0; i < launch->key_count && lines < most; i++) {
        const rk_launch_key *key = &launch->keys[i];
        char name[RK_JSON_PATH_SIZE];
        size_t others = 0;
        if (key->use != use || find_same(launch, i) != i) {
            continue;
        }
        for (size_t j = i + 1; j < launch->key_count; j++) {
            others += launch->keys[j].use == use && find_same(launch, j) == i;
        }
        (void)fprintf(to, "%s  %s", first ? heading : "",
                      rk_json_printable(key->name, name, sizeof(name)));
        if (others > 0) {
            (void)fprintf(to, " and %zu more", others);
        }
        (void)fprintf(to, "%s%s\n", key->note ? ": " : "", key->note ? key->note : "");
        first = false;
        lines++;
    }
}

/* Fields of some origins in a line: "stated    tp 2, model.layers 32". */
static void write_fields(FILE *to, const rk_launch *launch, const char *label, unsigned origins)
{
    assert(origins != 0);
    bool any = false;
    for (size_t i = 0; i < launch->fact_count; i++) {
        const rk_launch_fact *fact = &launch->facts[i];
        if (origins >> fact->origin & 1U && strcmp(fact->field, "model.document") != 0) {
            char value[25];
            (void)fprintf(to, "%s%s %s", any ? ", " : label, fact->field,
                          rk_json_printable(fact->value, value, sizeof(value)));
            any = true;
        }
    }
    (void)fputs(any ? "\n" : "", to);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_launch *launch = what;
    const size_t most = style.full ? launch->key_count : BRIEF_KEYS;
    const unsigned defaults = 1U << RK_FACT_DEFAULT, derived = 1U << RK_FACT_DERIVED;
    rk_status status = RK_OK;
    (void)fprintf(to, "%s: a launch of %s\n\n", launch->name, launch->reader->name);
    if (style.full) {
        status = write_facts(to, launch, style, err);
    } else {
        write_fields(to, launch, "stated    ", ~(defaults | derived | 1U << RK_FACT_OPEN));
        write_fields(to, launch, "derived   ", derived);
        write_fields(to, launch, "default   ", defaults);
    }
    write_keys(to, launch, RK_KEY_NOT_PRICED, "\nNot priced:\n", most);
    write_keys(to, launch, RK_KEY_UNKNOWN, "\nUnknown:\n", most);
    if (!style.full) {
        (void)fputs("\n-v adds the key and the line of each field, and every key\n", to);
    }
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_members(rk_json_writer *writer, const void *what)
{
    rk_launch_write_json(writer, what);
}

/* ---- the command ----------------------------------------------------------------------------- */

static rk_status run_convert(rk_job *job, void *arguments, rk_error *err)
{
    static const rk_answer_writers writers = {.text = write_text, .members = write_members};
    const convert_arguments *args = arguments;
    rk_launch launch = {0};
    rk_status status = rk_launch_load(args->from, &launch, err);
    if (!status && args->framework) {
        status = rk_launch_name_reader(&launch, args->framework, args->release, err);
    }
    status = status ? status : rk_launch_resolve(&launch, err);
    if (!status) {
        rk_job_set_found(job, true);
        status = rk_job_answer(job, &writers, &launch, args->json, false, "-", err);
    }
    rk_launch_clear(&launch);
    return status;
}

const rk_command rk_command_convert = {
    .name = "convert",
    .purpose = "Read a launch of a training framework: the job it means, key by key",
    .options = convert_options,
    .option_count = sizeof(convert_options) / sizeof(convert_options[0]),
    .notes = "Nothing is run: scripts, lines and configurations are only read.",
    .size = sizeof(convert_arguments),
    .run = run_convert,
};
