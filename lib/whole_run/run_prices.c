/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of a run's hours, and its power. */
#include "whole_run/whole_run.h"

#include "base/extremes.h"
#include "base/units.h"

/* Parts in which the accelerator computes; it waits during communication, bubbles and launches. */
static const rk_part computing[] = {
    RK_PART_LINEAR, RK_PART_ATTENTION, RK_PART_EXPERT,    RK_PART_STREAM,
    RK_PART_CAST,   RK_PART_HEAD,      RK_PART_RECOMPUTE, RK_PART_OPTIMIZER,
};

/* Share of a step in which accelerators compute. */
static double utilisation_of(const rk_whole_run *run)
{
    const rk_estimate *e = &rk_plan_best(&run->plan)->estimate;
    double busy = 0;
    for (size_t i = 0; i < COUNT(computing); i++) {
        busy += e->times.part[computing[i]];
    }
    return rk_min(busy / (rk_run_step_s(run->question, e) * run->straggling), 1);
}

/* Power by component and utilisation, or as given. */
static void fill_power(rk_whole_run *run)
{
    const rk_run_question *question = run->question;
    const rk_price_list *list = &run->prices;
    rk_training *t = &run->training;
    const double idle = list->idle_power > 0 ? list->idle_power : list->node_power;
    run->node = rk_node_power_of(run->inputs->system.accelerator.power, list->node_power, idle);
    run->utilisation = utilisation_of(run);
    run->peak_power = question->asked.power_watts > 0 ? question->asked.power_watts
                                                      : rk_node_power_at(&run->node, 1);
    t->power = question->asked.power_watts > 0 ? question->asked.power_watts
                                               : rk_node_power_at(&run->node, run->utilisation);
    t->idle_power = question->idle_power >= 0 ? question->idle_power
                                              : rk_min(t->power, rk_node_power_at(&run->node, 0));
}

rk_status rk_run_fill_prices(rk_whole_run *run, rk_error *err)
{
    const rk_run_question *question = run->question;
    const char *accelerator = run->inputs->system.accelerator.name;
    rk_training *t = &run->training;
    rk_status status = rk_price_list_load(
        question->asked.prices ? question->asked.prices : "published", &run->prices, err);
    if (status) {
        return status;
    }
    t->price = rk_max(question->asked.price_per_hour, 0);
    run->hour = NULL;
    if (question->asked.purchase_price > 0) {
        t->price = rk_price_of_purchase(question->asked.purchase_price,
                                        question->asked.life_years * 365 * DAY);
    } else if (question->asked.price_per_hour < 0 && question->asked.prices) {
        status = rk_price_list_find(&run->prices, accelerator, &run->hour, err);
        t->price = status ? 0 : run->hour->price;
    }
    fill_power(run);
    t->pue = question->asked.pue > 0 ? question->asked.pue : run->prices.pue;
    t->carbon = question->asked.carbon_g_per_kwh >= 0 ? question->asked.carbon_g_per_kwh
                : question->asked.prices              ? run->prices.carbon
                                                      : 0;
    t->spares =
        question->asked.spares > 0 ? (double)question->asked.spares * run->reliability.node : 0;
    return status;
}
