/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines: an accelerator, the network tiers that join accelerators, and the cost of operations.
 * The functions below map sizes to seconds.
 */
#ifndef RK_SYSTEM_SYSTEM_H
#define RK_SYSTEM_SYSTEM_H

#include "collective/operation.h"
#include "reckon/reckon.h"
#include "system/flash.h"

extern const char
    *const rk_collective_names[]; /* "all_reduce"...; NULL-terminated, in enum order */

extern const char *const rk_precision_names[]; /* NULL-terminated, in enum order */

/* Bytes of one operand element with its scales: 4, 4, 2, 2, 1, 0.5625. */
double rk_precision_bytes(rk_precision precision);

/* ---- the accelerator ------------------------------------------------------------------------ */

/* Measured times of kernels and collectives, by shape; see measured.h. */
typedef struct rk_measured rk_measured;

/* The tile, wave and K-loop model of a GEMM engine for one precision; see gemm.c. */
typedef struct rk_gemm_engine {
    double peak;       /* dense FLOP/s; 0: the accelerator has not this precision */
    double efficiency; /* of the main loop, sustained in training */
    double feed;       /* cost of feeding operands to a tile, in elements of its edges */
    double prologue;   /* k0: extra K per tile to fill the pipeline */
    double wave_share; /* 0..1: how far a last partial wave costs a full one */
} rk_gemm_engine;

/* At what clock a GEMM was timed. */
typedef enum rk_clock {
    RK_CLOCK_TRAINING,  /* of training, where other kernels and messages come between */
    RK_CLOCK_SUSTAINED, /* repeated for a second, at the power limit of the board */
    RK_CLOCK_BURST,     /* a few times, before heat and power limit the clock */
} rk_clock;

/* Architectures that software is built for. */
typedef enum rk_generation {
    RK_GENERATION_NONE, /* not said */
    RK_GENERATION_VOLTA,
    RK_GENERATION_AMPERE,
    RK_GENERATION_HOPPER,
    RK_GENERATION_BLACKWELL,
    RK_GENERATION_CDNA2,
    RK_GENERATION_CDNA3,
    RK_GENERATION_CDNA4,
    RK_GENERATION_GAUDI,
    RK_GENERATION_ASCEND,
    RK_GENERATION_TPU,
    RK_GENERATION_TRAINIUM,
} rk_generation;

extern const char *const rk_generation_names[]; /* NULL-terminated, in enum order */

/* Kernels of attention to keys that an indexer picks. */
typedef struct rk_sparse_rates {
    double core_share;   /* of the matrix engine, by attention to picked keys */
    double head_tile;    /* query heads that such a kernel pads to */
    double index_share;  /* of the matrix engine, by the scores of an indexer */
    double select_share; /* of memory bandwidth, while the best scores are picked */
} rk_sparse_rates;

/* Rules of linear attention whose chunked kernels are measured. */
typedef enum rk_delta_rule {
    RK_DELTA_NONE,
    RK_DELTA_GATED, /* flash-linear-attention, chunk_gated_delta_rule */
    RK_DELTA_KIMI,  /* the same, chunk_kda */
    RK_DELTA_COUNT,
} rk_delta_rule;

typedef struct rk_delta_rates {
    double rate;   /* FLOP/s while all cores are busy; 0: not measured */
    double token;  /* seconds per token of a sequence, along which states are passed on */
    double launch; /* additional seconds, of all kernels of forward */
} rk_delta_rates;

