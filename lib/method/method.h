/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method of predicting what a strategy costs. Plan, explain, design and sweep are written once
 * against this interface. It has two implementations: the Calculon method, number for number as
 * published, and the reckon model.
 */
#ifndef RK_METHOD_METHOD_H
#define RK_METHOD_METHOD_H

#include "base/value.h"
#include "io/document.h"
#include "io/json_write.h"
#include "io/out.h"
#include "io/table.h"
#include "method/calculon_numbers.h"
#include "method/describe.h"
#include "reckon/team.h"
#include "request/request.h"
#include "search/plan.h"
#include "search/reasons.h"
#include "strategy/strategy_fields.h"

typedef struct rk_method rk_method;
typedef struct rk_question rk_question; /* method/question.h */

/*
 * A model on a system, and the strategies to choose from.  Copies are shallow: the loader owns what
 * the documents point to.
 */
typedef struct rk_problem {
    const rk_method *method; /* selects the member of the union */
    union {
        struct {
            rk_calculon_app app;
            rk_calculon_sys sys;
            rk_calculon_space space;
        } calculon;
        struct {
            rk_inputs inputs;
            rk_plan_space space;
            /* Of what was loaded and settled before: */
            double memory_usable; /* of the accelerator, without the request's limit */
            int64_t node;         /* size of nodes that the last request gave, or 0 */
            int tier_count;       /* of the system, without that */
            rk_tier tiers[RK_TIER_MAX];
            bool stack_given;               /* the stack was loaded as a document */
            bool has_usual;                 /* the stack is the usual one of */
            int usual_framework;            /* a framework that was given */
            rk_generation usual_generation; /* on this generation */
        } reckon;
    };
} rk_problem;

/* Where a document is: a catalogue name or a file; NULL: the object. */
typedef struct rk_source {
    const char *name;
    const json_t *object;
    rk_documents *documents; /* that keep those of the catalogue; NULL: none */
} rk_source;

/* A strategy and its cost. */
typedef struct rk_candidate {
    bool fits;
    bool risky;        /* fits, at a higher risk of running out of memory than was asked for */
    double step;       /* s */
    double rate;       /* sequences/s */
    double efficiency; /* of all FLOPs, see rk_method.efficiency_name */
    double memory;     /* bytes of the fullest accelerator, */
    double offloaded;  /* and of what it keeps elsewhere */
    double score;      /* ranks candidates, more is better: the rate, or -step */
    uint64_t index;    /* place in the enumeration of the space; orders equal scores */
    union {
        rk_calculon_exe exe; /* by the Calculon method */
        struct {             /* by the reckon model */
            rk_strategy strategy;
            rk_estimate estimate;
        };
    };
} rk_candidate;

/*
 * The shortage when nothing fits. The methods report different parts; absent candidates have `fits`
 * unset.
 */
typedef struct rk_shortage {
    /* The Calculon method. */
    int64_t least_batch;   /* of an empty space: the batch at which it is not; 0: none is */
    char misfit[256];      /* why the first strategy does not run even with unlimited memory */
    rk_candidate fastest;  /* with unlimited memory in both tiers */
    rk_candidate least[2]; /* that needs least of a tier while the other stays as it is */
    /* The reckon model. */
    bool legal;           /* some strategy is legal */
    rk_reasons reasons;   /* why none is */
    rk_candidate nearest; /* the legal one that needs least memory */
    int changes;          /* choices in which `changed` differs from it; 0: nothing near it fits */
    rk_candidate changed; /* the fastest that fits with this few changes */
    int64_t accelerators; /* with which something fits, by doubling; 0: not known */
} rk_shortage;

/* The sizes in which shapes of a model differ. */
typedef struct rk_model_sizes {
    int64_t blocks, heads, head_size;
    int64_t hidden, feedforward, seq; /* feedforward: of an expert where the last layer has some */
    double parameters;
} rk_model_sizes;

/* A column for a parallel degree. */
typedef struct rk_degree {
    const char *key;   /* "tp", "tensor_par" */
    const char *label; /* "TP" */
    bool basic;        /* one of tensor, pipeline and data parallelism */
} rk_degree;

