// SPDX-License-Identifier: MIT
#include "config/option.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/quote.h"
#include "config/cpus.h"
#include "config/machine.h"
#include "config/roots.h"

#define MEMBER(member)                                                                             \
	.offset = offsetof(struct config, member), .size = sizeof(((struct config *)0)->member)
#define RANGE(kind_, min_, max_) .range = {.kind = QUANTITY_##kind_, .min = (min_), .max = (max_)}
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)
#define HOUR 3600000

static const struct option_word option_levels[] = {{"error", LOG_LEVEL_ERROR},
						   {"warning", LOG_LEVEL_WARNING},
						   {"info", LOG_LEVEL_INFO},
						   {"debug", LOG_LEVEL_DEBUG},
						   {0}};
static const struct option_word option_auto[] = {{"auto", CONFIG_AUTO}, {0}};
static const struct option_word option_formats[] = {
	{"text", LOG_FORMAT_TEXT}, {"json", LOG_FORMAT_JSON}, {0}};

/* clang-format off */
const struct option options[] = {
	{MEMBER(socket), .name = "socket", .argument = "PATH", .type = OPTION_SOCKET,
	 .compute = machine_socket, .help = "Unix socket for trainers"},
	{MEMBER(control_socket), .name = "control-socket", .argument = "PATH",
	 .type = OPTION_SOCKET, .help = "Unix socket for stokerctl",
	 .unset = "control.sock beside --socket"},
	{MEMBER(socket_mode), .name = "socket-mode", .argument = "MODE", RANGE(MODE, 0600, 0777),
	 .compute = machine_socket_mode, .help = "permissions of the trainers' socket"},
	{MEMBER(control_socket_mode), .name = "control-socket-mode", .argument = "MODE",
	 RANGE(MODE, 0600, 0777), .initial = "0600", .help = "permissions of stokerctl's socket"},
	{MEMBER(socket_gid), .name = "socket-group", .argument = "GROUP", .type = OPTION_GROUP,
	 .initial = "", .help = "group of the trainers' socket", .unset = "the daemon's"},
	{MEMBER(dataset_roots), .name = "dataset-root", .argument = "RULE", .type = OPTION_ROOTS,
	 .initial = "", .live = true, .help = "PATH[:GROUP|:@USER] that other users may read",
	 .unset = "none"},
	{MEMBER(workers), .name = "workers", .argument = "N", RANGE(COUNT, 0, 1024),
	 .compute = machine_workers, .words = option_auto, .live = true,
	 .help = "threads that decode and augment, or auto"},
	{MEMBER(fetchers), .name = "fetchers", .argument = "N", RANGE(COUNT, 1, 1024),
	 .compute = machine_fetchers, .words = option_auto, .live = true,
	 .help = "threads that read files, or auto"},
	{MEMBER(nice), .name = "nice", .argument = "N", RANGE(COUNT, 0, 19), .initial = "5",
	 .help = "niceness of the workers"},
	{MEMBER(cpus), .name = "cpus", .argument = "LIST", .type = OPTION_CPUS, .initial = "",
	 .help = "processors for these threads, such as 0-3,8", .unset = "all"},
	{MEMBER(ring_memory), .name = "ring-memory", .argument = "SIZE",
	 RANGE(MEMORY, MIB, 1024 * TIB), .initial = "25%", .live = true,
	 .help = "shared memory for all rings"},
	{MEMBER(dataset_memory), .name = "dataset-memory", .argument = "SIZE",
	 RANGE(MEMORY, 0, 1024 * TIB), .initial = "25%",
	 .help = "memory for datasets of arrays (NumPy, CIFAR, MNIST)"},
	{MEMBER(dataset_idle_ms), .name = "dataset-idle", .argument = "TIME",
	 RANGE(TIME, 0, 24 * HOUR), .initial = "10m", .live = true,
	 .help = "time that a dataset stays open without a reader"},
	{MEMBER(index_memory), .name = "index-memory", .argument = "SIZE",
	 RANGE(MEMORY, 0, 1024 * TIB), .compute = machine_index_memory,
	 .help = "memory for the JPEG seek indexes; 0 disables them"},
	{MEMBER(index_dir), .name = "index-dir", .argument = "PATH", .type = OPTION_FOLDER,
	 .initial = "", .help = "directory that persists the JPEG seek indexes",
	 .unset = "none"},
	{MEMBER(cache_dir), .name = "cache-dir", .argument = "PATH", .type = OPTION_FOLDER,
	 .initial = "", .help = "directory of this daemon's own for what is kept on disk",
	 .unset = "none"},
	{MEMBER(stage_roots), .name = "stage-root", .argument = "PATH", .type = OPTION_ROOTS,
	 .initial = "", .help = "folder of slow storage (NFS) whose files are kept there, too",
	 .unset = "none"},
	{MEMBER(cache_size), .name = "cache-size", .argument = "SIZE",
	 RANGE(BYTES, 0, 1024 * TIB), .initial = "100G", .live = true,
	 .help = "room there for what is staged; 0 keeps none"},
	{MEMBER(cache_free), .name = "cache-free", .argument = "SIZE",
	 RANGE(BYTES, 0, 1024 * TIB), .initial = "10G", .live = true,
	 .help = "room of that file system that stays free"},
	{MEMBER(cache_memory), .name = "cache-memory", .argument = "SIZE",
	 RANGE(MEMORY, 0, 1024 * TIB), .initial = "25%", .live = true,
	 .help = "memory for decoded pictures; 0 keeps none"},
	{MEMBER(cache_decoded_size), .name = "cache-decoded-size", .argument = "SIZE",
	 RANGE(BYTES, 0, 1024 * TIB), .initial = "0", .live = true,
	 .help = "decoded pictures below cache-dir; 0 keeps none"},
	{MEMBER(max_connections), .name = "max-connections", .argument = "N",
	 RANGE(COUNT, 1, 1000000), .initial = "1024", .live = true,
	 .help = "trainers connected at the same time"},
	{MEMBER(max_readers_per_user), .name = "max-readers-per-user", .argument = "N",
	 RANGE(COUNT, 0, 1000000), .initial = "0", .live = true,
	 .help = "attached trainers per user; 0: a share of all"},
	{MEMBER(ring_memory_per_user), .name = "ring-memory-per-user", .argument = "SIZE",
	 RANGE(MEMORY, 0, 1024 * TIB), .initial = "0", .live = true,
	 .help = "ring memory per user; 0: a share of all"},
	{MEMBER(queued_per_user), .name = "queued-per-user", .argument = "N",
	 RANGE(COUNT, 0, 1000000), .initial = "0", .live = true,
	 .help = "samples in progress per user; 0: a share of all"},
	{MEMBER(lease_timeout_ms), .name = "lease-timeout", .argument = "TIME",
	 RANGE(TIME, 0, 24 * HOUR), .initial = "0", .live = true,
	 .help = "time that a batch may be held; 0: no limit"},
	{MEMBER(request_timeout_ms), .name = "request-timeout", .argument = "TIME",
	 RANGE(TIME, 100, HOUR), .initial = "10s", .live = true,
	 .help = "time for a client to send a whole message"},
	{MEMBER(drain_timeout_ms), .name = "drain-timeout", .argument = "TIME",
	 RANGE(TIME, 0, HOUR), .initial = "10s", .live = true,
	 .help = "time for trainers to leave when it stops"},
	{MEMBER(exit_idle_ms), .name = "exit-idle-time", .argument = "TIME",
	 RANGE(TIME, 0, 24 * HOUR), .initial = "0", .live = true,
	 .help = "stop after this time without clients; 0: stay"},
	{MEMBER(max_file_bytes), .name = "max-file-bytes", .argument = "SIZE",
	 RANGE(BYTES, 1024, TIB), .initial = "256M", .help = "largest file that is read"},
	{MEMBER(max_pixels), .name = "max-pixels", .argument = "N",
	 RANGE(COUNT, 1, (uint64_t)1 << 32), .initial = "178956970",
	 .help = "largest picture that is decoded, in pixels"},
	{MEMBER(max_scans), .name = "max-scans", .argument = "N", RANGE(COUNT, 1, 100000),
	 .initial = "100", .help = "most scans of a progressive JPEG"},
	{MEMBER(max_coefficient_bytes), .name = "max-coefficient-bytes", .argument = "SIZE",
	 RANGE(BYTES, 1024, TIB), .initial = "512M",
	 .help = "most memory for a JPEG of several scans"},
	{MEMBER(decode_deadline_ms), .name = "decode-deadline", .argument = "TIME",
	 RANGE(TIME, 0, HOUR), .initial = "10s",
	 .help = "CPU time to decode, or transform, a picture; 0: any"},
	{MEMBER(producer_deadline_ms), .name = "producer-deadline", .argument = "TIME",
	 RANGE(TIME, 100, 24 * HOUR), .initial = "60s", .live = true,
	 .help = "time that a user's code may take for a sample"},
	{MEMBER(shm_mode), .name = "shm-mode", .argument = "MODE", .initial = "0600",
	 .range = {QUANTITY_MODE, 0400, 0755, .without = 0022},
	 .help = "permissions of rings that are opened by path"},
	{MEMBER(metrics_socket), .name = "metrics-socket", .argument = "PATH",
	 .type = OPTION_SOCKET_OR_NONE, .initial = "", .help = "Unix socket for metrics by HTTP",
	 .unset = "none"},
	{MEMBER(metrics_port), .name = "metrics-port", .argument = "N", RANGE(COUNT, 0, 65535),
	 .initial = "0", .help = "port for metrics and a page; 0: none"},
	{MEMBER(metrics_address), .name = "metrics-address", .argument = "ADDRESS",
	 .type = OPTION_ADDRESS, .initial = "127.0.0.1",
	 .help = "where it listens; others than 127.0.0.1 get metrics alone"},
	{MEMBER(metrics_token), .name = "metrics-token", .argument = "PATH",
	 .type = OPTION_FOLDER, .initial = "",
	 .help = "file with the token that shows names of jobs in metrics", .unset = "none"},
	{MEMBER(log_level), .name = "log-level", .argument = "LEVEL", .type = OPTION_WORD,
	 .words = option_levels, .initial = "info", .live = true,
	 .help = "how much is logged: error, warning, info or debug"},
	{MEMBER(log_format), .name = "log-format", .argument = "FORMAT", .type = OPTION_WORD,
	 .words = option_formats, .initial = "text", .live = true,
	 .help = "lines of the log: text, or json for programs"},
};
/* clang-format on */