typedef struct rk_accelerator {
    char name[48];
    char product[32]; /* as it is sold; what measured runs are compared by; "": unknown */
    char line[16];    /* of products that share a design; "": unknown */
    rk_generation generation;
    int64_t cores;        /* SMs, compute units, AI cores */
    int64_t tensor_cores; /* of a TPU chip, which names of slices count; 0: not known */
    rk_gemm_engine gemm[RK_PRECISION_COUNT];
    bool no_bf16;           /* it has no bf16: that engine has the rates of fp16 */
    bool uncertain;         /* nobody measured what GEMMs in 16 bits reach */
    bool fp8_one_layout;    /* 8-bit GEMMs read both operands along K: transposed copies are kept */
    double vector_peak;     /* FLOP/s in fp32 */
    double vector_overlap;  /* share of memory-bound operators run beside the matrix engine */
    double memory_capacity; /* bytes, nominal */
    double memory_usable;   /* bytes that a process can allocate */
    double memory_bandwidth;                      /* bytes/s, peak */
    double memory_efficiency;                     /* of streaming kernels */
    double attention_forward, attention_backward; /* FLOP/s of flash attention, d = 128, long s */
    double attention_ramp;                        /* tokens: rate(s) = rate * s / (s + ramp) */
    double attention_softmax;                     /* head size that costs as much as the softmax */
    rk_flash_rates flash[RK_FLASH_LIBRARY_COUNT];
    rk_sparse_rates sparse;
    rk_delta_rates delta[RK_DELTA_COUNT];
    double kernel_seconds; /* fixed cost of a kernel on the device */
    double launch_seconds; /* host time to launch one kernel */
    double split_seconds;  /* to add the partial results of a GEMM that splits K */
    double gemm_droop_seconds, attention_droop_seconds; /* of a kernel that sees half the droop */
    double burst;           /* rate of short GEMM benchmarks relative to training, >= 1 */
    double sustained;       /* the same of benchmarks repeated for a second, at the power limit */
    double host_bandwidth;  /* bytes/s each way to host memory, of the link */
    double host_efficiency; /* of large pinned copies */
    double host_capacity;   /* bytes of host memory per accelerator */
    double nvme_bandwidth;  /* bytes/s each way of its share of the node's disks; 0: unknown */
    double power;           /* W, board; 0: unknown */
    rk_measured *measured;  /* owned by the system that was loaded, copies borrow; NULL: none */
} rk_accelerator;

/* Whether its engines read the scales of mxfp8. */
bool rk_accelerator_reads_mx(const rk_accelerator *a);

/*
 * The accelerator under another limit of board power, in W: clocks fall below the power it is
 * built for, and rates of compute with them.  Returned as it is when its power is not known.
 */
rk_accelerator rk_accelerator_at_power(const rk_accelerator *a, double watts);

/* The accelerator as short GEMM benchmarks see it: before heat and power limit the clock. */
rk_accelerator rk_accelerator_at_clock(const rk_accelerator *a, rk_clock clock);

/* Time at that clock of a kernel of `seconds` whose rate falls by `droop` within milliseconds. */
double rk_drooping_seconds(const rk_accelerator *a, double seconds, double droop);

/* ---- network ------------------------------------------------------------------------------- */

typedef enum rk_tier_kind {
    RK_TIER_SWITCH,
    RK_TIER_MESH,
    RK_TIER_TORUS,
    RK_TIER_FABRIC,
    RK_TIER_CUBE_MESH,
    RK_TIER_DRAGONFLY,
} rk_tier_kind;

#define RK_CUBE_MESH_UNITS 8
#define RK_TORUS_AXES      3

extern const char *const rk_tier_kind_names[]; /* NULL-terminated, in enum order */

/* An additional link of a tier, such as PCIe or a NIC in a domain of NVLink. */
typedef struct rk_side_link {
    char name[32];
    double bandwidth;  /* bytes/s per accelerator per direction */
    double efficiency; /* of large messages */
    double latency;    /* s, fixed per collective */
    bool used;         /* by collectives, without rk_system_use_side_links */
} rk_side_link;

#define RK_SIDE_LINK_MAX 3

/* Constants of a collective that `comm --fit` found; see collective/comm_curve.h. */
typedef struct rk_tier_fit {
    double step, chunk_step; /* s */
    double share;            /* bandwidth of a rank relative to the tier; 0: there is no fit */
    double inject_bytes;     /* of a message that the host copies into a command; 0: none */
} rk_tier_fit;

/*
 * One tier: inside a domain of `size` accelerators each can send at `bandwidth` over all of its
 * links.  Switch: any set of peers at full rate.  Mesh: the bandwidth is split evenly over a link
 * to every other unit.  Torus: over both directions of `axes` rings.  Fabric: NICs and switches.
 * Cube mesh: eight units with six links each (DGX-1 with V100).  Dragonfly: groups of the tier
 * below, every two joined by links of their own; `bandwidth` is the sum over all global links.
 */