/* How a space is searched. */
typedef enum rk_search_kind {
    RK_SEARCH_ANY, /* by bounds where they pay, see rk_method.bounds_pay_from */
    RK_SEARCH_EXHAUSTIVE,
    RK_SEARCH_BOUNDED,
} rk_search_kind;

/* The memories of a search, and the strategy that it found. */
typedef struct rk_known_best {
    double usable, host_capacity, host_bandwidth;
    bool found;
    rk_planned_strategy best;
} rk_known_best;

#define RK_KNOWN_BESTS 16

/* What searches share that differ in the memory of accelerators and hosts only. */
typedef struct rk_known_bounds {
    double most_memory;            /* bytes of an accelerator, in any of them */
    double faster;                 /* above 1: see rk_method.open_nearby; 0: only these differ */
    struct rk_plan_bounds *bounds; /* owned; NULL before the first */
    uint64_t strategies;           /* of the space */
    int searches;
    rk_known_best bests[RK_KNOWN_BESTS]; /* of the last searches, search i at i % RK_KNOWN_BESTS */
} rk_known_bounds;

/* The fields of a request that both methods have. */
typedef struct rk_request_view {
    const char *model, *system; /* catalogue names or files; a model may be NULL */
    rk_documents *documents;    /* as in rk_source */
    int64_t threads;
    size_t top; /* to show */
    rk_search_kind kind;
    bool json, csv;
    const char *output; /* file, or "-" */
} rk_request_view;

/* Parts of rk_method.write_run. */
enum { RK_SAYS_ACCELERATORS = 1, RK_SAYS_SEQ = 2 };

#define RK_DEGREE_MAX         5
#define RK_METHOD_COUNTS      3
#define RK_METHOD_COLUMN_SIZE 64
#define RK_MISFIT_SIZE        512
#define RK_CELL_SIZE          RK_STRATEGY_TEXT_SIZE

struct rk_method {
    const char *name;            /* "calculon", "reckon" */
    const char *efficiency_key;  /* in documents: "efficiency", "mfu" */
    const char *efficiency_name; /* for people: "efficiency", "MFU" */
    const char *efficiency_short;
    int64_t most_blocks; /* of a model */
    const char
        *counts[RK_METHOD_COUNTS]; /* counts of an exhaustive search; the first one is the total */
    const char *counted[RK_METHOD_COUNTS]; /* the same in an answer; NULL: that is left out */
    const char *search_note;               /* text after these counts, for people; "" */
    uint64_t bounds_pay_from; /* strategies of a space; UINT64_MAX: bounds only on request */
    uint64_t slice;           /* strategies that are worth a task of their own */
    int64_t most_results;     /* of a point of a sweep */
    size_t candidate_size;    /* bytes of an rk_candidate that are in use */
    size_t text_size;         /* bytes that the texts of `values` may take */
    rk_degree degrees[RK_DEGREE_MAX];
    size_t degree_count;
    const char *accelerators_option; /* "processors" */
    const char *shape_key;           /* of the sizes of a model in documents */
    const char *efficiency_note;     /* what efficiency is, a line; "" */
    bool tells_wall;                 /* answers have the wall time of a search */

    /* ---- the problem, from what is asked ---- */

    /*
     * Reads a document into the problem, which is all zero but for its method before the first:
     * RK_DOCUMENT_MODEL, RK_DOCUMENT_SYSTEM, or RK_DOCUMENT_STACK by the reckon model.  The path of
     * an error is within the document.
     */
    rk_status (*load)(rk_problem *problem, rk_document_kind kind, const rk_source *source,
                      rk_error *err);

    /* Releases what loading made; NULL: nothing. */
    void (*clear)(rk_problem *problem);

    /*
     * Fills in the fields of a request other than its documents (rk_calculon_request, rk_request)
     * and what follows from it for them; of a `search`, the strategies that it leaves open.
     */
    rk_status (*space)(rk_problem *problem, const void *request, bool search, rk_error *err);

    rk_request_view (*view)(const void *request);

    /* The number of accelerators in a request. */
    int64_t *(*requested_accelerators)(void *request);

    /* Lets the search offload anything that the request does not forbid; NULL: it always does. */
    void (*allow_offload)(rk_problem *problem, const void *request);

