/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read from config.json files with each of their keys removed, doubled, or turned over, at
 * 0, 1, -1 and as a word, and those of the folders with as many layers as a model may have:
 *
 *     changed ANSWERS CONFIGS.json FOLDER... [--renew]
 *
 * Writes for every change the parameters, the active ones, FLOPs per token, and step and memory of
 * a small strategy, or the refusal, and compares them with ANSWERS.  Of the values at the edges it
 * is a checksum of all four answers.
 */
#include "io/document.h"
#include "model/model.h"

#include <dirent.h>
#include <inttypes.h>
#include <reckon/reckon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MOST = 300, LINE = 400 };

#define STRATEGY "{\"tp\": 1, \"dp\": 8, \"zero\": 3, \"global_batch\": 8, \"seq\": 2048}"

struct asking {
    rk_system *system;
    FILE *answers; /* all of them */
    FILE *to;      /* the next one */
    char *before;  /* that of the unchanged configuration */
    bool deepens;  /* asks for the most layers, too */
};

/* ---- answers --------------------------------------------------------------------------------- */

static uint32_t checksum(const char *text)
{
    uint32_t sum = 2166136261U;
    for (; *text; text++) {
        sum = (sum ^ (unsigned char)*text) * 16777619U;
    }
    return sum;
}

/* The first words of a refusal, its code, and a checksum of all. */
static void write_refusal(FILE *to, const rk_error *err)
{
    char text[1024];
    rk_error_text(err, text, sizeof(text));
    const uint32_t sum = checksum(text);
    for (char *c = text; *c; c++) {
        *c = (char)(*c == '\n' ? ' ' : *c);
    }
    (void)fprintf(to, "%.60s... %08" PRIx32 "%s\n", text, sum,
                  err->code == RK_ERR_INVALID ? "" : " by another code");
}

static void write_step(const struct asking *a, rk_model *model)
{
    rk_setup *setup = NULL;
    rk_strategy s;
    rk_prediction p;
    rk_error err;
    rk_status status = rk_setup_create(model, a->system, NULL, &setup, &err);
    status = status ? status : rk_strategy_read(setup, STRATEGY, &s, sizeof(s), &err);
    status = status ? status : rk_predict_step(setup, &s, &p, sizeof(p), &err);
    if (status) {
        write_refusal(a->to, &err);
    } else {
        (void)fprintf(a->to, "%.8g %.8g\n", p.step_s, p.memory_total_bytes);
    }
    rk_setup_free(setup);
}

static void write_answer(const struct asking *a, const json_t *config)
{
    rk_model *model = NULL;
    rk_model_facts facts;
    rk_error err;
    double flops = 0;
    char *text = json_dumps(config, JSON_COMPACT);
    const rk_status status = text ? rk_model_create(text, &model, &err) : RK_ERR_MEMORY;
    free(text);
    if (status) {
        write_refusal(a->to, &err);
        return;
    }
    rk_model_describe(model, &facts, sizeof(facts));
    (void)rk_model_count_flops(model, 0, "full", &flops, &err);
    (void)fprintf(a->to, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.8g ", facts.parameters,
                  facts.active_parameters, facts.mtp_parameters, facts.sequence_tokens, flops);
    write_step(a, model);
    rk_model_free(model);
}