typedef struct rk_tier {
    char name[32];
    rk_tier_kind kind;
    int64_t size;         /* accelerators of one domain, cumulative; a multiple of the tier below */
    double bandwidth;     /* bytes/s per accelerator per direction */
    double efficiency;    /* of large messages */
    double latency;       /* s, fixed per collective */
    double step_latency;  /* s per rank of a group (ring steps) */
    double chunk_wait;    /* s per step of a large message in a switch, which is sent in chunks */
    double message_start; /* s to start one of many messages that are under way at once */
    double half_bytes;    /* bytes: message size scale of the ramp W + sqrt(half W) */
    double exchange_share; /* bandwidth of all-to-all relative to rings */
    double serial;         /* 0..1: how far faster tiers wait for this one; see collective_plan.h */
    bool in_network_reduce;       /* all-reduce in the switch (NVLS, SHARP) */
    double reduce_share;          /* its bandwidth relative to rings; 0 without */
    int64_t planes;               /* that a NIC is split over, a message on one; 0 as 1 */
    double flow_share;            /* that colliding flows leave, in `efficiency` once it is read */
    int64_t axes;                 /* of a torus; else 0 */
    int64_t ring;                 /* of a torus: units along an axis whose ends are joined */
    int64_t slice[RK_TORUS_AXES]; /* of a torus: units of a group along each axis, which groups of
                                     this size take; no field of documents; all 0: as many axes as
                                     the size allows */
    int side_count, idle_sides;   /* links that collectives use, and those after them that wait */
    rk_side_link sides[RK_SIDE_LINK_MAX]; /* take a part of what stays in a domain of the tier */
    rk_tier_fit fits[RK_COLL_COUNT];      /* of groups whose outermost tier it is */
} rk_tier;

#define RK_TIER_MAX 4

/* The unit of a number before the name of a system: accelerators, or nodes of some kind. */
typedef enum rk_system_unit {
    RK_UNIT_ACCELERATOR,
    RK_UNIT_NODE,
    RK_UNIT_RACK,
    RK_UNIT_SUPERNODE,
    RK_UNIT_POD,
} rk_system_unit;

extern const char *const rk_system_unit_names[]; /* NULL-terminated, in enum order */

typedef struct rk_system {
    char name[64];
    rk_accelerator accelerator;
    int tier_count;
    rk_tier tiers[RK_TIER_MAX]; /* innermost first */
    double price;               /* $ per accelerator hour; 0: unknown */
    rk_system_unit unit;
    int64_t unit_size; /* accelerators of one unit; 0: of a node */
} rk_system;

/* Accelerators of a node: joined by links other than a network's. */
int64_t rk_system_node(const rk_system *system);

/*
 * Accelerators of the unit that the name of the system denotes: a node, a tray of a rack, a
 * host.
 */
int64_t rk_system_unit_size(const rk_system *system);

/*
 * Makes nodes of `size` accelerators; false, and nothing changes, where the machine cannot have
 * them.  A tray of a rack or host of a pod is no node of its own: these keep their domain.
 */
bool rk_system_set_node(rk_system *system, int64_t size);

/* No node of the machine can be larger. */
int64_t rk_system_node_most(const rk_system *system);

/*
 * Where the ranks of a communication group are: within[i] ranks share one domain of tier i; the
 * last entry is the size of the group.  Where within[i] does not divide it, the last domain holds
 * the rest, and the others are full.
 */
typedef struct rk_group {
    int64_t size;
    int64_t within[RK_TIER_MAX];
} rk_group;

/*
 * The group of `size` ranks that are `stride` apart in a machine filled in rank order, so the
 * ranks of tier i's domain are consecutive.  A domain that a whole number of equal parts of the
 * group cannot fill is filled in part (64 of 72 for 128 ranks), unless even the last domain holds
 * more than such a part when all before are full (7 of 31 ranks on nodes of 8, where equal parts
 * have 1).  size, stride >= 1.
 */
rk_group rk_group_of(const rk_system *system, int64_t size, int64_t stride);

/*
 * The same group with every domain filled before the next: 31 ranks on nodes of 8 are 8, 8, 8 and
 * 7.  size, stride >= 1.
 */
rk_group rk_group_packed(const rk_system *system, int64_t size, int64_t stride);

/* The outermost tier whose domains hold more ranks of the group than the domains below. */
int rk_group_outermost(const rk_system *system, const rk_group *group);

/* Ranks in the domain of a tier that holds fewest, the last; tier -1: 1. */
int64_t rk_group_fewest(const rk_group *group, int tier);

/*
 * The share of the buffer that a rank of the smallest domain of `tier` sends or lacks in a gather,
 * scatter or exchange of n ranks, (n - g)/n, relative to u equal domains, (u - 1)/u; 1 for other
 * collectives.
 */
double rk_group_lack(const rk_group *group, int tier, rk_collective op);

