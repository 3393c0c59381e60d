/* SPDX-License-Identifier: Apache-2.0 */
/* Looking documents up in the embedded catalogue, by their names and by the names people type. */
#include "io/catalogue.h"

#include "base/error.h"
#include "base/text.h"
#include "io/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_SIZE 64 /* of a name without case, hyphens and the like */

static int compare_entry(const void *key, const void *element)
{
    const rk_catalogue_entry *a = key, *b = element;
    const int order = strcmp(a->kind, b->kind);
    return order ? order : strcmp(a->name, b->name);
}

static const rk_catalogue_entry *find_exact(const char *kind, const char *name)
{
    const rk_catalogue_entry key = {.kind = kind, .name = name};
    return bsearch(&key, rk_catalogue, rk_catalogue_count, sizeof(key), compare_entry);
}

/* Entries whose kind compares with `kind` below `order`: 0: those before, 1: its own as well. */
static size_t count_before(const char *kind, int order)
{
    size_t low = 0, high = rk_catalogue_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (strcmp(rk_catalogue[middle].kind, kind) < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const rk_catalogue_entry *rk_catalogue_of(const char *kind, const rk_catalogue_entry **end)
{
    *end = rk_catalogue + count_before(kind, 1);
    return rk_catalogue + count_before(kind, 0);
}

/* ---- other names ----------------------------------------------------------------------------- */

/* Whether a letter separates words of a name. */
static bool is_joint(char c)
{
    return c && strchr("-_ ", c);
}

/* Whether the letters at `text` are a month, "2507" or "0324" as releases are dated. */
static bool is_month(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const int first = (text[0] - '0') * 10 + (text[1] - '0');
    const int last = digits == 4 ? (text[2] - '0') * 10 + (text[3] - '0') : 0;
    return digits == 4 && ((first >= 20 && last >= 1 && last <= 12) ||
                           (first >= 1 && first <= 12 && last >= 1 && last <= 31));
}

/*
 * Strips one suffix such as "-instruct", "-2507" or "-awq" from the first `length` letters:
 * fine-tuned and quantised weights, and later releases, have the shape of their base model.
 */
static size_t strip_ending(const char *name, size_t length)
{
    static const char *const endings[] = {
        "-instruct", "-thinking", "-chat", "-base",    "-hf",   "-it",          "-1m",    "-fp8",
        "-fp16",     "-bf16",     "-int8", "-int4",    "-8bit", "-4bit",        "-nvfp4", "-mxfp4",
        "-nf4",      "-gptq",     "-awq",  "-unsloth", "-bnb",  "-dequantized", "-aqlm",  "-2bit",
        "-3bit",     "-1x16",     "-2x8",  "-w4a16",   "-qat",  "-linearized",  "-sft",   "-dpo",
    };
    if (length > 5 && is_joint(name[length - 5]) && is_month(name + length - 4)) {
        return length - 5;
    }
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t end = strlen(endings[i]);
        size_t same = 0;
        while (same < end && same < length) {
            const char wanted = endings[i][end - 1 - same], found = name[length - 1 - same];
            if (tolower((unsigned char)found) != wanted && !(wanted == '-' && is_joint(found))) {
                break;
            }
            same++;
        }
        if (same == end && length > end) {
            return length - end;
        }
    }
    return length;
}

static size_t length_without_ending(const char *name)
{
    size_t length = strlen(name), shorter;
    while ((shorter = strip_ending(name, length)) < length) {
        length = shorter;
    }
    return length;
}

/* Letters of "-instruct" within a name, before its version: "Mistral-7B-Instruct-v0.3". */
static size_t inner_ending(const char *name)
{
    static const char word[] = "instruct";
    const size_t length = strlen(word);
    return is_joint(name[0]) && strncasecmp(name + 1, word, length) == 0 &&
                   is_joint(name[1 + length])
               ? 1 + length
               : 0;
}

/* The distinctive part of a name: "meta-llama/Llama-3.1-405B-Instruct" is "llama3.1405b". */
static void make_key(const char *name, char key[KEY_SIZE])
{
    const char *slash = strrchr(name, '/');
    const char *own = slash ? slash + 1 : name;
    const size_t length = length_without_ending(own);
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < KEY_SIZE; i++) {
        i += inner_ending(own + i);
        if (i < length && !is_joint(own[i])) {
            key[used++] = (char)tolower((unsigned char)own[i]);
        }
    }
    key[used] = '\0';
}

