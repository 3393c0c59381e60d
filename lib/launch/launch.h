/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: jobs as training frameworks write them, read without being run.
 *
 *     file or line -> words and documents -> keys -> facts
 *
 * A launch is a command line (words), a shell script that leads to one, or configuration files
 * (documents: YAML, TOML, JSON).  Its framework's reader, with the table of flags in
 * data/launch_flags, cuts the words into keys and states facts: fields of a job (launch_fields.c)
 * with a value, its origin, and the key that says so.  Every key ends as used, without cost, not
 * priced or unknown; none is dropped.
 *
 * Readers build a launch with functions that cannot fail one by one: a failed allocation is kept
 * in the launch, and rk_launch_resolve reports it.
 */
#ifndef RK_LAUNCH_LAUNCH_H
#define RK_LAUNCH_LAUNCH_H

#include "base/named.h"
#include "io/json.h"
#include "io/json_write.h"

/* ---- parts ----------------------------------------------------------------------------------- */

/* How a key ends. */
typedef enum rk_key_use {
    RK_KEY_UNREAD,       /* until rk_launch_resolve has classed it */
    RK_KEY_USED,         /* it decides a fact */
    RK_KEY_WITHOUT_COST, /* it changes neither time nor memory */
    RK_KEY_NOT_PRICED,   /* it costs something that no prediction counts: `note` */
    RK_KEY_UNKNOWN,      /* the framework's table lacks it */
    RK_KEY_USE_COUNT
} rk_key_use;

/* A flag with its value, or a value of a document. */
typedef struct rk_launch_key {
    const char *name;   /* "tensor-model-parallel-size"; "zero_optimization.stage" of a document */
    const char *value;  /* words joined by blanks, JSON text of a list; NULL: none */
    const json_t *json; /* of a document; NULL: of the command line */
    const char *source; /* name of the document; NULL: the command line */
    int line;           /* of the file; 0: not known */
    rk_key_use use;
    const char *note; /* what is not priced; NULL: nothing to say */
} rk_launch_key;

/* Where the value of a fact comes from; a stronger origin replaces a weaker one. */
typedef enum rk_fact_origin {
    RK_FACT_OPEN,    /* nothing is known */
    RK_FACT_DEFAULT, /* of the framework at its release */
    RK_FACT_DERIVED, /* follows from others: global batch = micro-batch x accumulation x dp */
    RK_FACT_STATED,
} rk_fact_origin;

typedef struct rk_launch_fact {
    const char *field; /* of rk_launch_fields */
    const char *value;
    rk_fact_origin origin;
    const rk_launch_key *by; /* NULL: no key of its own */
} rk_launch_fact;

/* A document that a launch holds or names: its own file, a recipe, a DeepSpeed configuration. */
typedef struct rk_launch_document {
    const char *name; /* "recipe", "accelerate", a path */
    json_t *root;     /* owned */
} rk_launch_document;

/* A word of the command line; `line` of the script, 1 for a pasted line. */
typedef struct rk_launch_word {
    const char *text;
    int line;
} rk_launch_word;

typedef struct rk_launch_reader rk_launch_reader;

typedef struct rk_launch {
    char *name;            /* of the file, for messages */
    char *folder;          /* from which files that it names are opened; NULL: none is opened */
    const char *text;      /* of the file; NULL: not kept */
    bool opens_files;      /* others, which the text names */
    const char *arguments; /* words for its script, between blanks; NULL: none */
    const char *framework; /* a reader, by a record or the person; NULL: recognised */
    const char *release;   /* likewise, e.g. "0.19"; NULL: the newest that is known */
    rk_launch_word *words;
    size_t word_count;
    size_t program; /* the place among the words of the script or module; word_count: none */
    rk_launch_document *documents;
    size_t document_count;
    rk_named_text *written; /* files that its script writes for its program, by path */
    size_t written_count;
    const rk_launch_reader *reader;
    rk_launch_key *keys;
    size_t key_count;
    rk_launch_fact *facts;
    size_t fact_count;
    struct rk_launch_texts *texts; /* storage of strings */
    bool out_of_memory;
} rk_launch;

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Reads a file, or standard input as "-".  By its ending and its first line it is a shell script or
 * a pasted line, YAML (.yaml, .yml), TOML, or JSON: a DeepSpeed configuration, or a record
 * {"argv": [...], "config": {...}, "framework": "...", "release": "...", "world": {...}}.
 * Behind the name of a script its arguments may follow: "run.sh 70b 8".  A line of words and flags
 * that begins with no file is the launch itself, "srun -N 4 python train.py --x 1", and so is a
 * text of several lines or of JSON.  Refuses Python files by name, and files above 16 MiB.  The
 * caller releases the launch with rk_launch_clear, also after a failure.
 */
rk_status rk_launch_load(const char *path, rk_launch *launch, rk_error *err);

/* The same of a text; `name` decides the form and is used in messages.  Opens no other file. */
rk_status rk_launch_parse(const char *text, size_t size, const char *name, rk_launch *launch,
                          rk_error *err);

