/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates loss laws, compute-optimal sizes and critical batches, and reads their documents. */
#include "run/scaling_law.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- loss ---------------------------------------------------------------------------------- */

double rk_loss_of(const rk_loss_law *law, double parameters, double tokens)
{
    assert(parameters > 0 && tokens > 0);
    const rk_law_term *n = &law->parameters, *d = &law->tokens;
    if (law->form == RK_LOSS_JOINT) {
        return pow(pow(n->coefficient / parameters, n->exponent / d->exponent) +
                       d->coefficient / tokens,
                   d->exponent);
    }
    return law->floor + n->coefficient / pow(parameters, n->exponent) +
           d->coefficient / pow(tokens, d->exponent);
}

rk_status rk_loss_tokens(const rk_loss_law *law, double parameters, double loss, double *tokens,
                         rk_error *err)
{
    const rk_law_term *n = &law->parameters, *d = &law->tokens;
    const double floor = rk_loss_of(law, parameters, HUGE_VAL);
    if (!(loss > floor)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%.4g parameters cannot reach a loss of %.4f: by the law %s they stay above "
                       "%.4f; take a larger model or a higher loss",
                       parameters, loss, law->name, floor);
    }
    *tokens = law->form == RK_LOSS_JOINT
                  ? d->coefficient / (pow(loss, 1 / d->exponent) -
                                      pow(n->coefficient / parameters, n->exponent / d->exponent))
                  : pow(d->coefficient / (loss - floor), 1 / d->exponent);
    return RK_OK;
}

double rk_loss_lowest(const rk_loss_law *law, double parameters)
{
    return law->most_tokens > 0 ? rk_max(rk_loss_of(law, parameters, law->most_tokens),
                                         rk_loss_of(law, law->most_parameters, law->most_tokens))
                                : 0;
}

rk_status rk_loss_tokens_in_range(const rk_loss_law *law, double parameters, double loss,
                                  double *tokens, rk_error *err)
{
    char n[RK_NUMBER_TEXT_SIZE], most_n[RK_NUMBER_TEXT_SIZE], most_d[RK_NUMBER_TEXT_SIZE];
    const double lowest = rk_loss_lowest(law, parameters);
    if (loss >= lowest) {
        return rk_loss_tokens(law, parameters, loss, tokens, err);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "a loss of %.4g is out of the range of the law %s, which rests on runs of up to "
                   "%s parameters and %s tokens: with %s parameters it is valid for losses of "
                   "%.4g or more; give one of them, or --tokens",
                   loss, law->name, rk_count_text(law->most_parameters, most_n),
                   rk_count_text(law->most_tokens, most_d), rk_count_text(parameters, n),
                   ceil(1000 * lowest) / 1000);
}

/* ---- batches ------------------------------------------------------------------------------- */

double rk_batch_critical(const rk_batch_law *law, double tokens, double loss)
{
    return law->unit_tokens * law->term.coefficient *
           (law->by_loss ? pow(loss, -law->term.exponent) : pow(tokens, law->term.exponent));
}

double rk_batch_tokens_factor(double batch, double reference, double critical)
{
    return (1 + batch / critical) / (1 + reference / critical);
}

/* ---- documents ----------------------------------------------------------------------------- */

#define MOST 1e30

static const char *const loss_forms[] = {"sum", "joint", NULL};
static const char *const law_counts[] = {"all", "without_embedding", NULL};
static const char *const batch_forms[] = {"tokens", "loss", NULL};

static const rk_field term_fields[] = {
    RK_FIELD("coefficient", NUMBER, offsetof(rk_law_term, coefficient), .above_min = true,
             .max = MOST, .help = "of the term"),
    RK_FIELD("exponent", NUMBER, offsetof(rk_law_term, exponent), .above_min = true, .max = 100,
             .help = "of the term"),
};

#define MOST_OF(name_, member, help_)                                                              \
    RK_FIELD(name_, NUMBER, offsetof(rk_loss_law, member), .above_min = true, .max = MOST,         \
             .help = help_)

static const rk_field range_fields[] = {
    MOST_OF("parameters", most_parameters, "most of a run that the law rests on"),
    MOST_OF("tokens", most_tokens, "likewise"),
};