const unsigned option_count = sizeof(options) / sizeof(options[0]);
_Static_assert(ROOTS_BYTES_MAX < OPTION_TEXT_MAX, "all rules are one text");
_Static_assert(sizeof(options) / sizeof(options[0]) == CONFIG_OPTIONS, "an origin for each row");

unsigned option_row(const struct option *option)
{
	return (unsigned)(option - options);
}

const struct option *option_find(const char *name, struct fault *fault)
{
	struct quote quote;
	const char *names[CONFIG_OPTIONS + 1] = {NULL};
	for (unsigned i = 0; i < option_count; i++) {
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
		names[i] = options[i].name;
	}
	const char *nearest = quote_nearest(name, strlen(name), names);
	fault_say(fault, OPTION_E_BAD, "there is no setting '%s'%s%s%s", quote_text(&quote, name),
		  nearest ? "; did you mean '" : " (stokerd --help lists all)",
		  nearest ? nearest : "", nearest ? "'?" : "");
	return NULL;
}

bool option_is_default(const char *name, const struct config *config)
{
	struct fault unused;
	const char *origin = config->origins[option_row(option_find(name, &unused))];
	return !origin || strcmp(origin, "default") == 0;
}

/* Members have 4 or 8 bytes; they are unsigned or never negative. */
static void option_put(const struct option *option, struct config *config, uint64_t number)
{
	char *member = (char *)config + option->offset;
	uint32_t narrow = (uint32_t)number;
	assert(option->size == sizeof(narrow) || option->size == sizeof(number));
	if (option->size == sizeof(narrow))
		memcpy(member, &narrow, sizeof(narrow));
	else
		memcpy(member, &number, sizeof(number));
}