/* Whether words begin a line that starts a program: "torchrun", "NNODES=2 swift". */
bool rk_launch_begins_line(const char *const *words, size_t count);

/* The reader that is surest of a launch; NULL: none. */
const rk_launch_reader *rk_launch_recognise(const rk_launch *launch);

/* Names the reader and the release; NULL leaves one as it is. */
void rk_launch_set_reader(rk_launch *launch, const char *framework, const char *release);

/* The same for a person's choice: a name that no reader has is refused. */
rk_status rk_launch_name_reader(rk_launch *launch, const char *framework, const char *release,
                                rk_error *err);

/*
 * Finds the reader, cuts words and documents into keys, states the facts, and classes every key.
 * Errors: RK_ERR_INVALID if it is no launch of a known framework, or nothing that it trains is
 * priced; RK_ERR_MEMORY.
 */
rk_status rk_launch_resolve(rk_launch *launch, rk_error *err);

void rk_launch_clear(rk_launch *launch);

/* Writes facts, origins and keys as members of an object that is open. */
void rk_launch_write_json(rk_json_writer *writer, const rk_launch *launch);

/*
 * Writes flags of Megatron-LM, "--tensor-model-parallel-size 4, without --sequence-parallel", as
 * the framework of a launch that is resolved has them: "tensor_model_parallel_size: 4" in YAML,
 * "key=value" of overrides.  A flag that the launch has in place of a new one
 * (--num-layers-per-virtual-pipeline-stage) is added as one to leave out: to `removed`, names of
 * flags in the same form, or to the list if that is NULL.  Both have `size` bytes.
 */
rk_status rk_launch_spell_flags(const rk_launch *launch, char *flags, char *removed, size_t size,
                                rk_error *err);

/* ---- for the parts that build a launch ------------------------------------------------------- */

/* A copy of a text that lives as long as the launch; "" when memory runs out. */
const char *rk_launch_keep(rk_launch *launch, const char *text);
const char *rk_launch_keep_part(rk_launch *launch, const char *text, size_t length);

void rk_launch_add_word(rk_launch *launch, const char *text, int line);

/* Takes a document over. */
void rk_launch_add_document(rk_launch *launch, const char *name, json_t *root);

/* The document of a name; NULL: there is none. */
json_t *rk_launch_document_of(const rk_launch *launch, const char *name);

/*
 * Opens a file that the launch names (YAML, TOML or JSON by its ending) as one more document, from
 * the folder of the launch or the current one, and adds its values as keys.  false: it is not
 * there, or is no such file; a syntax error in it is RK_ERR_SYNTAX.
 */
rk_status rk_launch_open_named(rk_launch *launch, const char *path, bool *found, rk_error *err);

/* ---- for readers: keys ----------------------------------------------------------------------- */

/* The last key of a name, which is used by that; NULL: absent. */
const rk_launch_key *rk_launch_find(rk_launch *launch, const char *name);

/* Its value; NULL: absent, or without a value. */
const char *rk_launch_value(rk_launch *launch, const char *name);

/* Whether a switch is on: alone or true is on, false is off; absent is `usual`. */
bool rk_launch_is_on(rk_launch *launch, const char *name, bool usual);

/* A number, with underscores or in full ("1_953_125", "5e8"); `usual`: absent or no number. */
double rk_launch_number(rk_launch *launch, const char *name, double usual);

/* Whether the key is there; it is not used by that. */
bool rk_launch_has(const rk_launch *launch, const char *name);

/*
 * Marks a key and those below it ("a", "a.b", "a[0]") as used, without cost or not priced for a
 * reason; where `name` ends in '.', '-' or '_', all keys that begin with it.
 */
void rk_launch_mark(rk_launch *launch, const char *name, rk_key_use use, const char *note);

/* A path without its folders. */
const char *rk_launch_base_name(const char *path);

/* Whether one of the words up to the program is there: "torchrun", "deepspeed", "swift". */
bool rk_launch_runs_by(const rk_launch *launch, const char *word);

/* The file name of the program without its folders: "pretrain_gpt.py"; "": none. */
const char *rk_launch_program(const rk_launch *launch);

/* How many of the flags are among the words; NULL-terminated, without dashes. */
int rk_launch_count_flags(const rk_launch *launch, const char *const *names);

/* ---- for readers: facts ---------------------------------------------------------------------- */

/* printf into a text that lives as long as the launch: the value of a fact. */
const char *rk_launch_format(rk_launch *launch, const char *format, ...) RK_PRINTF(2, 3);

/* States a fact; of a weaker origin than the one that is there it has no effect. */
void rk_launch_state(rk_launch *launch, const char *field, const char *value, rk_fact_origin origin,
                     const rk_launch_key *by);
void rk_launch_state_count(rk_launch *launch, const char *field, int64_t value,
                           rk_fact_origin origin, const rk_launch_key *by);

/* The same of a fact that a key of the launch states. */
void rk_launch_state_by(rk_launch *launch, const char *field, const char *value, const char *key);
void rk_launch_state_count_by(rk_launch *launch, const char *field, int64_t value, const char *key);