/* Writes the answer to a configuration unless it is that before the change. */
static void ask(struct asking *a, const char *name, char sign, const char *key,
                const json_t *config)
{
    char *text = NULL;
    size_t size;
    a->to = open_memstream(&text, &size);
    if (!a->to) {
        exit(2);
    }
    write_answer(a, config);
    (void)fclose(a->to);
    if (!a->before || strcmp(text, a->before) != 0) {
        (void)fprintf(a->answers, "%s %c%s %s", name, sign, key, text);
    }
    if (!a->before) {
        a->before = text;
    } else {
        free(text);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Another value of the kind of this one; NULL: none. */
static json_t *other_value(const json_t *value)
{
    if (json_is_boolean(value)) {
        return json_boolean(!json_is_true(value));
    }
    if (json_is_integer(value)) {
        return json_integer(json_integer_value(value) ? 2 * json_integer_value(value) : 1);
    }
    if (json_is_array(value) && json_array_size(value) > 1) {
        json_t *shorter = json_deep_copy(value);
        (void)json_array_remove(shorter, 0);
        return shorter;
    }
    return json_is_null(value)   ? json_integer(2)
           : json_is_real(value) ? json_real(2 * json_real_value(value))
                                 : NULL;
}

/* Asks `root` with a member of `object`, which is in it, at values that few keys have. */
static void ask_edges(struct asking *a, const char *name, const json_t *root, json_t *object,
                      const char *key)
{
    json_t *const edges[] = {json_integer(0), json_integer(1), json_integer(-1), json_string("x")};
    char *text = NULL;
    size_t size;
    a->to = open_memstream(&text, &size);
    if (!a->to) {
        exit(2);
    }
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        (void)json_object_set_new(object, key, edges[i]);
        write_answer(a, root);
    }
    (void)fclose(a->to);
    (void)fprintf(a->answers, "%s @%s %08" PRIx32 "\n", name, key, checksum(text));
    free(text);
}

/* Asks `root` with each member of `object`, which is in it, changed. */
static void ask_members(struct asking *a, const char *name, json_t *root, json_t *object)
{
    json_t *names = json_deep_copy(object), *value;
    const char *key;
    json_object_foreach(names, key, value)
    {
        json_t *old = json_incref(json_object_get(object, key)), *other = other_value(value);
        if (json_is_object(old)) {
            ask_members(a, name, root, old);
        }
        (void)json_object_del(object, key);
        ask(a, name, '-', key, root);
        if (other) {
            (void)json_object_set_new(object, key, other);
            ask(a, name, '+', key, root);
        }
        ask_edges(a, name, root, object, key);
        (void)json_object_set_new(object, key, old);
    }
    json_decref(names);
}

/* A number of layers becomes the most, and lists with an element for each layer begin again. */
static void deepen(json_t *object, size_t layers)
{
    json_t *value;
    const char *key;
    json_object_foreach(object, key, value)
    {
        const size_t size = json_array_size(value);
        if (json_is_object(value)) {
            deepen(value, layers);
        } else if (json_is_integer(value) && (size_t)json_integer_value(value) == layers &&
                   strstr(key, "layer")) {
            (void)json_integer_set(value, RK_LAYER_MAX);
        }
        for (size_t i = size; size == layers && i < RK_LAYER_MAX; i++) {
            (void)json_array_append_new(value, json_deep_copy(json_array_get(value, i % size)));
        }
    }
}

static void ask_deepest(struct asking *a, const char *name, const json_t *config)
{
    static const char *const keys[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers"};
    const json_t *inner = json_object_get(config, "text_config");
    json_t *layers = NULL, *deep = json_deep_copy(config);
    for (size_t i = 0; !layers && i < sizeof(keys) / sizeof(keys[0]); i++) {
        layers = json_object_get(config, keys[i]);
        layers = layers ? layers : json_object_get(inner, keys[i]);
    }
    if (json_integer_value(layers) > 1) {
        deepen(deep, (size_t)json_integer_value(layers));
        ask(a, name, '*', "layers", deep);
    }
    json_decref(deep);
}

static void ask_config(struct asking *a, const char *name, json_t *config)
{
    ask(a, name, '=', "", config);
    if (a->deepens) {
        ask_deepest(a, name, config);
    }
    ask_members(a, name, config, config);
    free(a->before);
    a->before = NULL;
}

/* ---- configurations -------------------------------------------------------------------------- */

static json_t *load(const char *path)
{
    rk_json_doc doc;
    rk_error err;
    if (rk_json_load_python(path, &doc, &err)) {
        (void)fprintf(stderr, "%s: %s\n", path, err.message);
        exit(2);
    }
    json_t *root = json_incref(doc.root);
    rk_json_clear(&doc);
    return root;
}

static void ask_published(struct asking *a, const char *path)
{
    json_t *root = load(path), *entry;
    size_t i;
    json_array_foreach(json_object_get(root, "models"), i, entry)
    {
        ask_config(a, json_string_value(json_object_get(entry, "name")),
                   json_object_get(entry, "config"));
    }
    json_decref(root);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void ask_folder(struct asking *a, const char *folder)
{
    static char names[FILES_MOST][256];
    size_t count = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened)) != NULL && count < FILES_MOST;) {
        if (strstr(entry->d_name, ".json")) {
            (void)snprintf(names[count++], sizeof(names[0]), "%s", entry->d_name);
        }
    }
    if (opened) {
        (void)closedir(opened);
    }
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%.3000s/%.255s", folder, names[i]);
        json_t *config = load(path);
        ask_config(a, names[i], config);
        json_decref(config);
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Prints lines that differ, and returns how many. */
static int compare(const char *path, FILE *now)
{
    char one[LINE], other[LINE];
    int count = 0;
    FILE *recorded = fopen(path, "r");
    rewind(now);
    while (recorded) {
        const bool more = fgets(one, sizeof(one), recorded) != NULL,
                   read = fgets(other, sizeof(other), now) != NULL;
        if (!more && !read) {
            break;
        }
        if (more != read || strcmp(one, other) != 0) {
            if (++count <= 20) {
                (void)printf("- %s+ %s", more ? one : "\n", read ? other : "\n");
            }
        }
    }
    if (recorded) {
        (void)fclose(recorded);
    }
    return recorded ? count : 1;
}

int main(int argc, char **argv)
{
    const bool renew = argc > 3 && strcmp(argv[argc - 1], "--renew") == 0;
    struct asking a = {.answers = argc > 3 ? (renew ? fopen(argv[1], "w") : tmpfile()) : NULL};
    rk_error err;
    if (!a.answers || rk_system_create("h100-sxm", &a.system, &err)) {
        (void)fputs("usage: changed ANSWERS CONFIGS.json FOLDER... [--renew]\n", stderr);
        return 2;
    }
    ask_published(&a, argv[2]);
    a.deepens = true;
    for (int i = 3; i < argc - renew; i++) {
        ask_folder(&a, argv[i]);
    }
    const int count = renew ? 0 : compare(argv[1], a.answers);
    (void)fclose(a.answers);
    rk_system_free(a.system);
    if (count) {
        (void)printf("%d answers differ; where that is meant: ninja -C build renew-models\n",
                     count);
    }
    return count > 0;
}