static const rk_field loss_fields[] = {
    RK_FIELD("text", TEXT, offsetof(rk_loss_law, text), .optional = true, .size = RK_LAW_NAME_SIZE,
             .help = "that the losses are of: laws of the same text are compared"),
    RK_FIELD("range", GROUP, 0, .optional = true, .group = range_fields,
             .group_count = COUNT(range_fields),
             .help = "parameters and tokens of the largest runs that the law rests on"),
    RK_FIELD("form", ENUM, offsetof(rk_loss_law, form), .names = loss_forms,
             .help = "sum: floor + A/N^a + B/D^b; joint: ((A/N)^(a/b) + B/D)^b"),
    RK_FIELD("counts", ENUM, offsetof(rk_loss_law, counts), .optional = true, .names = law_counts,
             .help = "which parameters N counts"),
    RK_FIELD("floor", NUMBER, offsetof(rk_loss_law, floor), .max = MOST, .unit = "nats per token",
             .help = "loss of an endless model after endless tokens"),
    RK_FIELD("parameters", GROUP, offsetof(rk_loss_law, parameters), .group = term_fields,
             .group_count = COUNT(term_fields), .help = "A and a"),
    RK_FIELD("tokens", GROUP, offsetof(rk_loss_law, tokens), .group = term_fields,
             .group_count = COUNT(term_fields), .help = "B and b"),
};

/* A law of batches as it is written. */
struct batch_fields {
    unsigned form;
    double coefficient, exponent, unit_tokens;
};

#define BATCH(name_)                                                                               \
    RK_FIELD(#name_, NUMBER, offsetof(struct batch_fields, name_), .above_min = true, .max = MOST, \
             .help = "of the law")

static const rk_field batch_fields[] = {
    RK_FIELD("form", ENUM, offsetof(struct batch_fields, form), .names = batch_forms,
             .help = "tokens: coefficient D^exponent; loss: coefficient / L^exponent"),
    BATCH(coefficient),
    BATCH(exponent),
    BATCH(unit_tokens),
};

/* Reads a document of the catalogue by a table of fields. */
static rk_status load(const char *name, const char *kind, const rk_field *fields, size_t count,
                      void *out, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, kind, &doc, err);
    if (status) {
        return status;
    }
    status = rk_fields_read(doc.root, "", fields, count, RK_UNKNOWN_REFUSE, out, err);
    rk_error_set_file(status ? err : NULL, doc.name);
    rk_json_clear(&doc);
    return status;
}

rk_status rk_loss_law_load(const char *name, rk_loss_law *law, rk_error *err)
{
    *law = (rk_loss_law){.form = RK_LOSS_SUM};
    (void)snprintf(law->name, sizeof(law->name), "%s", name);
    return load(name, "scaling_laws", loss_fields, COUNT(loss_fields), law, err);
}

static int by_tokens(const void *a, const void *b)
{
    const double x = ((const rk_law_tokens *)a)->tokens, y = ((const rk_law_tokens *)b)->tokens;
    return (x > y) - (x < y);
}

rk_status rk_loss_others(const rk_loss_law *law, const double parameters[RK_LAW_COUNTS_COUNT],
                         double loss, rk_law_tokens others[RK_LAWS_MAX], int *count, rk_error *err)
{
    rk_status status = RK_OK;
    *count = 0;
    for (size_t i = 0; i < rk_catalogue_count && *count < RK_LAWS_MAX && !status; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        rk_loss_law other;
        rk_law_tokens *out = &others[*count];
        if (strcmp(entry->kind, "scaling_laws") != 0 || strcmp(entry->name, law->name) == 0) {
            continue;
        }
        status = rk_loss_law_load(entry->name, &other, err);
        if (!status && other.text[0] && strcmp(other.text, law->text) == 0 &&
            !rk_loss_tokens_in_range(&other, parameters[other.counts], loss, &out->tokens, NULL)) {
            (void)snprintf(out->name, sizeof(out->name), "%s", other.name);
            (*count)++;
        }
    }
    qsort(others, (size_t)*count, sizeof(others[0]), by_tokens);
    return status;
}

rk_status rk_batch_law_load(const char *name, rk_batch_law *law, rk_error *err)
{
    struct batch_fields read = {0};
    const rk_status status =
        load(name, "batch_laws", batch_fields, COUNT(batch_fields), &read, err);
    *law = (rk_batch_law){.by_loss = read.form == 1,
                          .term = {read.coefficient, read.exponent},
                          .unit_tokens = read.unit_tokens};
    (void)snprintf(law->name, sizeof(law->name), "%s", name);
    return status;
}
