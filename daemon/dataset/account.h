/* SPDX-License-Identifier: MIT */
/*
 * An account of memory: what somebody may hold and does hold, in bytes, as a part of a larger
 * account or of none. Datasets that are arrays are charged to both; what is made of files' names
 * and labels, and what an opening holds meanwhile, to the user's own only. Any thread.
 */
#ifndef STOKER_DATASET_ACCOUNT_H
#define STOKER_DATASET_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dataset_account {
	_Atomic uint64_t limit;
	_Atomic uint64_t bytes;
	_Atomic uint64_t refusals;	/* times that it had no room */
	struct dataset_account *parent; /* NULL: it is no part */
};

/* Charge it, and with `parents` what it is a part of. False, and nothing is charged: *full_out has
 * no room for so much. An account that is NULL has no limit. */
bool dataset_account_take(struct dataset_account *account, uint64_t bytes, bool parents,
			  const struct dataset_account **full_out);
void dataset_account_give(struct dataset_account *account, uint64_t bytes, bool parents);

/* Return the least limit of the account and its parents; and how much of its own limit is free. */
uint64_t dataset_account_limit(const struct dataset_account *account);
uint64_t dataset_account_free(const struct dataset_account *account);

#endif
