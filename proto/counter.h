/* SPDX-License-Identifier: MIT */
/*
 * The facts of each counter, from COUNTER_TABLE: for who shows them all. Data only.
 */
#ifndef STOKER_PROTO_COUNTER_H
#define STOKER_PROTO_COUNTER_H

#include "proto/message.h"

enum counter_kind { COUNTER_KIND_TOTAL, COUNTER_KIND_GAUGE };
enum counter_unit { COUNTER_UNIT_NONE, COUNTER_UNIT_BYTES, COUNTER_UNIT_NS };

struct counter_facts {
	const char *name; /* of a TOTAL it ends in _total, of nanoseconds in _ns_total */
	enum counter_kind kind;
	enum counter_unit unit;
	const char *help;
};

extern const struct counter_facts counter_facts[COUNTER_COUNT];

#endif
