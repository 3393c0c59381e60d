/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launchers, which start the program of a launch on nodes and processes: torchrun, srun, mpirun,
 * deepspeed, accelerate and others, one inside another.
 *
 * Sources: the command lines of torch.distributed.run, Slurm, Open MPI, DeepSpeed 0.19
 * (deepspeed/launcher/runner.py) and accelerate (commands/launch.py).
 */
#include "base/named.h"
#include "base/text.h"
#include "launch/launch_parts.h"
#include "launch/shell_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* The machine as a launcher describes it; 0: not said. */
typedef struct world {
    int64_t nodes, node, all;
    bool unknown; /* it names nodes by what is not known here */
} world;

static const char *word_at(const rk_launch *launch, size_t i)
{
    return i < launch->word_count ? launch->words[i].text : "";
}

/* The value of "-N2", a letter with its value behind it; NULL: the word is none. */
static const char *joined_value(const char *word)
{
    const bool joined =
        word[0] == '-' && isalpha((unsigned char)word[1]) && isdigit((unsigned char)word[2]);
    return joined ? word + 2 : NULL;
}

/* Whether an option has a name, with one dash or two, and '-' or '_' between its words. */
static bool is_option(const char *word, const char *name)
{
    const char *at = word + strspn(word, "-");
    if (at == word) {
        return false;
    }
    for (; *name; at++, name++) {
        if (*at != *name && !(*at == '_' && *name == '-')) {
            return false;
        }
    }
    return *at == '\0' || *at == '=' || at == joined_value(word);
}

static bool is_any_option(const char *word, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        if (is_option(word, names[i])) {
            return true;
        }
    }
    return false;
}

/* The value of the option at a place, behind its letter or '=', or in the next word. */
static const char *value_at(const rk_launch *launch, size_t i)
{
    const char *joined = joined_value(word_at(launch, i));
    const char *equals = strchr(word_at(launch, i), '=');
    return joined ? joined : equals ? equals + 1 : word_at(launch, i + 1);
}

/* A number above 0; of "1:4" and "gpu:a100:8" the last.  0: it is none. */
static int64_t count_of(const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    const size_t length = strspn(digits, "0123456789");
    return length > 0 && length < 9 && digits[length] == '\0' ? (int64_t)strtol(digits, NULL, 10)
                                                              : 0;
}

/* "0,1,2,3": how many. */
static int64_t count_list(const char *text)
{
    int64_t count = *text != '\0';
    for (const char *at = text; *at; at++) {
        count += *at == ',' && at[1];
        if (!isdigit((unsigned char)*at) && *at != ',') {
            return 0;
        }
    }
    return count;
}

/* ---- launchers ------------------------------------------------------------------------------- */

typedef enum launcher_kind {
    NO_LAUNCHER,
    TORCHRUN,
    DEEPSPEED,
    ACCELERATE,
    SLURM,
    MPI,
    COMPOSER,
    PYTHON,
    TRAINER, /* a program with a name of its own, not a file */
} launcher_kind;

static launcher_kind kind_of(const char *word)
{
    static const rk_named_count names[] = {
        {"torchrun", TORCHRUN},
        {"torch.distributed.run", TORCHRUN},
        {"torch.distributed.launch", TORCHRUN},
        {"deepspeed", DEEPSPEED},
        {"deepspeed.launcher.runner", DEEPSPEED},
        {"accelerate", ACCELERATE},
        {"accelerate.commands.launch", ACCELERATE},
        {"srun", SLURM},
        {"sbatch", SLURM},
        {"salloc", SLURM},
        {"mpirun", MPI},
        {"mpiexec", MPI},
        {"composer", COMPOSER},
        {"swift", TRAINER},
        {"megatron", TRAINER},
        {"llamafactory-cli", TRAINER},
        {"lmf", TRAINER},
        {"trl", TRAINER},
        {"axolotl", TRAINER},
        {"tune", TRAINER},
        {"nemo", TRAINER},
        {"primus-cli", TRAINER},
        {"run_train.sh", TRAINER},    /* of torchtitan */
        {"run_pretrain.sh", TRAINER}, /* of Primus */
    };
    const char *name = rk_launch_base_name(word);
    const int64_t known = rk_named_count_of(names, sizeof(names) / sizeof(names[0]), name, -1);
    return known >= 0 ? (launcher_kind)known
           : strncmp(name, "python", strlen("python")) == 0 && !strchr(name, '.') ? PYTHON
           : strncmp(name, "python3.", strlen("python3.")) == 0                   ? PYTHON
                                                                                  : NO_LAUNCHER;
}

