/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM that list which layers are of a kind, such as --moe-layer-freq. */
#include "framework/megatron_flags.h"

/* The shortest period of the layers; the number of layers if there is none. */
static int period_of(const rk_model *m, bool (*of)(const rk_layer_type *type))
{
    for (int period = 1; period <= m->layers / 2; period++) {
        bool repeats = m->layers % period == 0;
        for (int i = period; repeats && i < m->layers; i++) {
            repeats = of(&m->types[m->type_of[i]]) == of(&m->types[m->type_of[i - period]]);
        }
        if (repeats) {
            return period;
        }
    }
    return m->layers;
}

/* Writes "([0]*3+[1]*58)", runs of equal layers, or "(([1]*5+[0]*1)*8)" where these repeat. */
void rk_megatron_write_layers(rk_out *out, const rk_model *m, const char *name,
                              bool (*of)(const rk_layer_type *type))
{
    const int least = period_of(m, of), period = least > 1 ? least : m->layers;
    const int times = m->layers / period;
    rk_out_printf(out, " \\\n    --%s \"(%s", name, times > 1 ? "(" : "");
    for (int first = 0; first < period;) {
        const bool value = of(&m->types[m->type_of[first]]);
        int past = first + 1;
        while (past < period && of(&m->types[m->type_of[past]]) == value) {
            past++;
        }
        rk_out_printf(out, "%s[%d]*%d", first ? "+" : "", value, past - first);
        first = past;
    }
    if (times > 1) {
        rk_out_printf(out, ")*%d", times);
    }
    rk_out_text(out, ")\"");
}
