/* SPDX-License-Identifier: Apache-2.0 */
/* Maps lists, compile switches and words of frameworks in launches to option values. */
#include "request/launch_words.h"

#include "base/units.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *rk_launch_list_of(const char *value, char out[RK_LAUNCH_LIST_SIZE])
{
    size_t used = 0;
    for (const char *c = value; *c && used + 1 < RK_LAUNCH_LIST_SIZE; c++) {
        const bool part = isalnum((unsigned char)*c) || strchr("_-.", *c);
        if (part) {
            out[used++] = *c;
        } else if (used > 0 && out[used - 1] != ',') {
            out[used++] = ',';
        }
    }
    used -= used > 0 && out[used - 1] == ',';
    out[used] = '\0';
    return out;
}

const char *rk_launch_choose(const char *value, const char *const *names,
                             char out[RK_LAUNCH_LIST_SIZE])
{
    char list[RK_LAUNCH_LIST_SIZE], *rest = rk_launch_list_of(value, list) ? list : NULL;
    size_t used = 0;
    out[0] = '\0';
    for (char *word; (word = strtok_r(rest, ",", &rest));) {
        for (size_t i = 0; names[i]; i++) {
            if (strcmp(names[i], word) == 0 && used + strlen(word) + 2 < RK_LAUNCH_LIST_SIZE) {
                used += (size_t)snprintf(out + used, RK_LAUNCH_LIST_SIZE - used, "%s%s",
                                         used ? "," : "", word);
            }
        }
    }
    return out;
}

bool rk_launch_compiles(const char *parts)
{
    return parts && (strcmp(parts, "true") == 0 || strstr(parts, "model"));
}

/* Words of frameworks for values of a field, in full or, with `part`, as a part of theirs. */
static const struct {
    const char *field, *word;
    bool part;
    const char *as, *note; /* what the option's word does not count; NULL: it means the same */
} words[] = {
    {"cp_kind", "p2p", false, "ring", NULL},
    {"cp_kind", "megatron_cp_algo", false, "ring", NULL},
    {"cp_kind", "a2a", false, "ulysses", NULL},
    {"cp_kind", "ulysses_cp_algo", false, "ulysses", NULL},
    {"cp_kind", "ulysses (", true, "ulysses", NULL}, /* a remark follows */
    {"cp_kind", "all_gather", false, "all-gather", NULL},
    {"cp_kind", "allgather", false, "all-gather", NULL},
    {"cp_kind", "kvallgather_cp_algo", false, "all-gather", NULL},
    {"cp_kind", "a2a+p2p", false, "ring", "priced as one ring, without groups that share heads"},
    {"cp_kind", "hybrid", true, "ring", "priced as one ring, without groups that share heads"},
    {"cp_kind", "adaptive", true, "ring", "priced as a ring that sends all blocks"},
    {"schedule", "dualpipe-v", false, "interleaved", "priced as interleaved: its V has less idle"},
    {"schedule", "interleavedzerobubble", false, "interleaved",
     "priced as interleaved: gradients of weights do not fill its bubble"},
    {"schedule", "loopedbfs", false, "interleaved", "priced as interleaved, which holds less"},
    {"optimizer", "galore", true, "adamw", "priced as AdamW, whose states are not of low rank"},
    {"optimizer", "apollo", true, "adamw", "priced as AdamW, whose states are not of low rank"},
    {"optimizer", "grokadam", true, "adamw", "priced as AdamW, which has a state less"},
    {"optimizer", "ademamix", true, "adamw", "priced as AdamW, which has a state less"},
    {"optimizer", "adalomo", true, "adafactor", "priced as Adafactor, whose states are as small"},
    {"optimizer", "came", true, "adafactor",
     "priced as Adafactor, whose states are about as small"},
    {"optimizer", "lomo", true, "sgd-plain", "priced as SGD that keeps gradients for a whole step"},
    {"optimizer", "lion", true, "sgd", "priced as SGD with momentum, which has as many states"},
    {"optimizer", "rmsprop", true, "sgd", "priced as SGD with momentum, which has as many states"},
    {"optimizer", "adagrad", true, "sgd", "priced as SGD with momentum, which has as many states"},
    {"optimizer", "dion", true, "muon", "priced as Muon"},
    {"optimizer", "adamw-", true, NULL, NULL}, /* one of the option's own */
};

const char *rk_launch_word_of(const char *field, const char *value, const char **note)
{
    *note = NULL;
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcmp(field, words[i].field) == 0 &&
            (words[i].part ? strstr(value, words[i].word) != NULL
                           : strcmp(value, words[i].word) == 0)) {
            *note = words[i].note;
            return words[i].as ? words[i].as : value;
        }
    }
    if (strcmp(field, "optimizer") != 0 || !strstr(value, "adam")) {
        return value;
    }
    return strstr(value, "8bit") || strstr(value, "8-bit") || strstr(value, "bnb") ? "adam-8bit"
           : strstr(value, "4bit")                                                 ? "adamw-4bit"
                                                                                   : "adamw";
}
