/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps documents of the catalogue in a list that only grows, so that a lookup needs the lock
 * alone. */
#include "request/shared_documents.h"

#include "base/error.h"
#include "io/catalogue.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names can be spelled in many ways: documents beyond so many are read every time. */
enum { KEY_SIZE = 96, DOCUMENTS_MOST = 1024 };

typedef enum kept_kind { KEPT_MODEL, KEPT_SYSTEM, KEPT_SOFTWARE } kept_kind;

/* A document, which does not change once it is in the list. */
struct kept {
    struct kept *next;
    kept_kind kind;
    char key[KEY_SIZE];
    union {
        rk_model model;
        rk_system system;
        rk_software software;
    };
};

struct rk_documents {
    pthread_mutex_t lock;
    struct kept *first; /* owned; under lock, as the count */
    size_t count;
};

rk_status rk_documents_create(rk_documents **documents, rk_error *err)
{
    *documents = calloc(1, sizeof(**documents));
    if (!*documents) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for documents");
    }
    (void)pthread_mutex_init(&(*documents)->lock, NULL);
    return RK_OK;
}

static void free_kept(struct kept *kept)
{
    if (kept->kind == KEPT_SYSTEM) {
        rk_system_clear(&kept->system);
    }
    free(kept);
}

void rk_documents_free(rk_documents *documents)
{
    if (!documents) {
        return;
    }
    while (documents->first) {
        struct kept *next = documents->first->next;
        free_kept(documents->first);
        documents->first = next;
    }
    (void)pthread_mutex_destroy(&documents->lock);
    free(documents);
}

/* The document with the kind and the key; NULL: none.  The caller holds the lock. */
static struct kept *find(const rk_documents *documents, kept_kind kind, const char *key)
{
    struct kept *kept = documents->first;
    while (kept && (kept->kind != kind || strcmp(kept->key, key) != 0)) {
        kept = kept->next;
    }
    return kept;
}

/* The same, with the lock; *full: no more are kept. */
static const struct kept *look_up(rk_documents *documents, kept_kind kind, const char *key,
                                  bool *full)
{
    (void)pthread_mutex_lock(&documents->lock);
    const struct kept *kept = find(documents, kind, key);
    *full = documents->count >= DOCUMENTS_MOST;
    (void)pthread_mutex_unlock(&documents->lock);
    return kept;
}

/* Adds a document, or frees it where another thread was faster.  Returns the one in the list. */
static const struct kept *add(rk_documents *documents, struct kept *own)
{
    (void)pthread_mutex_lock(&documents->lock);
    struct kept *kept = find(documents, own->kind, own->key);
    if (!kept) {
        kept = own;
        own->next = documents->first;
        documents->first = own;
        documents->count++;
    }
    (void)pthread_mutex_unlock(&documents->lock);
    if (kept != own) {
        free_kept(own);
    }
    return kept;
}

/* The text or file of a document. */
struct source {
    const char *name; /* of a model or a system */
    const rk_software_request *wish;
    const rk_accelerator *accelerator;
};

static rk_status read(const struct source *source, struct kept *kept, rk_error *err)
{
    switch (kept->kind) {
    case KEPT_MODEL:
        return rk_model_load(source->name, &kept->model, err);
    case KEPT_SYSTEM:
        return rk_system_load(source->name, &kept->system, err);
    case KEPT_SOFTWARE:
        break;
    }
    return rk_software_choose(source->wish, source->accelerator, &kept->software, err);
}

/* Finds a document, or reads and keeps it.  *kept is NULL where none more is kept. */
static rk_status keep(rk_documents *documents, kept_kind kind, const char *key,
                      const struct source *source, const struct kept **kept, rk_error *err)
{
    bool full;
    *kept = look_up(documents, kind, key, &full);
    if (*kept || full) {
        return RK_OK;
    }
    struct kept *own = calloc(1, sizeof(*own));
    if (!own) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a document");
    }
    own->kind = kind;
    memcpy(own->key, key, strlen(key));
    const rk_status status = read(source, own, err);
    if (status) {
        free(own); /* a system that was not read has no tables */
        return status;
    }
    *kept = add(documents, own);
    return RK_OK;
}

/* Whether a name can only mean a document of the catalogue. */
static bool is_fixed(const char *name)
{
    return strlen(name) < KEY_SIZE && !rk_json_is_text(name) && !rk_json_is_file(name);
}

rk_status rk_documents_model(rk_documents *documents, const char *name, rk_model *model,
                             rk_error *err)
{
    const struct kept *kept = NULL;
    /* other names may be folders */
    const bool fixed = documents && is_fixed(name) && rk_catalogue_find("models", name);
    const rk_status status =
        fixed ? keep(documents, KEPT_MODEL, name, &(struct source){.name = name}, &kept, err)
              : RK_OK;
    if (status || !kept) {
        return status ? status : rk_model_load(name, model, err);
    }
    *model = kept->model;
    return RK_OK;
}

rk_status rk_documents_system(rk_documents *documents, const char *name, rk_system *system,
                              rk_error *err)
{
    const struct kept *kept = NULL;
    const rk_status status =
        documents && is_fixed(name)
            ? keep(documents, KEPT_SYSTEM, name, &(struct source){.name = name}, &kept, err)
            : RK_OK;
    if (status || !kept) {
        return status ? status : rk_system_load(name, system, err);
    }
    *system = kept->system;
    rk_system_share(system);
    return RK_OK;
}

rk_status rk_documents_software(rk_documents *documents, const rk_software_request *wish,
                                const rk_accelerator *accelerator, rk_software *software,
                                rk_error *err)
{
    char key[KEY_SIZE];
    const struct kept *kept = NULL;
    rk_status status = RK_OK;
    if (documents && !wish->known && (!wish->stack || is_fixed(wish->stack))) {
        const int length =
            snprintf(key, sizeof(key), "%d,%d,%d,%d,%s", wish->framework, wish->convention,
                     wish->quantised, (int)accelerator->generation, wish->stack ? wish->stack : "");
        const struct source source = {.wish = wish, .accelerator = accelerator};
        status = length > 0 && (size_t)length < sizeof(key)
                     ? keep(documents, KEPT_SOFTWARE, key, &source, &kept, err)
                     : RK_OK;
    }
    if (status || !kept) {
        return status ? status : rk_software_choose(wish, accelerator, software, err);
    }
    *software = kept->software;
    return RK_OK;
}