    /* Sequences of a step, at most; tokens of one, which can be set where the request names no
       model (else NULL). */
    int64_t (*batch)(const rk_problem *problem);
    int64_t (*seq)(const rk_problem *problem);
    void (*set_seq)(rk_problem *problem, int64_t seq);

    /* ---- strategies ---- */

    /* Strategies of the space. */
    rk_status (*count)(const rk_problem *problem, uint64_t *strategies, rk_error *err);

    /*
     * Finds the `top` fastest strategies that fit, best first, by evaluating all; by the reckon
     * model with closed forms of schedules.  The ranks of `team` (NULL: none) share the search, and
     * rank 0 gets the result.  `nearest` gets the legal strategy that needs least memory, with the
     * index UINT64_MAX where none is legal or the method does not look for it.
     */
    rk_status (*search)(const rk_problem *problem, rk_team *team, const rk_search_control *control,
                        size_t top, rk_candidate *candidates, size_t *found, rk_candidate *nearest,
                        uint64_t counts[RK_METHOD_COUNTS], rk_error *err);

    /*
     * The same for a space in which `bound` has found nothing, without counting it: what fits at a
     * higher risk, and `nearest`.  NULL: the method does not look for these.
     */
    rk_status (*search_nearest)(const rk_problem *problem, const rk_search_control *control,
                                size_t top, rk_candidate *candidates, size_t *found,
                                rk_candidate *nearest, rk_error *err);

    /* The same result as of `search` without evaluating what bounds settle; `control` must not ask
     * for slices. */
    rk_status (*bound)(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err);

    /*
     * The same with what the searches before have found out; NULL: the method keeps nothing.  The
     * problem is one object, of which nothing changes but the sizes of memories and the rate of
     * offload.  `known` is all zero before the first, but for most_memory, and is released with
     * rk_known_bounds_clear.  What other searches settle counts as settled by time.
     */
    rk_status (*bound_again)(const rk_problem *problem, rk_known_bounds *known,
                             const rk_search_control *control, size_t top, rk_candidate *candidates,
                             size_t *found, rk_bounded_counts *counts, rk_error *err);

    /*
     * Begins searches with bound_again of systems that differ from this one in all but the sizes of
     * domains, none by more than the factor known->faster in any number; NULL: the method has none.
     * All look for strategies that reach the least rate of the control, which outlives them.
     */
    rk_status (*open_nearby)(const rk_problem *problem, const rk_search_control *control,
                             rk_known_bounds *known, rk_error *err);

    /*
     * Evaluates the strategy of a candidate and fills the rest; what does not fit gets no times by
     * the Calculon method.  By the reckon model the schedule is played.
     */
    rk_status (*evaluate)(const rk_problem *problem, rk_candidate *candidate, rk_error *err);

    /* Why a candidate does not fit; "" when it does. */
    rk_status (*misfit)(const rk_problem *problem, const rk_candidate *candidate,
                        char out[RK_MISFIT_SIZE], rk_error *err);

    /*
     * Finds out what is missing, after a search that found nothing that fits: `nearest` is its, and
     * `strategies` the number that it went through.
     */
    rk_status (*find_shortage)(const rk_problem *problem, const rk_candidate *nearest,
                               uint64_t strategies, const rk_search_control *control,
                               rk_shortage *shortage, rk_error *err);

    /* Leaves out pointers, so that a candidate may travel to another process. */
    void (*detach)(rk_candidate *candidate);

    /* ---- the problem, changed ---- */

    /* The numbers of the system.  Returns how many. */
    size_t (*numbers)(const rk_problem *problem, rk_number out[RK_NUMBER_MAX]);
    void (*set_number)(rk_problem *problem, const rk_number *number, double value);

    /* Whether a strategy of the space takes or needs what depends on it; NULL: some always do. */
    bool (*uses_number)(const rk_problem *problem, const rk_number *number);

    /* The accelerators to train on. */
    int64_t (*accelerators)(const rk_problem *problem);
    void (*set_accelerators)(rk_problem *problem, int64_t accelerators);

    /* Refuses an impossible system: tiers must hold whole domains, and all accelerators. */
    rk_status (*check)(const rk_problem *problem, rk_error *err);