/* Whether the `length` letters at `text` have the key. */
static bool has_key(const char *text, size_t length, const char *key)
{
    char name[KEY_SIZE], own[KEY_SIZE];
    const char *first = text, *slash;
    while ((slash = memchr(first, '/', length - (size_t)(first - text)))) {
        first = slash + 1;
    }
    const bool unlike = tolower((unsigned char)*first) != *key && !is_joint(*first);
    if (length >= sizeof(name) || unlike) {
        return false; /* most differ in their first letter */
    }
    memcpy(name, text, length);
    name[length] = '\0';
    make_key(name, own);
    return strcmp(own, key) == 0;
}

/* A line "alias,name" of data/aliases/KIND.csv; what is left of the table begins at `rest`. */
typedef struct alias_line {
    const char *rest, *end;
    const char *alias;
    size_t length; /* of the alias, which no '\0' ends */
    char name[RK_CATALOGUE_WORDS_SIZE];
} alias_line;

static alias_line first_alias(const char *kind)
{
    const rk_catalogue_entry *table = find_exact("aliases", kind);
    return (alias_line){.rest = table ? table->text : NULL,
                        .end = table ? table->text + table->size : NULL};
}

/* Reads the next line; false after the last one. */
static bool next_alias(alias_line *line)
{
    while (line->rest && line->rest < line->end) {
        const char *at = line->rest;
        const char *line_end = memchr(at, '\n', (size_t)(line->end - at));
        const char *comma = line_end ? memchr(at, ',', (size_t)(line_end - at)) : NULL;
        line->rest = line_end ? line_end + 1 : NULL;
        if (comma && (size_t)(line_end - comma) <= sizeof(line->name)) {
            line->alias = at;
            line->length = (size_t)(comma - at);
            memcpy(line->name, comma + 1, (size_t)(line_end - comma - 1));
            line->name[line_end - comma - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* Finds the line of data/aliases/KIND.csv whose alias has the key. */
static bool find_alias(const char *kind, const char *key, alias_line *line)
{
    *line = first_alias(kind);
    while (next_alias(line)) {
        if (has_key(line->alias, line->length, key)) {
            return true;
        }
    }
    return false;
}

/* Copies the words that a table of data/aliases has for a name; false: none. */
static bool find_words(const char *table, const char *name, char words[RK_CATALOGUE_WORDS_SIZE])
{
    char key[KEY_SIZE];
    alias_line line;
    make_key(name, key);
    const bool found = find_alias(table, key, &line);
    if (found) {
        memcpy(words, line.name, sizeof(line.name));
    }
    return found;
}

rk_status rk_catalogue_check_missing(const char *name, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE], reason[RK_CATALOGUE_WORDS_SIZE];
    return find_words("missing", name, reason)
               ? rk_fail(err, RK_ERR_INVALID, "the catalogue has no %s: %s",
                         rk_json_printable(name, shown, sizeof(shown)), reason)
               : RK_OK;
}

bool rk_catalogue_left_out(const char *name, char words[RK_CATALOGUE_WORDS_SIZE])
{
    return find_words("left-out", name, words);
}

static const rk_catalogue_entry *find_alike(const char *kind, const char *key)
{
    const rk_catalogue_entry *end, *entry = rk_catalogue_of(kind, &end);
    while (entry < end && !has_key(entry->name, strlen(entry->name), key)) {
        entry++;
    }
    return entry < end ? entry : NULL;
}

const rk_catalogue_entry *rk_catalogue_find(const char *kind, const char *name)
{
    char key[KEY_SIZE];
    alias_line line;
    const rk_catalogue_entry *entry = find_exact(kind, name);
    if (entry || !find_exact("aliases", kind)) {
        return entry;
    }
    make_key(name, key);
    entry = find_alike(kind, key);
    return entry || !find_alias(kind, key, &line) ? entry : find_exact(kind, line.name);
}

/* ---- names inside longer ones --------------------------------------------------------------- */

/*
 * Letters of `name` that begin `text`, with any separators ("RTX 4090" has "rtx-4090"), if `text`
 * ends there or goes on with punctuation; 0: none.
 */
static size_t length_at(const char *text, const char *name, size_t length)
{
    size_t letters = 0;
    for (size_t i = 0; i < length; i++) {
        if (is_joint(name[i])) {
            continue;
        }
        while (letters > 0 && is_joint(*text)) {
            text++;
        }
        if (tolower((unsigned char)*text) != tolower((unsigned char)name[i])) {
            return 0;
        }
        letters++;
        text++;
    }
    return isalnum((unsigned char)*text) ? 0 : letters;
}

/* The same anywhere in `text` where a word begins. */
static size_t length_inside(const char *text, const char *name, size_t length)
{
    for (const char *at = text; *at; at++) {
        const bool starts = at == text || !isalnum((unsigned char)at[-1]);
        const size_t letters = starts ? length_at(at, name, length) : 0;
        if (letters > 0) {
            return letters;
        }
    }
    return 0;
}

enum { LETTERS_LEAST = 3 }; /* "v4" is in the names of many things */

/* The entry of the alias with the most letters in `text`, if they are above *most. */
static const rk_catalogue_entry *find_alias_inside(const char *kind, const char *text, size_t *most)
{
    const rk_catalogue_entry *best = NULL;
    alias_line line = first_alias(kind);
    while (next_alias(&line)) {
        const size_t letters = length_inside(text, line.alias, line.length);
        if (letters > *most) {
            best = find_exact(kind, line.name);
            *most = letters;
        }
    }
    return best;
}

const rk_catalogue_entry *rk_catalogue_find_inside(const char *kind, const char *text)
{
    const rk_catalogue_entry *best = NULL, *end, *entry = rk_catalogue_of(kind, &end);
    size_t most = LETTERS_LEAST - 1;
    for (; entry < end; entry++) {
        const size_t letters = length_inside(text, entry->name, strlen(entry->name));
        if (letters > most) {
            best = entry;
            most = letters;
        }
    }
    const rk_catalogue_entry *other = find_alias_inside(kind, text, &most);
    return other ? other : best;
}

/* ---- suggestions ----------------------------------------------------------------------------- */

/* Letters up to the first digit: the family of a model or a machine. */
static size_t family_length(const char *key)
{
    return strcspn(key, "0123456789");
}

static size_t common_length(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] && a[length] == b[length]) {
        length++;
    }
    return length;
}

/* Whether a name has a number of parameters, "8b" or "0.5b", which another size can replace. */
static bool has_size(const char *key)
{
    for (const char *b = strchr(key, 'b'); b; b = strchr(b + 1, 'b')) {
        if (b > key && isdigit((unsigned char)b[-1])) {
            return true;
        }
    }
    return false;
}

/* Moves the names of the family with the longest common prefix to the front; returns how many. */
static size_t keep_relatives(const char *key, const char **names, size_t count, bool *near)
{
    const size_t family = family_length(key);
    size_t longest = family, kept = 0;
    for (size_t i = 0; i < count; i++) {
        char other[KEY_SIZE];
        make_key(names[i], other);
        const size_t common = common_length(key, other);
        if (family == 0 || family_length(other) != family || common < longest) {
            continue;
        }
        kept = common > longest ? 0 : kept;
        longest = common;
        names[kept++] = names[i];
    }
    *near = longest > family; /* a number begins alike, too */
    return kept;
}

/*
 * Suggests a name: one that differs by a letter, else one that continues the given name, else the
 * one of the same family with the longest common prefix, but none of another version ("gpt4"); else
 * the nearest by edit distance.
 */
static const char *choose_nearest(const char *given, const char **names, size_t count)
{
    char key[KEY_SIZE], other[KEY_SIZE];
    const char *nearest = rk_nearest_name_within(given, names, count, 1);
    make_key(given, key);
    for (size_t i = 0; !nearest && strlen(key) > 2 && i < count; i++) {
        make_key(names[i], other);
        nearest = strncmp(other, key, strlen(key)) == 0 ? names[i] : NULL;
    }
    if (nearest) {
        return nearest;
    }
    bool near = false;
    const size_t relatives = keep_relatives(key, names, count, &near);
    if (relatives == 0) {
        return rk_nearest_name(given, names, count);
    }
    return near || has_size(key) ? rk_nearest_name_within(given, names, relatives, KEY_SIZE) : NULL;
}

size_t rk_catalogue_list_family(const char *kind, const char *name, char *list, size_t size)
{
    enum { LETTERS = 3 };
    char key[KEY_SIZE];
    make_key(name, key);
    const size_t length = family_length(key);
    if (key[length] == '\0' || length < LETTERS) {
        return 0;
    }
    key[length] = '\0';
    return rk_catalogue_list(kind, key, list, size);
}

/* Appends a name to a list, or dots if it does not fit. */
static void append_name(const char *name, char *list, size_t size)
{
    assert(size > 0);
    const size_t used = strlen(list), more = strlen(name) + strlen(", ") + strlen("...");
    if (used + more < size) {
        (void)snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
    } else if (used + strlen("...") < size && !rk_ends_with(list, "...")) {
        (void)snprintf(list + used, size - used, "...");
    }
}

size_t rk_catalogue_list(const char *kind, const char *start, char *list, size_t size)
{
    char key[KEY_SIZE], other[KEY_SIZE];
    const rk_catalogue_entry *end, *entry = rk_catalogue_of(kind, &end);
    size_t count = 0;
    make_key(start, key);
    for (; key[0] && entry < end; entry++) {
        make_key(entry->name, other);
        if (strncmp(other, key, strlen(key)) == 0) {
            append_name(entry->name, list, size);
            count++;
        }
    }
    return count;
}

size_t rk_catalogue_list_ending(const char *kind, const char *end, char *list, size_t size)
{
    const size_t length = strlen(end);
    const rk_catalogue_entry *last, *entry = rk_catalogue_of(kind, &last);
    size_t count = 0;
    for (; length > 1 && entry < last; entry++) {
        const char *name = entry->name;
        const size_t all = strlen(name);
        if (all > length && name[all - length - 1] == '-' &&
            strcasecmp(name + all - length, end) == 0) {
            append_name(name, list, size);
            count++;
        }
    }
    return count;
}

/* The entry of an alias that is one letter off: "h101" is h100, an alias of h100-sxm. */
static const char *nearest_alias(const char *kind, const char *name)
{
    alias_line line = first_alias(kind);
    while (next_alias(&line)) {
        char alias[KEY_SIZE];
        const char *const names[] = {alias};
        if (line.length < sizeof(alias) && line.length == strlen(name)) {
            memcpy(alias, line.alias, line.length);
            alias[line.length] = '\0';
            const rk_catalogue_entry *entry =
                rk_nearest_name_within(name, names, 1, 1) ? find_exact(kind, line.name) : NULL;
            if (entry) {
                return entry->name;
            }
        }
    }
    return NULL;
}

const char *rk_catalogue_nearest(const char *kind, const char *name)
{
    const char **names = malloc(rk_catalogue_count * sizeof(*names));
    const char *nearest = NULL;
    const rk_catalogue_entry *end, *entry = rk_catalogue_of(kind, &end);
    size_t count = 0;
    for (; names && entry < end; entry++) {
        names[count++] = entry->name;
    }
    if (names) {
        const char *alias = nearest_alias(kind, name);
        nearest = choose_nearest(name, names, count);
        nearest = nearest && alias ? alias : nearest;
    }
    free(names);
    return nearest;
}