bool rk_launch_is_trainer(const char *word)
{
    return kind_of(word) == TRAINER;
}

bool rk_launch_is_launcher(const char *word)
{
    const launcher_kind kind = kind_of(word);
    return (kind != NO_LAUNCHER && kind != PYTHON && kind != TRAINER) || strcmp(word, "ray") == 0 ||
           strcmp(word, "colossalai") == 0;
}

/* "NNODES=2": an assignment before a command. */
static bool is_assignment(const char *word)
{
    const size_t length = rk_shell_name_length(word, strlen(word));
    return length > 0 && word[length] == '=';
}

bool rk_launch_begins_line(const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && is_assignment(words[i])) {
        i++;
    }
    return i < count && kind_of(words[i]) != NO_LAUNCHER;
}

/* Options of a launcher that no value follows. */
static bool is_switch(const char *word)
{
    static const char *const switches[] = {"standalone",
                                           "no-python",
                                           "use-env",
                                           "multi-gpu",
                                           "use-deepspeed",
                                           "use-fsdp",
                                           "use-megatron-lm",
                                           "cpu",
                                           "mps",
                                           "same-network",
                                           "no-local-rank",
                                           "force-multi",
                                           "no-ssh",
                                           "no-ssh-check",
                                           "save-pid",
                                           "enable-elastic-training",
                                           "u",
                                           "O",
                                           "OO",
                                           "B",
                                           "E",
                                           "s",
                                           "I",
                                           "q",
                                           "v",
                                           "debug",
                                           "tpu",
                                           "quiet",
                                           "dynamo-use-dynamic",
                                           "enable-numa-binding",
                                           "no-color",
                                           NULL};
    return is_any_option(word, switches);
}

static bool is_module(const char *word)
{
    static const char *const names[] = {"m", "module", NULL};
    return is_any_option(word, names) && !strchr(word, '=');
}

/* Whether a word is a program's file. */
static bool is_script(const char *word)
{
    return rk_ends_with(word, ".py") && word[0] != '-' && !strchr(word, ' ');
}

/* The next file of a program; a bare word at `i` is the program where none follows. */
static size_t next_script(const rk_launch *launch, size_t i)
{
    size_t script = i;
    while (kind_of(word_at(launch, i)) == NO_LAUNCHER && script < launch->word_count &&
           !is_script(word_at(launch, script)) && !is_module(word_at(launch, script))) {
        script++;
    }
    return script < launch->word_count && is_script(word_at(launch, script)) ? script : i;
}

/*
 * The word behind the options of a launcher that begins at `i`: its program, or the next launcher.
 * One that names no file is a program where a bare word is none of a value.
 */
static size_t behind_options(const rk_launch *launch, size_t i)
{
    static const char *const files[] = {"config-file", "hostfile", "deepspeed-config-file", NULL};
    while (i < launch->word_count) {
        const char *word = word_at(launch, i);
        if (word[0] != '-') {
            return is_script(word) ? i : next_script(launch, i);
        }
        if (is_module(word)) {
            return i + 1;
        }
        const bool single = strchr(word, '=') || joined_value(word) || is_switch(word);
        const char *next = word_at(launch, i + 1);
        i += single || (next[0] == '-' && !isdigit((unsigned char)next[1])) ||
                     (is_script(next) && !is_any_option(word, files))
                 ? 1
                 : 2;
    }
    return launch->word_count;
}

