/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knowledge about the config.json files of Hugging Face: spellings of a size, defaults of absent
 * keys, and the layers of each architecture.
 */
#ifndef RK_MODEL_HF_TABLE_H
#define RK_MODEL_HF_TABLE_H

#include "base/named.h"
#include "io/json.h"
#include "model/kinds.h"

/* Bounds the arithmetic of the readers; rk_model_check knows the sizes that make sense. */
#define HF_SIZE_MOST (INT64_C(1) << 40)

/* The sizes that files give under various names. */
typedef enum hf_size {
    HF_VOCAB,
    HF_HIDDEN,
    HF_FFN,
    HF_LAYERS,
    HF_HEADS,
    HF_KV_HEADS,
    HF_HEAD_SIZE,
    HF_VALUE_SIZE,
    HF_CONTEXT,
    HF_Q_RANK,
    HF_KV_RANK,
    HF_NOPE_SIZE,
    HF_ROPE_SIZE,
    HF_EXPERTS,
    HF_TOP_K,
    HF_EXPERT_FFN,
    HF_SHARED_EXPERTS,
    HF_SHARED_FFN,
    HF_EXPERT_GROUPS,
    HF_ROUTE_GROUPS, /* groups of experts that a token may reach */
    HF_DENSE_FFN,    /* of the dense layers, where HF_FFN is the width of an expert */
    HF_DENSE_FIRST,
    HF_MOE_EVERY,
    HF_MTP,
    HF_MTP_DEPTH, /* layers of each */
    HF_WINDOW,
    HF_CHUNK,
    HF_WINDOW_PERIOD,     /* one full layer in so many */
    HF_WINDOW_FROM,       /* first windowed layer */
    HF_WINDOW_HEADS,      /* of windowed layers, where they differ */
    HF_WINDOW_KV_HEADS,   /* likewise */
    HF_WINDOW_HEAD_SIZE,  /* likewise */
    HF_WINDOW_VALUE_SIZE, /* likewise */
    HF_SIZE_COUNT,
} hf_size;

/* All spellings of an hf_size; of one the first that a file has counts.  "a.b" is b of object a. */
extern const rk_named_count rk_hf_aliases[];
extern const size_t rk_hf_alias_count;

/* A boolean of an architecture: what a key says, or `value` where the key is absent or NULL. */
typedef struct hf_flag {
    const char *key;
    bool value;
} hf_flag;

/* Which layers see a window, where no list of layers says it. */
typedef enum hf_window_rule {
    HF_WINDOW_NEVER,
    HF_WINDOW_ALWAYS,   /* all layers, if there is a window */
    HF_WINDOW_LATE,     /* from layer HF_WINDOW_FROM on, if use_sliding_window */
    HF_WINDOW_PERIODIC, /* all but every HF_WINDOW_PERIOD-th */
    HF_WINDOW_CHUNKS,   /* chunks, in layers with positions: no_rope_layers, else periodic */
} hf_window_rule;

struct hf_draft;

typedef struct hf_architecture {
    const char *type; /* model_type */
    int64_t defaults[HF_SIZE_COUNT];
    hf_flag bias_qkv, bias_out, bias_ffn;
    hf_flag normalises_qk; /* by qk_norm */
    rk_qk_norm qk_norm;
    hf_flag sinks, window_sinks; /* of full layers, of windowed ones */
    hf_flag router_bias;
    hf_flag output_gate, head_gate; /* of attention: elementwise, or one number a head */
    hf_flag parallel;
    bool tied;               /* where tie_word_embeddings is silent */
    bool plain;              /* FFN of two matrices */
    bool has_experts;        /* may have them */
    bool ffn_is_expert;      /* HF_FFN is the width of an expert */
    bool shared_gate;        /* shared experts have a gate */
    bool expert_bias;        /* experts have biases */
    bool clamped;            /* the activation limits its inputs */
    bool embedding_norm;     /* a norm follows the embedding */
    bool head_bias;          /* the output layer has a bias */
    bool wide_gain;          /* norms multiply by their gains in fp32 */
    bool capped;             /* scores and logits are limited, where the file is silent */
    bool positions;          /* a table of HF_CONTEXT positions is learned */
    bool first_is_text;      /* sizes may be lists, whose first element is the text's */
    rk_norm_kind norm;       /* of the residual stream */
    int64_t norms;           /* per layer */
    int64_t ffn_multiple;    /* FFN width over hidden where HF_FFN is silent */
    int64_t spare_positions; /* rows of the position table beyond HF_CONTEXT */
    hf_window_rule window;
    const struct hf_special *special; /* NULL: there is nothing that the rest does not say */
    const json_t *reads;              /* a list of the further keys that it reads; or NULL */
} hf_architecture;

/* Code for single families; the key "code" of an architecture names it. */
typedef struct hf_special {
    const char *name;
    /*
     * Called with all sizes read and all flags set in model and layer, before anything is derived
     * from them; NULL: nothing more to say.
     */
    rk_status (*adapt)(struct hf_draft *draft, rk_error *err);
    /* Gives the model its layers in place of rk_hf_lay_out; NULL: that does. */
    rk_status (*lay_out)(struct hf_draft *draft, rk_error *err);
} hf_special;