static uint64_t option_number(const struct option *option, const struct config *config)
{
	const char *member = (const char *)config + option->offset;
	uint32_t narrow;
	uint64_t number;
	memcpy(&narrow, member, sizeof(narrow));
	if (option->size == sizeof(narrow))
		return narrow;
	memcpy(&number, member, sizeof(number));
	return number;
}

static char **option_path(const struct option *option, const struct config *config)
{
	return (char **)((uintptr_t)config + option->offset);
}

/* A copy; empty is NULL. */
static int option_put_text(const struct option *option, struct config *config, const char *text)
{
	char *copy = text[0] ? strdup(text) : NULL;
	if (text[0] && !copy)
		return -ENOMEM;
	free(*option_path(option, config));
	*option_path(option, config) = copy;
	return 0;
}

static int option_set_path(const struct option *option, struct config *config, const char *text,
			   struct fault *fault)
{
	struct quote quote;
	const size_t longest = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	size_t size = strlen(text);
	if (text[0] != '/' || text[size - 1] == '/')
		return fault_say(fault, OPTION_E_BAD,
				 "'%s' is not an absolute path of a socket, such as "
				 "/run/user/1000/stokerd.sock",
				 quote_text(&quote, text));
	if (size > longest)
		return fault_say(fault, OPTION_E_BAD,
				 "'%s' has %zu bytes; a socket's path can have at most %zu",
				 quote_text(&quote, text), size, longest);
	return option_put_text(option, config, text);
}