/* The framework's default. */
void rk_launch_assume(rk_launch *launch, const char *field, const char *value);
void rk_launch_assume_count(rk_launch *launch, const char *field, int64_t value);

/* A fact, open or not; NULL: there is none of this field. */
const rk_launch_fact *rk_launch_find_fact(const rk_launch *launch, const char *field);

/* The origin of a fact; RK_FACT_OPEN: nothing is known. */
rk_fact_origin rk_launch_origin_of(const rk_launch *launch, const char *field);

/* The value of a fact; NULL: open. */
const char *rk_launch_fact_of(const rk_launch *launch, const char *field);
int64_t rk_launch_count_of(const rk_launch *launch, const char *field); /* 0: open */
bool rk_launch_holds(const rk_launch *launch, const char *field);       /* "true" */

/* Makes a fact open again. */
void rk_launch_drop(rk_launch *launch, const char *field);

/*
 * Completes what is the same everywhere, after the reader: processes = nodes x accelerators of a
 * node; dp = processes / (tp cp pp); global batch, accumulation and micro-batch from each other.
 */
void rk_launch_derive(rk_launch *launch);

/*
 * States the shape of a model of the catalogue (model.layers, model.hidden, ...) as derived from
 * its name, a hub id or a name of the catalogue.  false: the catalogue lacks it; nothing is stated.
 */
bool rk_launch_state_named_model(rk_launch *launch, const char *name, const rk_launch_key *by);

/* ---- readers --------------------------------------------------------------------------------- */

#define RK_LAUNCH_TABLES_MAX 6

/* One framework, or one way of writing its jobs: a file of code and one line of the list below. */
struct rk_launch_reader {
    const char *name;                         /* "megatron-lm" */
    const char *framework;                    /* value of --framework; NULL: chosen by resolve */
    const char *tables[RK_LAUNCH_TABLES_MAX]; /* data/launch_flags, the first that has a flag */
    bool dash_is_underscore;                  /* "--max-steps" and "--max_steps" are one flag */
    bool words_are_pairs;                     /* the words are key=value */
    /* How sure it is that the launch is its own; 0: it is not. */
    int (*recognise)(const rk_launch *launch);
    /* Opens files that the launch names, renames keys; before the table states facts.  NULL:
     * nothing. */
    rk_status (*prepare)(rk_launch *launch, rk_error *err);
    /* States what the table cannot say.  `err`: what it trains is not priced, and why. */
    rk_status (*resolve)(rk_launch *launch, rk_error *err);
};

/* X(megatron_lm): rk_launch_reader_megatron_lm of lib/launch/read_megatron_lm.c or a sibling. */
#define RK_LAUNCH_READER_LIST(X)                                                                   \
    X(megatron_lm)                                                                                 \
    X(trl)                                                                                         \
    X(axolotl)                                                                                     \
    X(llama_factory)                                                                               \
    X(ms_swift)                                                                                    \
    X(deepspeed_json)                                                                              \
    X(deepspeed_examples)                                                                          \
    X(hf_trainer)                                                                                  \
    X(accelerate)                                                                                  \
    X(llm_foundry)                                                                                 \
    X(maxtext)                                                                                     \
    X(nanotron)                                                                                    \
    X(olmo_core)                                                                                   \
    X(primus_torchtitan)                                                                           \
    X(torchtitan)                                                                                  \
    X(torchtune)                                                                                   \
    X(gpt_neox)                                                                                    \
    X(megatron_bridge)                                                                             \
    X(nemo1)                                                                                       \
    X(nemo2)                                                                                       \
    X(primus)                                                                                      \
    X(megatron_deepspeed)                                                                          \
    X(mindspeed_llm)                                                                               \
    X(mindspeed)                                                                                   \
    X(pai_megatron_patch)                                                                          \
    X(slime)                                                                                       \
    X(ms_swift_megatron)                                                                           \
    X(verl)

#define RK_LAUNCH_READER_DECLARE(name) extern const rk_launch_reader rk_launch_reader_##name;
RK_LAUNCH_READER_LIST(RK_LAUNCH_READER_DECLARE)
#undef RK_LAUNCH_READER_DECLARE

/* All readers; NULL-terminated. */
extern const rk_launch_reader *const rk_launch_readers[];

/* ---- fields ---------------------------------------------------------------------------------- */

typedef struct rk_launch_field {
    const char *name;    /* "recompute.granularity" */
    const char *option;  /* of estimate, with the same value; NULL: none, see notes */
    const char *meaning; /* values and unit */
} rk_launch_field;

extern const rk_launch_field rk_launch_fields[];
extern const size_t rk_launch_field_count;

/* A field that no prediction counts. */
typedef struct rk_launch_unpriced {
    const char *field;
    const char *assumed; /* the value that predictions have; NULL: none */
    const char *note;    /* what is priced in place of another; NULL: it costs nothing */
} rk_launch_unpriced;

/* The entry of a field; NULL: it is priced. */
const rk_launch_unpriced *rk_launch_find_unpriced(const char *field);

#endif
