/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a document, by its name. */
#ifndef RK_IO_DOCUMENT_H
#define RK_IO_DOCUMENT_H

#include "io/json.h"

typedef enum rk_document_kind {
    RK_DOCUMENT_CALCULON_APP,
    RK_DOCUMENT_CALCULON_SYS,
    RK_DOCUMENT_CALCULON_EXE,
    RK_DOCUMENT_MODEL, /* ours, or a Hugging Face config.json */
    RK_DOCUMENT_ACCELERATOR,
    RK_DOCUMENT_SYSTEM,
    RK_DOCUMENT_STACK,
} rk_document_kind;
#define RK_DOCUMENT_KIND_COUNT 7

/* The catalogue folder of a kind, e.g. "calculon/systems"; NULL: the catalogue has none. */
extern const char *const rk_document_folders[RK_DOCUMENT_KIND_COUNT];

/*
 * Finds the kind of a document, by the keys of a file (.json, .json.gz) or by the folder of a
 * catalogue name.  The values are not checked.
 */
rk_status rk_document_identify(const char *name, rk_document_kind *kind, rk_error *err);

/* Whether an object is a Hugging Face config.json, which is a model too. */
bool rk_document_is_config(const json_t *object);

/*
 * Loads a document: a file, a folder with a config.json, or the entry of the catalogue folder.  In
 * a Hugging Face file the numbers Infinity and NaN, which Python writes, are read as null; in all
 * other documents they are an error.  The caller releases the document with rk_json_clear.
 */
rk_status rk_document_load(const char *name, const char *folder, rk_json_doc *doc, rk_error *err);

/* Writes what a document says of itself ("description"), "" when it does not. */
rk_status rk_document_description(const char *name, rk_document_kind kind, char *out, size_t size,
                                  rk_error *err);

#endif