/* The group of `count` such groups, `apart` ranks from one to the next; apart >= size * stride. */
rk_group rk_group_of_parts(const rk_system *system, int64_t size, int64_t stride, int64_t count,
                           int64_t apart);

/* ---- prices -------------------------------------------------------------------------------- */

/*
 * Time of C[M,N] = A[M,K] B[K,N], `batch` times.  `accumulate_bytes` are the bytes per element
 * read and written to C beyond one write in 2 bytes, or 4 of fp32 and TF32 (wgrad of bf16 into
 * fp32: 6).  M, N, K > 0.  Infinite where the accelerator has not the precision.
 */
double rk_gemm_seconds(const rk_accelerator *a, rk_precision precision, double batch, double M,
                       double N, double K, double accumulate_bytes);

/* GEMMs of `groups` experts in one launch, each with `M` rows (padded to the tile). */
double rk_grouped_gemm_seconds(const rk_accelerator *a, rk_precision precision, double groups,
                               double M, double N, double K, double accumulate_bytes);

/* Work of flash attention: `flops` by the causal triangle. */
typedef struct rk_attention_work {
    double flops;   /* of the pass, as executed */
    double seq;     /* tokens of a block of queries (of one CP step) */
    double heads;   /* sequences times query heads on this rank */
    double qk_size; /* per head */
    double group;   /* query heads that share keys and values; 0: 1 */
    double share;   /* of the accelerator's rate that the kernel reaches; 0: 1 */
    bool backward;
} rk_attention_work;

double rk_attention_seconds(const rk_accelerator *a, const rk_attention_work *work);

/* The same of a library's kernel as benchmarks time it; infinite if not measured. */
double rk_flash_seconds(const rk_accelerator *a, const rk_flash_work *work);

/* A pass of a delta rule over sequences of `tokens`; infinite if not measured. */
double rk_delta_seconds(const rk_accelerator *a, rk_delta_rule rule, double flops, double tokens,
                        bool backward);

/* A streaming kernel over `bytes` of device memory; 0 bytes: no kernel. */
double rk_stream_seconds(const rk_accelerator *a, double bytes);

/*
 * Time of a collective.  `bytes`: all-reduce and broadcast the tensor on each rank;
 * reduce-scatter its input, all-gather its output, all-to-all the send buffer of one rank; send
 * the message; scatter and gather the buffer of the root, reduce the tensor.  Groups that span
 * tiers run hierarchically; 0 for groups of one rank.
 */
double rk_collective_seconds(const rk_system *system, rk_collective op, double bytes,
                             const rk_group *group);

/*
 * Bytes that a rank sends in it, the one that sends most; `bytes` as above.  Rings and exchanges
 * keep a share 1/n of the buffer on its rank (Chan et al. 2007, Collective communication: theory,
 * practice, and experience); an all-reduce scatters and gathers.  0 for groups of one rank.
 */
double rk_collective_sent(rk_collective op, double bytes, double ranks);

/*
 * Time of a transfer that several links share out so that all end together; links that would begin
 * too late take nothing.  `shares` (may be NULL) gets the bytes of each.  count >= 1, bytes and
 * bandwidths > 0, latencies >= 0.
 */
double rk_split_seconds(const rk_link *links, size_t count, double bytes, double *shares);

/* Lets collectives use the side links that the document marks as not used; false: it has none. */
bool rk_system_use_side_links(rk_system *system);

/* Copying to or from host memory, one direction. */
double rk_host_copy_seconds(const rk_accelerator *a, double bytes);

/* Reading from the disks of the node or writing to them, while all its accelerators do. */
double rk_nvme_seconds(const rk_accelerator *a, double bytes);

/* ---- documents ----------------------------------------------------------------------------- */

/* Refuses numbers out of their range and tiers that do not nest; `err` gets the path. */
rk_status rk_system_check(const rk_system *system, rk_error *err);

/*
 * Reads a system: a file, or a name of the catalogue: a cluster of data/systems, or an accelerator
 * of data/accelerators with its usual node and NIC.  The caller releases it with rk_system_clear;
 * copies borrow its measured tables.  Implemented in lib/io.
 */
rk_status rk_system_load(const char *name, rk_system *system, rk_error *err);

/* Makes a copy an owner of the measured tables too, which lives as long as it likes. */
void rk_system_share(rk_system *copy);

/* Releases what a system owns; it and its copies price by the physical model alone then. */
void rk_system_clear(rk_system *system);

#endif
