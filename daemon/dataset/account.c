// SPDX-License-Identifier: MIT
#include "dataset/account.h"

#include <stddef.h>

static bool account_take(struct dataset_account *account, uint64_t bytes)
{
	uint64_t used = atomic_load(&account->bytes);
	do {
		uint64_t limit = atomic_load(&account->limit);
		if (bytes > (limit > used ? limit - used : 0))
			return false;
	} while (!atomic_compare_exchange_weak(&account->bytes, &used, used + bytes));
	return true;
}

bool dataset_account_take(struct dataset_account *account, uint64_t bytes, bool parents,
			  const struct dataset_account **full_out)
{
	if (!account)
		return true;
	if (!account_take(account, bytes)) {
		atomic_fetch_add(&account->refusals, 1);
		*full_out = account;
		return false;
	}
	if (!parents || dataset_account_take(account->parent, bytes, parents, full_out))
		return true;
	atomic_fetch_sub(&account->bytes, bytes);
	return false;
}

void dataset_account_give(struct dataset_account *account, uint64_t bytes, bool parents)
{
	for (; account; account = parents ? account->parent : NULL)
		atomic_fetch_sub(&account->bytes, bytes);
}

uint64_t dataset_account_limit(const struct dataset_account *account)
{
	uint64_t limit = UINT64_MAX;
	for (; account; account = account->parent)
		if (atomic_load(&account->limit) < limit)
			limit = atomic_load(&account->limit);
	return limit;
}

uint64_t dataset_account_free(const struct dataset_account *account)
{
	uint64_t limit = atomic_load(&account->limit), used = atomic_load(&account->bytes);
	return limit > used ? limit - used : 0;
}
