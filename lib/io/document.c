/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies and loads JSON documents: catalogue entries, files, and Hugging Face folders. */
#include "io/document.h"

#include "base/error.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

/* Keys that no later kind has: several, so that one may be misspelt. */
#define TELLING_KEY_COUNT 3
static const char *const telling_keys[RK_DOCUMENT_KIND_COUNT][TELLING_KEY_COUNT] = {
    [RK_DOCUMENT_CALCULON_APP] = {"feedforward", "num_blocks", "attn_heads"},
    [RK_DOCUMENT_CALCULON_SYS] = {"networks", "matrix", "mem1"},
    [RK_DOCUMENT_CALCULON_EXE] = {"tensor_par", "pipeline_par", "num_procs"},
    [RK_DOCUMENT_MODEL] = {"layers", "heads", "vocab"},
    [RK_DOCUMENT_ACCELERATOR] = {"compute", "gemm", "attention"},
    [RK_DOCUMENT_SYSTEM] = {"accelerator", "tiers", "price_usd_per_hour"},
    [RK_DOCUMENT_STACK] = {"rates", "traffic", "communication"},
};

static const char *const kind_names[RK_DOCUMENT_KIND_COUNT] = {
    [RK_DOCUMENT_CALCULON_APP] = "an application of Calculon",
    [RK_DOCUMENT_CALCULON_SYS] = "a system of Calculon",
    [RK_DOCUMENT_CALCULON_EXE] = "an execution of Calculon",
    [RK_DOCUMENT_MODEL] = "a model",
    [RK_DOCUMENT_ACCELERATOR] = "an accelerator",
    [RK_DOCUMENT_SYSTEM] = "a system",
    [RK_DOCUMENT_STACK] = "a stack",
};
const char *const rk_document_folders[RK_DOCUMENT_KIND_COUNT] = {
    [RK_DOCUMENT_CALCULON_APP] = "calculon/applications",
    [RK_DOCUMENT_CALCULON_SYS] = "calculon/systems",
    [RK_DOCUMENT_MODEL] = "models",
    [RK_DOCUMENT_ACCELERATOR] = "accelerators",
    [RK_DOCUMENT_SYSTEM] = "systems",
    [RK_DOCUMENT_STACK] = "stacks",
};

/* Returns the folder that has the name, else one with a similar name, else models. */
static const char *find_folder(const char *name)
{
    const char *similar = rk_document_folders[RK_DOCUMENT_MODEL];
    if (rk_json_is_text(name)) {
        return similar; /* which is in none */
    }
    for (int i = 0; i < RK_DOCUMENT_KIND_COUNT; i++) {
        const char *folder = rk_document_folders[i];
        if (folder && rk_catalogue_find(folder, name)) {
            return folder;
        }
        char longer[8] = "";
        const bool calculon = folder && strncmp(folder, "calculon/", strlen("calculon/")) == 0;
        if (folder && !calculon && rk_catalogue_list(folder, name, longer, sizeof(longer)) > 0) {
            return folder;
        }
        const char *nearest = folder ? rk_catalogue_nearest(folder, name) : NULL;
        /* Typing errors rarely change the first letter. */
        if (nearest && nearest[0] == tolower((unsigned char)name[0])) {
            similar = folder;
        }
    }
    return similar;
}

static bool has_telling_key(const json_t *object, int kind)
{
    assert(kind >= 0 && kind < RK_DOCUMENT_KIND_COUNT);
    for (int i = 0; i < TELLING_KEY_COUNT; i++) {
        if (json_object_get(object, telling_keys[kind][i])) {
            return true;
        }
    }
    return false;
}

bool rk_document_is_config(const json_t *object)
{
    /* Mamba's authors name neither type nor class */
    return json_object_get(object, "model_type") || json_object_get(object, "architectures") ||
           json_object_get(object, "ssm_cfg");
}

/* Names the first of its keys for each kind that the document could have been. */
static rk_status fail_unknown(const rk_json_doc *doc, rk_error *err)
{
    char list[400] = "";
    size_t used = 0;
    for (int i = 0; i < RK_DOCUMENT_KIND_COUNT && used < sizeof(list); i++) {
        const int n = snprintf(list + used, sizeof(list) - used, "%s%s (\"%s\")",
                               i == 0                            ? ""
                               : i + 1 == RK_DOCUMENT_KIND_COUNT ? " or "
                                                                 : ", ",
                               kind_names[i], telling_keys[i][0]);
        used += n > 0 ? (size_t)n : 0;
    }
    (void)rk_fail(err, RK_ERR_INVALID, "no key says whether this is %s", list);
    rk_error_set_file(err, doc->name);
    return RK_ERR_INVALID;
}