static int option_set_folder(const struct option *option, struct config *config, const char *text,
			     struct fault *fault)
{
	struct quote quote;
	if (text[0] && text[0] != '/')
		return fault_say(fault, OPTION_E_BAD,
				 "'%s' is not an absolute path: begin it with /",
				 quote_text(&quote, text));
	if (strlen(text) >= OPTION_TEXT_MAX)
		return fault_say(fault, OPTION_E_BAD, "the path has %zu bytes; the limit is %d",
				 strlen(text), OPTION_TEXT_MAX - 1);
	return option_put_text(option, config, text);
}

static int option_set_cpus(const struct option *option, struct config *config, const char *text,
			   struct fault *fault)
{
	struct cpus cpus;
	if (strlen(text) >= OPTION_TEXT_MAX)
		return fault_say(fault, OPTION_E_BAD, "the list has %zu bytes; the limit is %d",
				 strlen(text), OPTION_TEXT_MAX - 1);
	int r = cpus_parse(&cpus, text, fault);
	if (r)
		return r < 0 ? r : OPTION_E_BAD;
	cpus_deinit(&cpus);
	return option_put_text(option, config, text);
}

static int option_set_address(const struct option *option, struct config *config, const char *text,
			      struct fault *fault)
{
	struct quote quote;
	unsigned char bytes[sizeof(struct in6_addr)];
	if (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1)
		return fault_say(fault, OPTION_E_BAD,
				 "'%s' is no address, such as 127.0.0.1, 0.0.0.0 (all of IPv4) or "
				 ":: (all)",
				 quote_text(&quote, text));
	return option_put_text(option, config, text);
}

static int option_set_group(const struct option *option, struct config *config, const char *text,
			    struct fault *fault)
{
	struct quote quote;
	const struct quantity_range numbers = {QUANTITY_COUNT, 0, UINT32_MAX - 1, 0};
	uint64_t number = (gid_t)-1;
	struct fault unused;
	const struct group *group = text[0] ? getgrnam(text) : NULL;
	if (group)
		number = group->gr_gid;
	else if (text[0] && quantity_parse(&number, text, &numbers, &unused))
		return fault_say(fault, OPTION_E_BAD,
				 "there is no group '%s': getent group lists them",
				 quote_text(&quote, text));
	option_put(option, config, number);
	return 0;
}

static struct roots **option_roots(const struct option *option, const struct config *config)
{
	return (struct roots **)((uintptr_t)config + option->offset);
}

/* One rule a line; those before a wrong one are added. */
static int option_add_roots(const struct option *option, struct config *config, const char *text,
			    struct fault *fault)
{
	char *copy = strdup(text), *rest = copy, *line;
	int r = copy ? 0 : -ENOMEM;
	while (!r && (line = strsep(&rest, "\n")))
		r = roots_add(option_roots(option, config), line, fault);
	free(copy);
	return r > 0 ? OPTION_E_BAD : r;
}

bool option_is_list(const struct option *option)
{
	return option->type == OPTION_ROOTS;
}

