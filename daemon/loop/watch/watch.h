/* SPDX-License-Identifier: MIT */
/*
 * State of the HTTP server's pages: since when the daemon runs, its last minutes second by second,
 * and who may see names. Loop thread.
 */
#ifndef STOKER_LOOP_WATCH_WATCH_H
#define STOKER_LOOP_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct core;
struct fault;

#define WATCH_SECONDS 300
#define WATCH_COUNTERS 5 /* samples delivered, decoded; ms of work, transforms, fetching */
#define WATCH_TOKENS 8
#define WATCH_TOKEN_TEXT 33 /* 128 bits in hexadecimal digits, and a NUL */

#define WATCH_NOBODY ((uid_t)-1) /* it is not known who asks */

/* A token is shown once by `stokerctl page`. Each browser exchanges it for one that it keeps: the
 * first within minutes, further ones of the same user later, too. */
struct watch_token {
	char text[WATCH_TOKEN_TEXT]; /* "": free */
	uint64_t made_ns, until_ns;
	bool used;
	uid_t uid; /* who has used it first */
};

struct watch {
	struct core *core;
	uint64_t started_ns;
	struct watch_second {
		uint32_t grown[WATCH_COUNTERS]; /* in it */
	} history[WATCH_SECONDS];
	unsigned seconds; /* since the start, of which the last WATCH_SECONDS are kept */
	uint64_t last[WATCH_COUNTERS];
	struct watch_token fresh[WATCH_TOKENS], kept[WATCH_TOKENS];
	struct watch_token scraper; /* of the configuration: shows names of jobs in the metrics */
};

enum { WATCH_E_TOKEN = 1 }; /* the file of the scraper's token is not as it should be */

void watch_init(struct watch *watch, struct core *core);
/* Read the scraper's token; NULL: there is none. 0 or a condition. May block. */
int watch_read_token(struct watch *watch, const char *path, struct fault *fault);
void watch_tick(struct watch *watch); /* each second */

/* A token for `stokerctl page`; the oldest gives way. 0 or a negative errno. */
int watch_token_new(struct watch *watch, char out[WATCH_TOKEN_TEXT]);
/* Exchange it, for this user or WATCH_NOBODY. False: it is none, another user's, or too old. */
bool watch_token_exchange(struct watch *watch, const char *token, uid_t uid,
			  char out[WATCH_TOKEN_TEXT]);
/* May the owner of this one, which was given in exchange, see names? */
bool watch_token_is_good(const struct watch *watch, const char *token);
/* May the owner of this one see names of jobs in the metrics? */
bool watch_names_jobs(const struct watch *watch, const char *token);

#endif
