// SPDX-License-Identifier: MIT
#include "base/log_user.h"

#include <stddef.h>

#include "base/clock.h"

#define LINES_A_MINUTE 20
#define MINUTE_NS 60000000000u
#define ACCOUNTS_MAX                                                                               \
	64 /* in a minute; above, the oldest makes room: it has the most of it behind it */

static struct log_account {
	uid_t uid;
	enum log_topic topic;
	unsigned lines; /* 0: the account is free */
	uint64_t since_ns;
} accounts[ACCOUNTS_MAX];

static const char *const topics[] = {"clients", "datasets", "bad samples"};

static void log_account_close(struct log_account *account)
{
	if (account->lines > LINES_A_MINUTE)
		log_warning("%u more lines about the %s of user %u were left out",
			    account->lines - LINES_A_MINUTE, topics[account->topic],
			    (unsigned)account->uid);
	account->lines = 0;
}

static struct log_account *log_account_of(uid_t uid, enum log_topic topic)
{
	struct log_account *chosen = &accounts[0];
	for (size_t i = 0; i < ACCOUNTS_MAX; i++) {
		struct log_account *account = &accounts[i];
		if (account->lines && account->uid == uid && account->topic == topic)
			return account;
		if (!chosen->lines)
			continue;
		if (!account->lines || account->since_ns < chosen->since_ns)
			chosen = account;
	}
	log_account_close(chosen);
	chosen->uid = uid;
	chosen->topic = topic;
	chosen->since_ns = clock_ns();
	return chosen;
}

void log_user_tick(uint64_t now_ns)
{
	for (size_t i = 0; i < ACCOUNTS_MAX; i++)
		if (accounts[i].lines && now_ns - accounts[i].since_ns > MINUTE_NS)
			log_account_close(&accounts[i]);
}

void log_user(uid_t uid, enum log_topic topic, enum log_level level, const char *format, ...)
{
	const struct log_facts facts = {.uid = uid};
	va_list arguments;
	if (!log_takes(level) || ++log_account_of(uid, topic)->lines > LINES_A_MINUTE)
		return;
	va_start(arguments, format);
	log_arguments(&facts, level, format, arguments);
	va_end(arguments);
}

void log_user_about(const struct log_facts *facts, enum log_topic topic, enum log_level level,
		    const char *format, ...)
{
	va_list arguments;
	if (!log_takes(level) || ++log_account_of(facts->uid, topic)->lines > LINES_A_MINUTE)
		return;
	va_start(arguments, format);
	log_arguments(facts, level, format, arguments);
	va_end(arguments);
}