/* "error, warning, info or debug" */
static void option_list_words(const struct option *option, char *out, size_t size)
{
	size_t used = 0;
	for (const struct option_word *word = option->words; word->word && used < size; word++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 word == option->words ? ""
					 : word[1].word	       ? ", "
							       : " or ",
					 word->word);
}

static int option_set_word(const struct option *option, struct config *config, const char *text,
			   struct fault *fault)
{
	struct quote quote;
	char words[128];
	for (const struct option_word *word = option->words; word->word; word++) {
		if (strcmp(word->word, text) == 0) {
			option_put(option, config, word->value);
			return 0;
		}
	}
	option_list_words(option, words, sizeof(words));
	return fault_say(fault, OPTION_E_BAD, "'%s' is not %s", quote_text(&quote, text), words);
}

int option_set(const struct option *option, struct config *config, const char *text,
	       struct fault *fault)
{
	uint64_t number;
	switch (option->type) {
	case OPTION_SOCKET_OR_NONE:
		return text[0] ? option_set_path(option, config, text, fault)
			       : option_put_text(option, config, text);
	case OPTION_SOCKET:
		return option_set_path(option, config, text, fault);
	case OPTION_FOLDER:
		return option_set_folder(option, config, text, fault);
	case OPTION_CPUS:
		return option_set_cpus(option, config, text, fault);
	case OPTION_ADDRESS:
		return option_set_address(option, config, text, fault);
	case OPTION_GROUP:
		return option_set_group(option, config, text, fault);
	case OPTION_ROOTS:
		return option_add_roots(option, config, text, fault);
	case OPTION_WORD:
		return option_set_word(option, config, text, fault);
	default:
		if (option->words && option_set_word(option, config, text, fault) == 0)
			return 0;
		if (quantity_parse(&number, text, &option->range, fault))
			return OPTION_E_BAD;
		option_put(option, config, number);
		return 0;
	}
}

void option_exchange(const struct option *option, struct config *config, struct config *other)
{
	char *one = (char *)config + option->offset, *two = (char *)other + option->offset;
	char kept[sizeof(uint64_t)];
	assert(option->size <= sizeof(kept));
	memcpy(kept, one, option->size);
	memcpy(one, two, option->size);
	memcpy(two, kept, option->size);
}

static const char *option_format_roots(const struct roots *roots, char *out)
{
	char *to = out;
	*to = '\0';
	for (size_t i = 0; roots_text(roots, i); i++) {
		if (i)
			*to++ = '\n';
		to = stpcpy(to, roots_text(roots, i)); /* ROOTS_BYTES_MAX */
	}
	return out;
}

const char *option_format(const struct option *option, const struct config *config, char *out)
{
	if (option->type == OPTION_ROOTS)
		return option_format_roots(*option_roots(option, config), out);
	if (option->type == OPTION_SOCKET || option->type == OPTION_SOCKET_OR_NONE ||
	    option->type == OPTION_FOLDER || option->type == OPTION_CPUS ||
	    option->type == OPTION_ADDRESS) {
		const char *path = *option_path(option, config);
		snprintf(out, OPTION_TEXT_MAX, "%s", path ? path : "");
		return out;
	}
	uint64_t number = option_number(option, config);
	const struct group *group = option->type == OPTION_GROUP ? getgrgid((gid_t)number) : NULL;
	out[0] = '\0';
	for (const struct option_word *word = option->words; word && word->word; word++) {
		if (word->value == number)
			strcpy(out, word->word);
	}
	if (out[0])
		return out;
	if (group) {
		snprintf(out, OPTION_TEXT_MAX, "%s", group->gr_name);
	} else if (option->type != OPTION_GROUP || number != (gid_t)-1) {
		quantity_format(out, OPTION_TEXT_MAX, number, option->range.kind);
	}
	return out;
}

void option_default(const struct option *option, char *out)
{
	if (option->compute)
		option->compute(out, OPTION_TEXT_MAX);
	else
		snprintf(out, OPTION_TEXT_MAX, "%s", option->initial ? option->initial : "");
}

const char *option_variable(const struct option *option, char *out)
{
	char *to = stpcpy(out, "STOKER_");
	for (const char *from = option->name; *from; from++)
		*to++ = *from == '-' ? '_' : (char)(*from - 'a' + 'A');
	*to = '\0';
	return out;
}