/* Behind the options of a wrapper, whose kinds of options are too many: the next that is known. */
static size_t next_known(const rk_launch *launch, size_t i)
{
    while (i < launch->word_count && kind_of(word_at(launch, i)) == NO_LAUNCHER &&
           !is_script(word_at(launch, i))) {
        i++;
    }
    return i;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* The options of launchers for numbers; NULL ends them. */
static const struct {
    launcher_kind kind;
    const char *nodes[6], *node[6], *all[6];
} counts[] = {
    {TORCHRUN, {"nnodes"}, {"nproc-per-node"}, {NULL}},
    {TRAINER, {"nnodes"}, {"nproc-per-node"}, {NULL}},
    {DEEPSPEED, {"num-nodes"}, {"num-gpus"}, {NULL}},
    {ACCELERATE, {"num-machines"}, {NULL}, {"num-processes"}},
    {SLURM,
     {"nodes", "N"},
     {"gpus-per-node", "gres", "ntasks-per-node"},
     {"ntasks", "n", "gpus", "G"}},
    {MPI, {NULL}, {"npernode", "ppn", "N", "map-by"}, {"np", "n", "c"}},
    {COMPOSER, {NULL}, {"n", "nproc"}, {"world-size"}},
};

/* "ppr:8:node" of --map-by */
static int64_t per_node(const char *value)
{
    const bool mapped = strncmp(value, "ppr:", 4) == 0;
    const size_t digits = mapped ? strspn(value + 4, "0123456789") : 0;
    return mapped ? digits > 0 && digits < 9 ? (int64_t)strtol(value + 4, NULL, 10) : 0
                  : count_of(value);
}

static void read_counts(const rk_launch *launch, launcher_kind kind, size_t from, size_t to,
                        world *w)
{
    size_t k = 0;
    while (k < sizeof(counts) / sizeof(counts[0]) && counts[k].kind != kind) {
        k++;
    }
    for (size_t i = from; k < sizeof(counts) / sizeof(counts[0]) && i < to; i++) {
        const char *word = word_at(launch, i);
        const int64_t value = word[0] == '-' ? per_node(value_at(launch, i)) : 0;
        w->unknown |= word[0] == '-' && value <= 0 && is_any_option(word, counts[k].nodes);
        const bool gpus = !is_option(word, "gres") || strncmp(value_at(launch, i), "gpu", 3) == 0;
        if (value <= 0 || !gpus) {
            continue;
        }
        if (is_any_option(word, counts[k].nodes)) {
            w->nodes = value;
        } else if (is_any_option(word, counts[k].node)) {
            w->node = value > w->node ? value : w->node; /* tasks or accelerators of a node */
        } else if (is_any_option(word, counts[k].all)) {
            w->all = value > w->all ? value : w->all;
        }
    }
}

/* A line for each host, "worker-1 slots=8"; of a file that is not here nothing is known. */
static void read_hostfile(rk_launch *launch, const char *path, world *w)
{
    const char *text = rk_launch_text_of(launch, path);
    const char *count = text ? strstr(text, "slots=") : NULL; /* the next one */
    int64_t hosts = 0, slots = 0;
    for (const char *at = text; at && *at;) {
        const size_t length = strcspn(at, "\n");
        const char *host = at + strspn(at, " \t");
        count = count && count < at ? strstr(at, "slots=") : count;
        if (*host != '#' && *host != '\r' && *host != '\n' && *host) {
            hosts++;
            slots = count && count < at + length ? (int64_t)strtol(count + 6, NULL, 10) : slots;
        }
        at += length + (at[length] == '\n');
    }
    w->nodes = w->nodes ? w->nodes : hosts;
    w->node = w->node || slots < 0 || slots > INT16_MAX ? w->node : slots;
    w->unknown |= w->nodes == 0;
}

/*
 * "--include host:0,1@host:0,1" of deepspeed, "-H a:8,b:8" of mpirun, and the file of hosts of
 * both.
 */
static void read_hosts(rk_launch *launch, launcher_kind kind, size_t from, size_t to, world *w)
{
    for (size_t i = from; i < to; i++) {
        const char *word = word_at(launch, i), *value = value_at(launch, i);
        const bool file = is_option(word, "hostfile") || is_option(word, "machinefile");
        if (file && (kind == DEEPSPEED || kind == MPI)) {
            read_hostfile(launch, value, w);
            continue;
        }
        const char *colon = strchr(value, ':');
        int64_t hosts = 1;
        if (kind == DEEPSPEED && is_option(word, "include") && colon) {
            const char *end = strchr(colon, '@');
            for (const char *at = value; *at; at++) {
                hosts += *at == '@';
            }
            char list[256] = "";
            const size_t length = end ? (size_t)(end - colon) - 1 : strlen(colon + 1);
            memcpy(list, colon + 1, length < sizeof(list) ? length : 0);
            w->nodes = hosts;
            w->node = count_list(list);
        } else if (kind == MPI && (is_option(word, "H") || is_option(word, "host"))) {
            for (const char *at = value; *at; at++) {
                hosts += *at == ',';
            }
            w->nodes = hosts;
            w->node = colon ? (int64_t)strtol(colon + 1, NULL, 10) : w->node;
        }
    }
}

/* Variables before the command. */
static void read_environment(const rk_launch *launch, size_t end, world *w)
{
    enum { NODES, PER_NODE, DEVICES };
    static const rk_named_count names[] = {{"NNODES=", NODES},
                                           {"NPROC_PER_NODE=", PER_NODE},
                                           {"NGPU=", PER_NODE},
                                           {"CUDA_VISIBLE_DEVICES=", DEVICES},
                                           {"ASCEND_RT_VISIBLE_DEVICES=", DEVICES}};
    for (size_t i = 0; i < end; i++) {
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
            const size_t length = strlen(names[j].name);
            const char *word = word_at(launch, i);
            if (strncmp(word, names[j].name, length) != 0) {
                continue;
            }
            const int64_t value =
                names[j].value == DEVICES ? count_list(word + length) : count_of(word + length);
            if (names[j].value == NODES) {
                w->nodes = value;
            } else if (names[j].value == PER_NODE || w->node == 0) {
                w->node = value;
            }
        }
    }
}

