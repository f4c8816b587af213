// SPDX-License-Identifier: MIT
#include "loop/watch/watch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "loop/state/core.h"

#define MINUTE_NS (60 * (uint64_t)1000000000)
#define FRESH_NS (2 * MINUTE_NS)
#define KEPT_NS (12 * 60 * MINUTE_NS)

void watch_init(struct watch *watch, struct core *core)
{
	*watch = (struct watch){.core = core, .started_ns = clock_ns()};
}

/* Is this all that a file of a token has? The line may end. */
static bool is_token(const char *text, ssize_t size)
{
	ssize_t at = 0;
	while (at < size && isxdigit((unsigned char)text[at]))
		at++;
	return at == WATCH_TOKEN_TEXT - 1 && (size == at || (size == at + 1 && text[at] == '\n'));
}

int watch_read_token(struct watch *watch, const char *path, struct fault *fault)
{
	char text[WATCH_TOKEN_TEXT + 1];
	struct stat status;
	if (!path)
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int r = errno;
		if (fd >= 0)
			close(fd);
		return fault_say(fault, WATCH_E_TOKEN,
				 "cannot read metrics-token, %s: %s: let the daemon's user read it",
				 path, strerror(r));
	}
	ssize_t size = S_ISREG(status.st_mode) ? read(fd, text, sizeof(text)) : -1;
	close(fd);
	if (status.st_mode & S_IRWXO)
		return fault_say(fault, WATCH_E_TOKEN,
				 "others may read metrics-token, %s: chmod o= it", path);
	if (!is_token(text, size))
		return fault_say(fault, WATCH_E_TOKEN,
				 "metrics-token, %s, is not a line of %d hexadecimal digits: "
				 "openssl rand -hex %d makes one",
				 path, WATCH_TOKEN_TEXT - 1, (WATCH_TOKEN_TEXT - 1) / 2);
	memcpy(watch->scraper.text, text, WATCH_TOKEN_TEXT - 1);
	watch->scraper.until_ns = UINT64_MAX;
	return 0;
}

void watch_tick(struct watch *watch)
{
	static const struct {
		enum counter counter;
		unsigned divisor;
	} counters[WATCH_COUNTERS] = {
		{COUNTER_SAMPLES_DELIVERED, 1}, {COUNTER_SAMPLES_DECODED, 1},
		{COUNTER_WORK_NS, 1000000},	{COUNTER_TRANSFORM_NS, 1000000},
		{COUNTER_FETCH_NS, 1000000},
	};
	struct watch_second *second = &watch->history[watch->seconds++ % WATCH_SECONDS];
	for (int i = 0; i < WATCH_COUNTERS; i++) {
		uint64_t now = watch->core->counters[counters[i].counter] / counters[i].divisor;
		second->grown[i] = (uint32_t)(now - watch->last[i]);
		watch->last[i] = now;
	}
}

/* In the place that is free or the oldest. */
static int token_put(struct watch_token tokens[WATCH_TOKENS], uint64_t lasts_ns,
		     char out[WATCH_TOKEN_TEXT])
{
	unsigned char bytes[(WATCH_TOKEN_TEXT - 1) / 2];
	struct watch_token *token = tokens;
	for (unsigned i = 1; i < WATCH_TOKENS; i++)
		if (tokens[i].made_ns < token->made_ns)
			token = &tokens[i];
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token->text + 2 * i, 3, "%02x", bytes[i]);
	token->made_ns = clock_ns();
	token->until_ns = token->made_ns + lasts_ns;
	token->used = false;
	memcpy(out, token->text, WATCH_TOKEN_TEXT);
	return 0;
}

/* Takes the same time for any wrong text of the right length. */
static bool token_equals(const struct watch_token *token, const char *text)
{
	unsigned char other = 0;
	if (token->until_ns < clock_ns() || strlen(text) != WATCH_TOKEN_TEXT - 1)
		return false;
	for (size_t i = 0; i < WATCH_TOKEN_TEXT - 1; i++)
		other |= (unsigned char)(token->text[i] ^ text[i]);
	return other == 0;
}

int watch_token_new(struct watch *watch, char out[WATCH_TOKEN_TEXT])
{
	return token_put(watch->fresh, FRESH_NS, out);
}

bool watch_token_exchange(struct watch *watch, const char *token, uid_t uid,
			  char out[WATCH_TOKEN_TEXT])
{
	struct watch_token *found = NULL;
	for (unsigned i = 0; i < WATCH_TOKENS; i++)
		if (token_equals(&watch->fresh[i], token))
			found = &watch->fresh[i];
	/* Other users may have seen it, in the arguments of the browser that was started. */
	if (!found || (found->used && (uid == WATCH_NOBODY || uid != found->uid)))
		return false;
	if (token_put(watch->kept, KEPT_NS, out) < 0)
		return false;
	if (!found->used)
		found->until_ns = clock_ns() + KEPT_NS;
	found->used = true;
	found->uid = uid;
	return true;
}

bool watch_token_is_good(const struct watch *watch, const char *token)
{
	for (unsigned i = 0; i < WATCH_TOKENS; i++)
		if (token_equals(&watch->kept[i], token))
			return true;
	return false;
}

bool watch_names_jobs(const struct watch *watch, const char *token)
{
	return token_equals(&watch->scraper, token) || watch_token_is_good(watch, token);
}