/* Each ends with a NULL name. */
extern const hf_special rk_hf_adapt_specials[], rk_hf_hybrid_specials[], rk_hf_linear_specials[],
    rk_hf_sharing_specials[], rk_hf_sparse_specials[], rk_hf_widths_specials[];

/*
 * Reads an architecture, which borrows from the object: a document of data/architectures, or one
 * of a person.
 */
rk_status rk_hf_architecture_read(const json_t *object, hf_architecture *architecture,
                                  rk_error *err);

/* The type of the files that Mamba's authors publish, which name none but have "ssm_cfg". */
#define RK_HF_MAMBA_AUTHORS "mamba_ssm"

/*
 * The name in data/architectures of a model_type, which may be an alias, and of a class such as
 * "GPTNeoXForCausalLM"; NULL: not known.
 */
const char *rk_hf_find_type(const char *type);
const char *rk_hf_find_class(const char *class_name);

/*
 * Writes why models of a type or a class cannot be read; false, and "", when nothing is known
 * against them.
 */
#define HF_REASON_SIZE 128
bool rk_hf_reason_against(const char *name, char out[HF_REASON_SIZE]);

/* Returns the model_type that is spelt most like the text, or NULL when none is near. */
const char *rk_hf_nearest_type(const char *text);

/*
 * Whether the file of a type that reckon does not know describes a decoder like Llama's: all sizes
 * of one, RMSNorm and SiLU.  Then it is read by RK_HF_LIKE_LLAMA.
 */
#define RK_HF_LIKE_LLAMA "like llama"
bool rk_hf_is_like_llama(const struct hf_draft *draft);

/* Keys that, unless null, false, 0 or empty, make a model that reckon cannot express, and why. */
extern const rk_named_text rk_hf_refusals[];
extern const size_t rk_hf_refusal_count;

/* Keys that look like sizes of a layer, but change nothing or are read outside the tables. */
extern const char *const rk_hf_harmless_keys[];
extern const size_t rk_hf_harmless_count;

/* Whether every kind of model may have the key, whose value changes no layer. */
bool rk_hf_is_ordinary(const char *key);

/* A file while it is read. */
typedef struct hf_draft {
    const rk_kinds *kinds;
    const json_t *root;   /* of the file */
    const json_t *config; /* of the language model: root or one of its members */
    const char *path;     /* of config in the file, "" for the root */
    const json_t *own;    /* an architecture of the person; NULL: none */
    rk_json_doc document; /* of the architecture */
    const char *type;     /* its name in data/architectures; NULL: not found */
    hf_architecture read;
    const hf_architecture *architecture; /* that, once it is read */
    bool note_guess;                     /* the architecture was guessed from the keys */
    bool note_class; /* it was found by the class, because the type is not known */
    int64_t size[HF_SIZE_COUNT];
    rk_model model;
    rk_layer_type layer; /* with dense FFN and experts; its window is for windowed layers */
} hf_draft;

/* Returns the value of a key ("a.b") of the object, or NULL when absent. */
const json_t *rk_hf_value(const json_t *object, const char *key);

/* As rk_hf_find, but returns a null unchanged. */
const json_t *rk_hf_find_raw(const hf_draft *draft, const char *key);

/* Returns the value of a key ("a.b") of the language model, or NULL when absent or null. */
const json_t *rk_hf_find(const hf_draft *draft, const char *key);

/* Fails at a key of the language model. */
rk_status rk_hf_fail(const hf_draft *draft, const char *key, rk_error *err, const char *format, ...)
    RK_PRINTF(4, 5);

/* Sets *out to the flag; fails where its key holds no boolean. */
rk_status rk_hf_read_flag(const hf_draft *draft, hf_flag flag, bool *out, rk_error *err);

/* Reads an integer from 0 to 2^40. */
rk_status rk_hf_read_size(const hf_draft *draft, const char *key, const json_t *value, int64_t *out,
                          rk_error *err);

/* Reads the size of a key; `usual` where the file is silent. */
rk_status rk_hf_read_or(const hf_draft *draft, const char *key, int64_t usual, int64_t *out,
                        rk_error *err);

/* Reads the size of a key that must be there. */
rk_status rk_hf_read_key(const hf_draft *draft, const char *key, int64_t *out, rk_error *err);

/* A size of a file: its key, its value where the file is silent, and its place. */
typedef struct hf_slot {
    const char *key;
    int64_t usual; /* HF_NEEDED: the key must be there */
    int64_t *out;
} hf_slot;

#define HF_NEEDED (-1)

/* Reads sizes, up to the first that fails. */
rk_status rk_hf_read_slots(const hf_draft *draft, const hf_slot *slots, size_t count,
                           rk_error *err);

/* Marks the layers that have experts; marks[] is all false. */
rk_status rk_hf_mark_experts(const hf_draft *draft, int layers, bool marks[RK_LAYER_MAX],
                             rk_error *err);

/* Gives draft->model its layers, from the sizes and the layer that are in the draft. */
rk_status rk_hf_lay_out(hf_draft *draft, rk_error *err);

/* Adds a part of the file that is left out to draft->model.note. */
void rk_hf_note(hf_draft *draft, const char *words, const char *key);

/* Writes draft->model.note: the parts of the file that are not the language model. */
rk_status rk_hf_note_rest(hf_draft *draft, rk_error *err);

/* Sets the details of draft->model; nothing in them is refused. */
rk_status rk_hf_read_details(hf_draft *draft, rk_error *err);

#endif
