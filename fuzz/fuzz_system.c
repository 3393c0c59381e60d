/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a system document: what is read is finite and lies in bounds. */
#include "calculon/calculon_docs.h"

#include <math.h>

#include "target.h"

static void require_curve(const rk_curve *curve, double peak)
{
    REQUIRE(curve->count >= 0 && curve->count <= RK_CURVE_MAX);
    for (int i = 0; i < curve->count; i++) {
        REQUIRE(isfinite(curve->threshold[i]));
        REQUIRE(curve->rate[i] == 0 || curve->rate[i] >= 1);
        REQUIRE(curve->rate[i] <= peak);
    }
}

static void require_engine(const rk_calculon_engine *engine)
{
    if (!engine->present) {
        REQUIRE(engine->peak == 0 && engine->curve.count == 0);
        return;
    }
    REQUIRE(engine->peak >= 0 && engine->peak <= 1e24);
    require_curve(&engine->curve, engine->peak);
    for (int i = 1; i < engine->curve.count; i++) {
        const double last = engine->curve.threshold[i - 1];
        REQUIRE(last == 0 || engine->curve.threshold[i] <= last);
    }
}

static void require_memory(const rk_calculon_memory *memory)
{
    REQUIRE(memory->capacity >= 0 && isfinite(memory->capacity));
    require_curve(&memory->curve, 1e21);
}

static void require_network(const rk_calculon_network *net)
{
    REQUIRE(net->bandwidth > 0 && isfinite(net->bandwidth));
    REQUIRE(net->efficiency > 0 && net->efficiency <= 1);
    REQUIRE(net->bandwidth * net->efficiency >= 1);
    REQUIRE(net->size >= 0 && net->size <= INT64_C(1) << 40);
    REQUIRE(net->latency >= 0 && isfinite(net->latency));
    REQUIRE(net->processor_usage >= 0 && net->processor_usage < 1);
    for (int op = 0; op < RK_NET_OP_COUNT; op++) {
        REQUIRE(net->scalar[op] > 0 && isfinite(net->scalar[op]));
        REQUIRE(net->offset[op] >= -2 && isfinite(net->offset[op]));
    }
    REQUIRE(net->offset[RK_P2P] == 0);
}

static void require_system(const rk_calculon_sys *sys)
{
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        require_engine(&sys->matrix[i]);
        require_engine(&sys->vector[i]);
    }
    require_memory(&sys->mem1);
    require_memory(&sys->mem2);
    REQUIRE(sys->network_count >= 1 && sys->network_count <= RK_NETWORK_MAX);
    for (int i = 0; i < sys->network_count; i++) {
        require_network(&sys->networks[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_json_doc doc;
    rk_calculon_sys strict, lenient;
    rk_error err;
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    rk_status status = rk_calculon_sys_from_json(doc.root, true, &lenient, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        require_system(&lenient);
    }

    /* Strictness refuses more and changes nothing. */
    rk_status strictly = rk_calculon_sys_from_json(doc.root, false, &strict, &err);
    REQUIRE(!status || strictly);
    if (strictly) {
        require_sound_error(&err, strictly);
    } else {
        require_system(&strict);
        REQUIRE(strict.network_count == lenient.network_count);
    }
    rk_json_clear(&doc);
    return 0;
}