    /* The sizes of the model. */
    void (*sizes)(const rk_problem *problem, rk_model_sizes *sizes);

    /*
     * The sizes of the model with other blocks and heads.  `feedforward`: ratio to the hidden size,
     * 0: as the model has it.  False when there is none: heads that do not divide by key heads,
     * widths that are not whole.
     */
    bool (*shape)(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size,
                  double feedforward, rk_model_sizes *sizes);

    /* Sets the model to sizes that `shape` made with the same ratio. */
    void (*reshape)(rk_problem *problem, const rk_model_sizes *sizes, double feedforward);

    /* ---- a candidate in rows, for people ---- */

    /* Widths of a comparison side by side: of labels, and the least of a strategy. */
    int label_width, cell_width;
    size_t row_count;
    const char *(*row_label)(size_t row);

    /* The row's text for a candidate, in `out` or elsewhere. */
    const char *(*describe)(const rk_problem *problem, const rk_candidate *candidate, size_t row,
                            char out[RK_CELL_SIZE]);

    /* Whether the row is shown for these candidates; NULL: always. */
    bool (*row_tells)(const rk_problem *problem, const rk_candidate *candidates, size_t count,
                      size_t row);

    /* ---- a question and its answer, see method/question.h ---- */

    /* Predicts the strategies of the ranking in full. */
    rk_status (*predict)(rk_question *question, rk_error *err);

    /* The question: its documents; all but the model; and the line "run", with parts. */
    void (*write_documents)(FILE *to, const rk_question *question);
    void (*write_machine)(FILE *to, const rk_question *question);
    void (*write_run)(FILE *to, const rk_question *question, unsigned parts);
    void (*write_request_json)(rk_json_writer *writer, const rk_question *question);

    /*
     * The answer of `plan`: which choices were searched (or NULL), what is said of the best
     * strategy, or what is missing where none fits; and all strategies.
     */
    void (*write_choices)(FILE *to, const rk_question *question);
    rk_status (*write_best)(FILE *to, const rk_question *question, rk_table_style style,
                            rk_error *err);
    void (*write_missing)(FILE *to, const rk_question *question);
    void (*write_best_json)(rk_json_writer *writer, const rk_question *question);
    void (*write_missing_json)(rk_json_writer *writer, const rk_question *question);
    void (*write_strategies_json)(rk_json_writer *writer, const rk_question *question);
    void (*write_csv)(rk_out *out, const rk_question *question);

    /* The question, a strategy and the answer of `plan` on one screen; NULL: only in full. */
    void (*write_brief_question)(FILE *to, const rk_question *question, unsigned parts);
    void (*write_brief_strategy)(FILE *to, const rk_problem *problem,
                                 const rk_candidate *candidate);
    rk_status (*write_brief)(FILE *to, const rk_question *question, rk_table_style style,
                             rk_error *err);

    /* A strategy on one line; if this is NULL, on several. */
    const char *(*strategy_words)(const rk_candidate *candidate, char out[RK_WORDS_SIZE]);
    void (*write_strategy)(FILE *to, const rk_candidate *candidate);

    /* ---- a strategy in words ---- */

    /* Lists what differs in b: "TP 8 (was 4), DP 2 (was 4)"; "" if they are equal. Returns out. */
    const char *(*changes)(const rk_candidate *a, const rk_candidate *b, char out[RK_WORDS_SIZE]);

    /* The member "strategy". */
    void (*write_json)(rk_json_writer *writer, const rk_candidate *candidate);

    /* The values of `degrees`. */
    void (*degree_values)(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX]);

    /* The columns of a table of candidates: strategy and estimate. */
    size_t (*column_count)(void);
    rk_value_type (*column)(size_t index, char name[RK_METHOD_COLUMN_SIZE]);

    /* Their values for a candidate that fits; `texts` may hold those that are text. */
    rk_status (*values)(const rk_problem *problem, const rk_candidate *candidate, char *texts,
                        rk_value *values, rk_error *err);
};

extern const rk_method rk_method_calculon, rk_method_reckon;

void rk_known_bounds_clear(rk_known_bounds *known);

/* Adds the counts of a bounded search to a sum. */
void rk_bounded_counts_add(rk_bounded_counts *sum, const rk_bounded_counts *counts);

#endif