/* Writes the path of the config.json of a folder; false: the name is not a folder. */
static bool find_config(const char *name, const char *folder, char *out, size_t size)
{
    struct stat about;
    if (rk_json_is_file(name) || (folder && rk_catalogue_find(folder, name)) ||
        stat(name, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return false;
    }
    const size_t length = strlen(name);
    const int written = snprintf(out, size, "%s%sconfig.json", name,
                                 length > 0 && name[length - 1] == '/' ? "" : "/");
    return written > 0 && (size_t)written < size;
}

/*
 * Refuses the configurations of an adapter, which names its model and not its layers, and of a
 * quantised checkpoint: of GPTQ and AWQ (quant_method, bits), of ModelOpt
 * (quantization.quant_algo).
 */
static rk_status refuse_part(rk_json_doc *doc, rk_error *err)
{
    char base[RK_JSON_TEXT_SIZE];
    const json_t *root = doc->root;
    const char *model = json_string_value(json_object_get(root, "base_model_name_or_path"));
    const json_int_t rank = json_integer_value(json_object_get(root, "r"));
    rk_status status = RK_OK;
    if (json_object_get(root, "peft_type")) {
        status = rk_fail(
            err, RK_ERR_INVALID,
            "this is the configuration of an adapter; give its model, %s, and --lora-rank "
            "%d",
            model ? rk_json_printable(model, base, sizeof(base)) : "the one it was made for",
            rank > 0 && rank < 65536 ? (int)rank : 16);
    } else if (json_object_get(root, "quant_method") || json_object_get(root, "desc_act") ||
               json_object_get(json_object_get(root, "quantization"), "quant_algo")) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "this says how a checkpoint is quantised; give the config.json beside it");
    }
    if (status) {
        rk_error_set_file(err, doc->name);
        rk_json_clear(doc);
    }
    return status;
}

rk_status rk_document_load(const char *name, const char *folder, rk_json_doc *doc, rk_error *err)
{
    char path[PATH_SIZE];
    rk_json_doc config;
    rk_error ignored;
    if (find_config(name, folder, path, sizeof(path))) {
        name = path;
    }
    const rk_status status = rk_json_load(name, folder, doc, err);
    if (status != RK_ERR_SYNTAX || !rk_json_is_file(name) ||
        rk_json_load_python(name, &config, &ignored)) {
        return status ? status : refuse_part(doc, err);
    }
    if (!rk_document_is_config(config.root)) {
        rk_json_clear(&config);
        return status;
    }
    *doc = config;
    return RK_OK;
}

/* Whether a name is of the catalogue, whose folders are kinds. */
static bool find_kind(const char *name, rk_document_kind *kind)
{
    for (int i = 0; i < RK_DOCUMENT_KIND_COUNT && !rk_json_is_text(name); i++) {
        const char *folder = rk_document_folders[i];
        if (folder && !rk_json_is_file(name) && rk_catalogue_find(folder, name)) {
            *kind = (rk_document_kind)i;
            return true;
        }
    }
    return false;
}

rk_status rk_document_identify(const char *name, rk_document_kind *kind, rk_error *err)
{
    rk_json_doc doc;
    if (find_kind(name, kind)) {
        return RK_OK;
    }
    rk_status status = rk_document_load(name, find_folder(name), &doc, err);
    if (status) {
        return status;
    }
    int found = 0;
    while (found < RK_DOCUMENT_KIND_COUNT && !has_telling_key(doc.root, found)) {
        found++;
    }
    if (found == RK_DOCUMENT_KIND_COUNT && rk_document_is_config(doc.root)) {
        found = RK_DOCUMENT_MODEL;
    }
    *kind = (rk_document_kind)found;
    if (found == RK_DOCUMENT_KIND_COUNT) {
        status = fail_unknown(&doc, err);
    }
    rk_json_clear(&doc);
    return status;
}

rk_status rk_document_description(const char *name, rk_document_kind kind, char *out, size_t size,
                                  rk_error *err)
{
    assert(kind < RK_DOCUMENT_KIND_COUNT && size > 0);
    rk_json_doc doc;
    const rk_status status = rk_document_load(name, rk_document_folders[kind], &doc, err);
    out[0] = '\0';
    if (status == RK_OK) {
        const char *text = json_string_value(json_object_get(doc.root, "description"));
        (void)rk_json_printable(text ? text : "", out, size);
        rk_json_clear(&doc);
    }
    return status;
}
