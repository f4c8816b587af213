// SPDX-License-Identifier: MIT
#include "base/log_user.h"

#include <stddef.h>

#include "base/clock.h"

#define LINES_A_MINUTE 20
#define MINUTE_NS 60000000000u
#define TALLIES_MAX                                                                                \
	64 /* in a minute; above, the oldest makes room: it has the most of it behind it */

static struct log_tally {
	uid_t uid;
	enum log_topic topic;
	unsigned lines; /* 0: the tally is free */
	uint64_t since_ns;
} tallies[TALLIES_MAX];

static const char *const topics[] = {"clients", "datasets", "bad samples"};

static void log_tally_close(struct log_tally *tally)
{
	if (tally->lines > LINES_A_MINUTE)
		log_warning("%u more lines about the %s of user %u were left out",
			    tally->lines - LINES_A_MINUTE, topics[tally->topic],
			    (unsigned)tally->uid);
	tally->lines = 0;
}

static struct log_tally *log_tally_of(uid_t uid, enum log_topic topic)
{
	struct log_tally *chosen = &tallies[0];
	for (size_t i = 0; i < TALLIES_MAX; i++) {
		struct log_tally *tally = &tallies[i];
		if (tally->lines && tally->uid == uid && tally->topic == topic)
			return tally;
		if (!chosen->lines)
			continue;
		if (!tally->lines || tally->since_ns < chosen->since_ns)
			chosen = tally;
	}
	log_tally_close(chosen);
	chosen->uid = uid;
	chosen->topic = topic;
	chosen->since_ns = clock_ns();
	return chosen;
}

void log_user_tick(uint64_t now_ns)
{
	for (size_t i = 0; i < TALLIES_MAX; i++)
		if (tallies[i].lines && now_ns - tallies[i].since_ns > MINUTE_NS)
			log_tally_close(&tallies[i]);
}

void log_user(uid_t uid, enum log_topic topic, enum log_level level, const char *format, ...)
{
	const struct log_facts facts = {.uid = uid};
	va_list arguments;
	if (!log_takes(level) || ++log_tally_of(uid, topic)->lines > LINES_A_MINUTE)
		return;
	va_start(arguments, format);
	log_arguments(&facts, level, format, arguments);
	va_end(arguments);
}

void log_user_about(const struct log_facts *facts, enum log_topic topic, enum log_level level,
		    const char *format, ...)
{
	va_list arguments;
	if (!log_takes(level) || ++log_tally_of(facts->uid, topic)->lines > LINES_A_MINUTE)
		return;
	va_start(arguments, format);
	log_arguments(facts, level, format, arguments);
	va_end(arguments);
}
