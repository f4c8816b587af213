/* SPDX-License-Identifier: MIT */
#include "proto/counter.h"

#include "proto/tables.h"

const struct counter_facts counter_facts[COUNTER_COUNT] = {
#define COUNTER_FACTS(NAME, name, kind, unit, help) {#name, COUNTER_KIND_##kind, UNIT_##unit, help},
	COUNTER_TABLE(COUNTER_FACTS)
#undef COUNTER_FACTS
};
