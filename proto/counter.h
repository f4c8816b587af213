/* SPDX-License-Identifier: MIT */
/*
 * The facts of each counter, from COUNTER_TABLE: for who shows them all. Data only.
 */
#ifndef STOKER_PROTO_COUNTER_H
#define STOKER_PROTO_COUNTER_H

#include "proto/message.h"
#include "proto/row.h"

enum counter_kind { COUNTER_KIND_TOTAL, COUNTER_KIND_GAUGE };

struct counter_facts {
	const char *name; /* of a TOTAL it ends in _total, of nanoseconds in _ns_total */
	enum counter_kind kind;
	enum unit unit;
	const char *help;
};

extern const struct counter_facts counter_facts[COUNTER_COUNT];

#endif
