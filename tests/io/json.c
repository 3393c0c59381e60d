/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON: positions of faults, files packed and plain, the catalogue. */
#include "io/json.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/csv_in.h"
#include "io/out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scratch.h"

typedef struct bad_text {
    const char *text;
    size_t size;
    rk_status code;
    int line, column;
    const char *says; /* part of the message */
} bad_text;

#define TEXT(literal) literal, sizeof(literal) - 1

static void test_positions(void **state)
{
    static const bad_text cases[] = {
        {TEXT("{\"a\": 1,\n \"b\" 2}"), RK_ERR_SYNTAX, 2, 6, "':' expected near '2'"},
        {TEXT("{\"a\": nonsense}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'nonsense'"},
        {TEXT("{\"\xc3\xa9\": nonsense}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'nonsense'"},
        {TEXT("{\"a\": 1,\n \"a\": 2}"), RK_ERR_SYNTAX, 2, 2,
         "the key \"a\" occurs twice in the same object"},
        {TEXT("{\"b\": {\"a\": 1, \"a\": 1}}"), RK_ERR_SYNTAX, 1, 16,
         "the key \"a\" occurs twice in the same object"},
        {TEXT("{\"a\": 99999999999999999999}"), RK_ERR_SYNTAX, 1, 7,
         "the number 99999999999999999999 is too large to be stored"},
        {TEXT("{\"a\": -1e999}"), RK_ERR_SYNTAX, 1, 7,
         "the number -1e999 is too large to be stored"},
        {TEXT("{\"a\": 1} x"), RK_ERR_SYNTAX, 1, 10, "text follows the end of the document"},
        {TEXT("{\"a\": 1}\0"), RK_ERR_SYNTAX, 1, 9, "text follows the end of the document"},
        {TEXT("{\"a\": 1"), RK_ERR_SYNTAX, 1, 7, "'}' expected near end of file"},
        {TEXT(""), RK_ERR_SYNTAX, 1, 1, "the file is empty; it must hold a JSON object"},
        {TEXT(" \n"), RK_ERR_SYNTAX, 1, 1, "the file is empty; it must hold a JSON object"},
        {TEXT("\n<!DOCTYPE html>"), RK_ERR_SYNTAX, 1, 1,
         "the file is a web page or XML, not JSON; download the file itself (on GitHub or Hugging "
         "Face: its \"raw\" link)"},
        {TEXT("\xef\xbb\xbf{}"), RK_ERR_SYNTAX, 1, 1,
         "the file starts with a byte order mark (BOM); save it as UTF-8 without one"},
        {TEXT("\xff\xfe{\0}\0"), RK_ERR_SYNTAX, 1, 1, "the file is in UTF-16; save it as UTF-8"},
        {TEXT("\xfe\xff\0{\0}"), RK_ERR_SYNTAX, 1, 1, "the file is in UTF-16; save it as UTF-8"},
        {TEXT("PK\3\4x"), RK_ERR_SYNTAX, 1, 1, "the file is a ZIP archive, not JSON; unpack it"},
        {TEXT("%PDF-1.7"), RK_ERR_SYNTAX, 1, 1, "the file is a PDF document, not JSON"},
        {TEXT("SQLite format 3\0"), RK_ERR_SYNTAX, 1, 1,
         "the file is an SQLite database, not JSON"},
        {TEXT("version https://git-lfs.github.com/spec/v1\n"), RK_ERR_SYNTAX, 1, 1,
         "the file is a Git LFS pointer, not the document; run 'git lfs pull'"},
        {TEXT("{\"a\":\n \"open"), RK_ERR_SYNTAX, 2, 6, "premature end of input near '\"open'"},
        {TEXT("{\"a\": \"x\ny\"}"), RK_ERR_SYNTAX, 1, 8, "unexpected newline near '\"x'"},
        {TEXT("{\"a\": \"x\\u0000\"}"), RK_ERR_SYNTAX, 1, 7,
         "a string contains the character \\u0000"},
        {TEXT("{\"a\\u0000\": 1}"), RK_ERR_SYNTAX, 1, 2, "a string contains the character \\u0000"},
        {TEXT("{\"a\": \"x\0\"}"), RK_ERR_SYNTAX, 1, 8, "control character"},
        {TEXT("{\"a\": \"x\xff\"}"), RK_ERR_SYNTAX, 1, 8, "0xff"},
        {TEXT("{\"a\": 1,}"), RK_ERR_SYNTAX, 1, 9, "string or '}' expected near '}'"},
        {TEXT("{\"a\": NaN}"), RK_ERR_SYNTAX, 1, 7,
         "JSON has no number NaN; give a finite one, or leave the member out"},
        {TEXT("{\"a\": [1, Infinity]}"), RK_ERR_SYNTAX, 1, 11,
         "JSON has no number Infinity; give a finite one, or leave the member out"},
        {TEXT("{\"a\": -Infinity}"), RK_ERR_SYNTAX, 1, 7,
         "JSON has no number -Infinity; give a finite one, or leave the member out"},
        {TEXT("{\"a\": Info}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'Info'"},
        {TEXT("{\"a\": ANaN}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'ANaN'"},
        {TEXT("{\"a\": ZNaN}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'ZNaN'"},
        {TEXT("{\"a\": anan}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'anan'"},
        {TEXT("{\"a\": znan}"), RK_ERR_SYNTAX, 1, 7, "invalid token near 'znan'"},
        {TEXT("[1, 2]"), RK_ERR_INVALID, 0, 0, "expected a JSON object, found an array"},
        {TEXT("true"), RK_ERR_INVALID, 0, 0, "expected a JSON object, found true"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_json_doc doc;
        rk_error err;
        assert_int_equal(rk_json_parse(cases[i].text, cases[i].size, "x.json", &doc, &err),
                         cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
        assert_string_equal(err.file, "x.json");
        if (!strstr(err.message, cases[i].says)) {
            fail_msg("case %zu says: %s", i, err.message);
        }
        assert_null(doc.root);
    }
}

static void test_deep_nesting(void **state)
{
    enum { DEPTH = 100000 };
    rk_json_doc doc;
    rk_error err;
    char *text = malloc(DEPTH);
    (void)state;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    assert_int_equal(rk_json_parse(text, DEPTH, "deep", &doc, &err), RK_ERR_SYNTAX);
    assert_non_null(strstr(err.message, "too deeply"));
    free(text);
}

static void test_printable(void **state)
{
    char out[8], text[RK_JSON_TEXT_SIZE];
    json_t *value = json_real(8.0);
    (void)state;
    assert_string_equal(rk_json_printable("abcdefg", out, sizeof(out)), "abcdefg");
    assert_string_equal(rk_json_printable("abcdefgh", out, sizeof(out)), "abcd...");
    assert_string_equal(rk_json_printable("abc\xc3\xa9"
                                          "defg",
                                          out, sizeof(out)),
                        "abc...");
    assert_string_equal(rk_json_printable("\x1b[31m\x7f", out, sizeof(out)), "?[31m?");
    assert_string_equal(rk_json_describe(value, text), "a real 8.0");
    json_decref(value);
}

static void test_path(void **state)
{
    char path[RK_JSON_PATH_SIZE], longer[4 * RK_JSON_PATH_SIZE];
    (void)state;
    assert_string_equal(rk_json_path_member("", "networks", path), "networks");
    assert_string_equal(rk_json_path_element("networks", 1, path), "networks[1]");
    assert_string_equal(rk_json_path_member("networks[1]", "size", path), "networks[1].size");
    memset(longer, 'k', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_true(strlen(rk_json_path_member(longer, longer, path)) < sizeof(path));
}

/* Writes `text` as name (gzip by its extension) in the scratch folder. */
static void write_document(scratch *s, const char *name, const char *text)
{
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(scratch_path(s, name), &out, &err), RK_OK);
    rk_out_text(out, text);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
}

static rk_status load(scratch *s, const char *name, int64_t *value, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(scratch_path(s, name), NULL, &doc, err);
    *value = status ? -1 : json_integer_value(json_object_get(doc.root, "a"));
    rk_json_clear(&doc);
    return status;
}

static void test_files(void **state)
{
    scratch *s = *state;
    rk_error err;
    int64_t value;
    write_document(s, "plain.json", "{\"a\": 7}");
    write_document(s, "packed.json.gz", "{\"a\": 8}");
    assert_int_equal(load(s, "plain.json", &value, &err), RK_OK);
    assert_int_equal(value, 7);
    assert_int_equal(load(s, "packed.json.gz", &value, &err), RK_OK);
    assert_int_equal(value, 8);

    write_document(s, "faulty.json.gz", "{\"a\":\n 8,}");
    assert_int_equal(load(s, "faulty.json.gz", &value, &err), RK_ERR_SYNTAX);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.file, s->path);

    assert_int_equal(load(s, "absent.json", &value, &err), RK_ERR_IO);
    assert_string_equal(err.file, s->path);
    assert_int_equal(load(s, "plain.yaml", &value, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, ".json.gz"));
    assert_int_equal(rk_json_load("/tmp/.json", NULL, &(rk_json_doc){0}, &err), RK_ERR_IO);
    assert_int_equal(mkdir(scratch_path(s, "folder.json"), 0700), 0);
    assert_int_equal(load(s, "folder.json", &value, &err), RK_ERR_IO);
    assert_string_equal(err.message, "cannot read: Is a directory");
    assert_int_equal(rmdir(scratch_path(s, "folder.json")), 0);
}

static void test_damaged_gzip(void **state)
{
    scratch *s = *state;
    rk_error err;
    int64_t value;
    size_t size;
    write_document(s, "whole.json.gz", "{\"a\": 12345, \"b\": [1, 2, 3, 4, 5, 6, 7]}");
    char *packed = scratch_read(s->path, &size);
    assert_non_null(packed);

    /* However much is missing, nothing is read. */
    for (size_t keep = 0; keep < size; keep++) {
        assert_true(scratch_write(s, "cut.json.gz", packed, keep));
        assert_int_equal(load(s, "cut.json.gz", &value, &err), RK_ERR_IO);
        if (keep > 24) { /* the header and something to unpack */
            assert_string_equal(err.message, "the compressed data ends too early");
        }
    }
    packed[size - 6] ^= 1; /* in the checksum */
    assert_true(scratch_write(s, "damaged.json.gz", packed, size));
    assert_int_equal(load(s, "damaged.json.gz", &value, &err), RK_ERR_IO);
    assert_ptr_equal(strstr(err.message, "the compressed data is damaged: "), err.message);
    packed[size - 6] ^= 1;

    assert_true(scratch_write(s, "misnamed.json", packed, size));
    assert_int_equal(load(s, "misnamed.json", &value, &err), RK_ERR_IO);
    assert_string_equal(err.message, "the file is gzip data: end its name in .gz");
    assert_true(scratch_write(s, "misnamed.json.gz", "{\"a\": 1}", 8));
    assert_int_equal(load(s, "misnamed.json.gz", &value, &err), RK_ERR_IO);
    assert_string_equal(err.message, "the file is not gzip data");
    free(packed);
}

/* The same of tables, which may be packed or not whatever their names are. */
static void test_damaged_tables(void **state)
{
    static const char text[] = "size,rate\n1,2.5\n8,3.5\n";
    scratch *s = *state;
    rk_csv_in table;
    rk_error err;
    size_t size;
    write_document(s, "whole.csv.gz", text);
    char *packed = scratch_read(s->path, &size);
    assert_non_null(packed);
    assert_true(scratch_write(s, "any.csv", packed, size));
    assert_int_equal(rk_csv_load(scratch_path(s, "any.csv"), &table, &err), RK_OK);
    assert_int_equal(table.rows, 2);
    assert_string_equal(rk_csv_cell_of(&table, 1, "rate"), "3.5");
    rk_csv_in_clear(&table);
    assert_true(scratch_write(s, "cut.csv.gz", packed, size - 8));
    assert_int_equal(rk_csv_load(scratch_path(s, "cut.csv.gz"), &table, &err), RK_ERR_IO);
    assert_string_equal(err.message, "the compressed data ends too early");
    packed[size - 6] ^= 1; /* in the checksum */
    assert_true(scratch_write(s, "damaged.csv.gz", packed, size));
    assert_int_equal(rk_csv_load(scratch_path(s, "damaged.csv.gz"), &table, &err), RK_ERR_IO);
    assert_ptr_equal(strstr(err.message, "cannot read: "), err.message);
    free(packed);
    assert_int_equal(rk_csv_load(scratch_path(s, "none.csv"), &table, &err), RK_ERR_IO);
    assert_string_equal(err.message, "cannot open: No such file or directory");
    assert_int_equal(rk_csv_parse(TEXT("a,b\n1,x\0y\n"), "t.csv", &table, &err), RK_ERR_SYNTAX);
    assert_string_equal(err.message, "the file holds a zero byte: it is not a text");
}

/* What a value is called in messages. */
static void test_type_names(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {{"{}", "an object"}, {"[1]", "an array"}, {"\"x\"", "a string"},
                 {"3", "an integer"}, {"3.5", "a real"},   {"true", "true"},
                 {"false", "false"},  {"null", "null"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *value = json_loads(cases[i].text, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        assert_string_equal(rk_json_type_name(value), cases[i].name);
        json_decref(value);
    }
    assert_string_equal(rk_json_type_name(NULL), "nothing");
}

/* A small file that unpacks to more than the limit is refused before it is all in memory. */
static void test_unpacked_limit(void **state)
{
    scratch *s = *state;
    static char blanks[1 << 20];
    rk_error err;
    rk_out *out;
    int64_t value;
    memset(blanks, ' ', sizeof(blanks));
    assert_int_equal(rk_out_open(scratch_path(s, "bomb.json.gz"), &out, &err), RK_OK);
    for (int i = 0; i < 65; i++) {
        rk_out_write(out, blanks, sizeof(blanks));
    }
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_int_equal(load(s, "bomb.json.gz", &value, &err), RK_ERR_LIMIT);
}

/* Takes out of a document what says where its numbers come from. */
static void drop_remarks(json_t *value)
{
    static const char *const remarks[] = {"source", "provenance"};
    const char *key;
    json_t *member;
    size_t i;
    for (i = 0; i < COUNT(remarks); i++) {
        if (json_is_string(json_object_get(value, remarks[i]))) {
            assert_int_equal(json_object_del(value, remarks[i]), 0);
        }
    }
    json_object_foreach(value, key, member)
    {
        drop_remarks(member);
    }
    json_array_foreach(value, i, member)
    {
        drop_remarks(member);
    }
}

/* A model of a hub that the catalogue has under nearly this name is suggested. */
static void test_hub_ids(void **state)
{
    const rk_catalogue_entry *end, *entry = rk_catalogue_of("models", &end);
    size_t near = 0;
    (void)state;
    for (; entry < end; entry++) {
        char name[128], asked[160], says[160];
        rk_json_doc doc;
        rk_error err;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strlen(entry->name) - 2, entry->name);
        (void)snprintf(asked, sizeof(asked), "some/%s", name);
        if (rk_json_load(asked, "models", &doc, &err) == RK_OK) { /* it is a name too */
            rk_json_clear(&doc);
            continue;
        }
        const char *nearest = rk_catalogue_nearest("models", name);
        (void)snprintf(says, sizeof(says), "did you mean \"%s\"? Or give", nearest ? nearest : "");
        if (strstr(err.message, nearest ? says : "did you mean") ? !nearest : nearest != NULL) {
            fail_msg("%s: %s", asked, err.message);
        }
        near += nearest != NULL;
    }
    assert_true(near > 10);
}

/* Documents of the catalogue are read without their remarks, but whole otherwise. */
static void test_remarks(void **state)
{
    static const char *const kinds[] = {"models", "systems", "accelerators", "stacks"};
    size_t shorter = 0;
    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const rk_catalogue_entry *end, *entry = rk_catalogue_of(kinds[k], &end);
        assert_true(entry < end);
        for (; entry < end; entry++) {
            rk_json_doc doc;
            rk_error err;
            json_t *whole = json_loadb(entry->text, entry->size, 0, NULL), *copy;
            assert_string_equal(entry->kind, kinds[k]);
            assert_int_equal(rk_json_load(entry->name, entry->kind, &doc, &err), RK_OK);
            copy = json_deep_copy(whole);
            drop_remarks(whole);
            assert_true(json_equal(doc.root, whole));
            shorter += !json_equal(copy, whole);
            json_decref(copy);
            json_decref(whole);
            rk_json_clear(&doc);
        }
    }
    assert_true(shorter > 100);
}

static void test_catalogue(void **state)
{
    rk_error err;
    rk_json_doc doc;
    (void)state;
    assert_true(rk_catalogue_count > 0);
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        assert_ptr_equal(rk_catalogue_find(entry->kind, entry->name), entry);
        if (strcmp(entry->kind, "pages") == 0) {
            continue; /* HTML, which tests/pages checks */
        }
        if (entry->text[0] != '{') {
            rk_csv_in table;
            assert_int_equal(rk_csv_parse(entry->text, entry->size, entry->name, &table, &err),
                             RK_OK);
            rk_csv_in_clear(&table);
            continue;
        }
        assert_int_equal(rk_json_load(entry->name, entry->kind, &doc, &err), RK_OK);
        rk_json_clear(&doc);
    }
    assert_null(rk_catalogue_find("calculon/systems", "seed-1T"));
    assert_string_equal(rk_catalogue_nearest("calculon/applications", "gpt3-157B"), "gpt3-175B");

    assert_int_equal(rk_json_load("sed-1T", "calculon/applications", &doc, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "\"seed-1T\""));
    assert_int_equal(rk_json_load("seed-1T", NULL, &doc, &err), RK_ERR_INVALID);
    doc.root = json_true(); /* of another document */
    assert_int_not_equal(rk_json_load_python("/no/such.json", &doc, &err), RK_OK);
    assert_null(doc.root); /* nothing is left to clear */
}

/* Columns count characters, in a misplaced token too. */
static void test_columns_of_characters(void **state)
{
    static const char *const texts[] = {"{\"a\": 1 \"ee\": 2}",
                                        "{\"a\": 1 \"\xc3\xa9\xc3\xa9\": 2}"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rk_json_doc doc;
        rk_error err;
        assert_int_equal(rk_json_parse(texts[i], strlen(texts[i]), "t.json", &doc, &err),
                         RK_ERR_SYNTAX);
        assert_int_equal(err.column, 9);
    }
}

/* Spreadsheets write a mark before the first name. */
static void test_table_with_mark(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a,b\n1,\"2\"\"\"\n";
    rk_csv_in table;
    rk_error err;
    (void)state;
    assert_int_equal(rk_csv_parse(text, sizeof(text) - 1, "t.csv", &table, &err), RK_OK);
    assert_true(table.columns == 2 && table.rows == 1);
    assert_string_equal(table.cells[0], "a");
    assert_string_equal(table.cells[3], "2\"");
    rk_csv_in_clear(&table);
    assert_int_not_equal(rk_csv_parse("a,b\n1\n", 6, "t.csv", &table, &err), RK_OK);
    assert_string_equal(err.file, "t.csv");
    assert_null(table.text); /* nothing is left to clear */
}

/* What is wrong with a table, and in which line and cell. */
static void test_wrong_tables(void **state)
{
    static const struct {
        const char *text, *says;
        int line, cell;
    } cases[] = {
        {"a,b\n1\n", "the row has 1 cells where the header has 2", 2, 1},
        {"a,b\n1,2,3\n", "the row has 3 cells where the header has 2", 2, 3},
        {"a,b\n1,2\n1,\"2\n", "the quotes do not close", 3, 2},
        {"a,b\n1,\"2\"3\n", "text follows the closing quote", 2, 2},
        {"a,b\n1\"2,3\n", "there is a quote inside a cell that does not start with one", 2, 1},
        {"\n1,\"x\ny\"\n2\n", "the row has 2 cells where the header has 1", 2, 2},
    };
    enum { MOST = 4096 };
    rk_csv_in table;
    rk_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = cases[i].text;
        assert_int_equal(rk_csv_parse(text, strlen(text), "t.csv", &table, &err), RK_ERR_SYNTAX);
        if (strcmp(err.message, cases[i].says) != 0 || err.line != cases[i].line ||
            err.column != cases[i].cell) {
            fail_msg("%s: line %d, cell %d: %s", text, err.line, err.column, err.message);
        }
    }
    char wide[MOST + 1];
    memset(wide, ',', sizeof(wide));
    wide[MOST - 1] = '\n'; /* as many empty cells as there are characters */
    assert_int_equal(rk_csv_parse(wide, MOST, "t.csv", &table, &err), RK_OK);
    assert_int_equal(table.columns, MOST);
    rk_csv_in_clear(&table);
    wide[MOST - 1] = ',';
    wide[MOST] = '\n';
    assert_int_equal(rk_csv_parse(wide, MOST + 1, "t.csv", &table, &err), RK_ERR_SYNTAX);
    assert_string_equal(err.message, "more cells than a table can have");
    assert_true(err.line == 1 && err.column == MOST + 1);
}

/* Every alias is found, and is the name of nothing else. */
static void test_aliases(void **state)
{
    static const char *const kinds[] = {"accelerators", "models", "systems"};
    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const rk_catalogue_entry *entry = rk_catalogue_find("aliases", kinds[k]);
        rk_csv_in table;
        rk_error err;
        assert_non_null(entry);
        assert_int_equal(rk_csv_parse(entry->text, entry->size, entry->name, &table, &err), RK_OK);
        assert_true(table.rows > 0);
        for (size_t i = 1; i <= table.rows; i++) {
            const char *alias = table.cells[2 * i], *name = table.cells[2 * i + 1];
            const rk_catalogue_entry *found = rk_catalogue_find(kinds[k], alias);
            assert_non_null(found);
            assert_string_equal(found->name, name);
            assert_string_not_equal(alias, name);
        }
        rk_csv_in_clear(&table);
    }
}

/* What people type for a document. */
static void test_typed_names(void **state)
{
    static const char *const typed[][3] = {
        {"models", "meta-llama/Llama-3.1-405B-Instruct", "llama3.1-405b"},
        {"models", "meta-llama/Meta-Llama-3-8B", "llama3-8b"},
        {"models", "Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"},
        {"models", "llama_3.1_8b", "llama3-8b"},
        {"models", "DeepSeek-R1", "deepseek-v3"},
        {"models", "Qwen2.5-7B-Instruct", "qwen2.5-7b"},
        {"models", "mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
        {"models", "mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
        {"models", "TheBloke/Llama-2-7B-GPTQ", "llama2-7b"},
        {"models", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b"},
        {"models", "unsloth/Llama-3.2-1B-Instruct-unsloth-bnb-4bit", "llama3.2-1b"},
        {"models", "Qwen/Qwen2.5-14B-Instruct-1M", "qwen2.5-14b"},
        {"models", "nvidia/Qwen3-30B-A3B-NVFP4", "qwen3-30b-a3b"},
        {"models", "axolotl-quants/DeepSeek-V2.5-bnb-nf4-bf16", "deepseek-v2"},
        {"models", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3-nano-30b"},
        {"models", "ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16", "llama3-8b"},
        {"models", "trl-lib/pythia-1b-deduped-tldr-sft", "pythia-1b"},
        {"models", "Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"},
        {"models", "Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-7b"},
        {"models", "models/llama3-8b-pro", NULL},                  /* of 40 layers */
        {"models", "mistralai/Mistral-Small-Instruct-2409", NULL}, /* of 22 B */
        {"models", "Qwen/Qwen3.5-4B", NULL},
        {"models", "deepcogito/cogito-v1-preview-llama-3B", NULL},
        {"models", "instruct-7b", NULL},
        {"accelerators", "H100", "h100-sxm"},
        {"accelerators", "910B", "ascend-910b3"},
        {"systems", "DGX-H100", "dgx-h100-superpod"},
        {"systems", "h100-sxm", NULL},
        {"models", "-", NULL},
        {"models", "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
        const rk_catalogue_entry *found = rk_catalogue_find(typed[i][0], typed[i][1]);
        if (typed[i][2]) {
            assert_non_null(found);
            assert_string_equal(found->name, typed[i][2]);
        } else {
            assert_null(found);
        }
    }
}

/* What follows a name and leaves the shape of the model: uses, formats of weights, and dates. */
static void test_endings(void **state)
{
    static const char *const same[] = {"instruct",    "thinking", "chat",
                                       "base",        "hf",       "it",
                                       "1m",          "fp8",      "fp16",
                                       "bf16",        "int8",     "int4",
                                       "8bit",        "4bit",     "nvfp4",
                                       "mxfp4",       "nf4",      "gptq",
                                       "awq",         "unsloth",  "bnb",
                                       "dequantized", "aqlm",     "2bit",
                                       "3bit",        "1x16",     "2x8",
                                       "w4a16",       "qat",      "linearized",
                                       "sft",         "dpo",      "2507",
                                       "2012",        "2001",     "0324",
                                       "1231",        "0101",     "Instruct-2507-FP8"};
    static const char *const other[] = {"pro",  "2513",  "2500", "1332",  "0100", "1301",
                                        "0012", "0232x", "507",  "12507", "1932", "instructed"};
    static const char joints[] = "-_ ";
    (void)state;
    for (size_t i = 0; i < COUNT(same); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "some/Qwen3-4B%c%s", joints[i % 3], same[i]);
        const rk_catalogue_entry *found = rk_catalogue_find("models", name);
        if (!found || strcmp(found->name, "qwen3-4b") != 0) {
            fail_msg("%s is %s", name, found ? found->name : "unknown");
        }
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "Qwen3-4B-%s", other[i]);
        if (rk_catalogue_find("models", name)) {
            fail_msg("%s", name);
        }
    }
}

/* Names of models with more than a language model are found, and say what else they have. */
static void test_left_out(void **state)
{
    const rk_catalogue_entry *entry = rk_catalogue_find("aliases", "left-out");
    char words[RK_CATALOGUE_WORDS_SIZE];
    rk_csv_in table;
    rk_error err;
    (void)state;
    assert_non_null(entry);
    assert_int_equal(rk_csv_parse(entry->text, entry->size, entry->name, &table, &err), RK_OK);
    assert_true(table.rows > 0);
    for (size_t i = 1; i <= table.rows; i++) {
        assert_non_null(rk_catalogue_find("models", table.cells[2 * i]));
    }
    rk_csv_in_clear(&table);
    assert_true(rk_catalogue_left_out("Qwen/Qwen2.5-VL-7B-Instruct", words));
    assert_string_equal(words, "vision tower");
    assert_false(rk_catalogue_left_out("Qwen/Qwen2.5-7B-Instruct", words));
}

/* A wrong name is answered by one of its family. */
static void test_suggestions(void **state)
{
    static const char *const wrong[][2] = {
        {"llama5-70b", "llama2-70b"},    {"mistral-8b", "mistral-7b-v0.1"},
        {"qwen3-9b", "qwen3-4b"},        {"deepseek", "deepseek-67b"},
        {"mixtral-8x7", "mixtral-8x7b"}, {"nemotron-h", "nemotron-h-56b"},
        {"gpt-oss-12b", "gpt-oss-120b"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_string_equal(rk_catalogue_nearest("models", wrong[i][0]), wrong[i][1]);
    }
    assert_null(rk_catalogue_nearest("models", "gpt4")); /* of another version, no size */
    assert_null(rk_catalogue_nearest("models", "gpt-4o"));
    assert_string_equal(rk_catalogue_nearest("accelerators", "h101"), "h100-sxm");
    assert_string_equal(rk_catalogue_nearest("accelerators", "mi301x"), "mi300x");
}

static int set_up(void **state)
{
    static scratch s;
    *state = &s;
    return scratch_make(&s) ? 0 : -1;
}

static int tear_down(void **state)
{
    scratch_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_names),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_path),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_gzip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unpacked_limit, set_up, tear_down),
        cmocka_unit_test(test_hub_ids),
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_table_with_mark),
        cmocka_unit_test(test_wrong_tables),
        cmocka_unit_test(test_columns_of_characters),
        cmocka_unit_test(test_typed_names),
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