/* PyTorch's allocator, as one of the variables before the command sets it. */
static void read_allocator(rk_launch *launch, size_t end)
{
    static const char *const names[] = {
        "PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF=", "PYTORCH_HIP_ALLOC_CONF=", NULL};
    for (size_t i = 0; i < end; i++) {
        for (size_t j = 0; names[j]; j++) {
            const char *word = word_at(launch, i);
            const char *value = strncmp(word, names[j], strlen(names[j])) == 0
                                    ? strstr(word, "expandable_segments:")
                                    : NULL;
            if (value) {
                const bool on =
                    tolower((unsigned char)value[strlen("expandable_segments:")]) == 't';
                rk_launch_state(launch, "expandable_segments", on ? "true" : "false",
                                RK_FACT_STATED, NULL);
            }
        }
    }
}

/* States what nothing else has stated. */
static void state(rk_launch *launch, const char *field, int64_t value, rk_fact_origin origin)
{
    if (value > 0 && !rk_launch_fact_of(launch, field)) {
        rk_launch_state_count(launch, field, value, origin, NULL);
    }
}

/* An inner launcher overrides the one around it. */
static void merge(world *inner, const world *outer)
{
    inner->nodes = inner->nodes ? inner->nodes : outer->nodes;
    inner->node = inner->node ? inner->node : outer->node;
    inner->all = inner->all ? inner->all : outer->all;
    inner->unknown |= outer->unknown;
}

static void state_world(rk_launch *launch, const world *w, bool one_node)
{
    const bool known = rk_launch_fact_of(launch, "processes") != NULL;
    state(launch, "nodes", w->nodes, RK_FACT_STATED);
    state(launch, "gpus_per_node", w->node, RK_FACT_STATED);
    if (w->node == 0 || w->nodes == 0) {
        state(launch, "processes", w->all, RK_FACT_STATED);
    }
    if (one_node && !known && !w->unknown && w->node > 0) {
        state(launch, "nodes", 1, RK_FACT_DEFAULT);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

/* The first word that is not a variable such as "NNODES=2". */
static size_t skip_environment(const rk_launch *launch)
{
    size_t i = 0;
    while (i < launch->word_count && is_assignment(word_at(launch, i))) {
        i++;
    }
    return i;
}

void rk_launch_find_program(rk_launch *launch)
{
    world all = {0}, around = {0};
    bool one_node = false;
    size_t i = skip_environment(launch);
    const size_t environment = i;
    launch->program = launch->word_count;
    i = kind_of(word_at(launch, i)) == NO_LAUNCHER ? next_known(launch, i) : i;
    while (i < launch->word_count) {
        const launcher_kind kind = kind_of(word_at(launch, i));
        size_t next = i + 1;
        world own = {0};
        if (kind == NO_LAUNCHER || kind == TRAINER) {
            launch->program = i;
            next = kind == TRAINER ? launch->word_count : next;
        } else if (kind == SLURM || kind == MPI) {
            next = next_known(launch, i + 1);
        } else {
            next += kind == ACCELERATE && strcmp(word_at(launch, next), "launch") == 0;
            next = behind_options(launch, next);
        }
        read_counts(launch, kind, i + 1, next, &own);
        read_hosts(launch, kind, i + 1, next, &own);
        one_node |= kind == TORCHRUN || kind == DEEPSPEED || kind == ACCELERATE || kind == TRAINER;
        merge(&own, &all);
        all = own;
        if (launch->program < launch->word_count) {
            break;
        }
        i = next;
    }
    read_environment(launch, environment, &around);
    read_allocator(launch, environment);
    merge(&all, &around);
    state_world(launch, &all, one_node);
}
