/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a configuration with drop-ins: parts that a record separator (0x1e) divides, the
 * first the main file, each other one's first byte its name. A reload reads the same as a start
 * does; what it takes over can be taken back; a wrong file is named and changes nothing; what is no
 * drop-in by its name is not looked at.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "config/option.h"
#include "config/reload.h"
#include "tests/fuzz/fuzz.h"

#define SEPARATOR 0x1e

/* Those that begin with a dot, or end otherwise, are none. */
static const char *const names[] = {"1.conf", "10.conf", "2.conf",  "B.conf", "a.conf",
				    ".conf",  ".x.conf", "x.conf~", "README"};
#define NAMES (sizeof(names) / sizeof(*names))
#define DROP_INS 5 /* the first of them */

static char folder[64], path[80];

static void require(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

static void leave(void)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command) != 0)
		perror(folder);
}

static void prepare(void)
{
	if (path[0])
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/stoker-fuzz-XXXXXX");
	require(mkdtemp(folder), "a folder");
	atexit(leave);
	snprintf(path, sizeof(path), "%s/c.conf.d", folder);
	require(mkdir(path, 0700) == 0, "a folder for drop-ins");
	snprintf(path, sizeof(path), "%s/c.conf", folder);
	setenv("LISTEN_FDS", "2", 1); /* no folder is made */
}

static void put(const char *file, const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file");
	close(fd);
}

static void name_of(size_t number, char out[128])
{
	snprintf(out, 128, "%s.d/%s", path, names[number]);
}

static void clear(void)
{
	char file[128];
	for (size_t i = 0; i < NAMES; i++) {
		name_of(i, file);
		unlink(file);
	}
}

/* The other parts; how many of them are drop-ins. */
static unsigned put_drop_ins(const uint8_t *at, const uint8_t *end)
{
	unsigned count = 0;
	while (at < end) {
		const uint8_t *next = memchr(at, SEPARATOR, (size_t)(end - at));
		char file[128];
		next = next ? next : end;
		if (next > at) {
			count += *at % NAMES < DROP_INS;
			name_of(*at % NAMES, file);
			put(file, at + 1, (size_t)(next - at - 1));
		}
		at = next + 1;
	}
	return count;
}

static void check(int result, const struct fault *fault)
{
	require(result == 0 || result == CONFIG_E_BAD, "no other condition");
	require((result != 0) == (fault->text[0] != '\0'), "words if and only if it is wrong");
}

static int load(struct config *out)
{
	static char *flags[] = {"stokerd", "--config", path, NULL};
	struct fault fault = {""};
	int result = config_load(out, 3, flags, &fault);
	check(result, &fault);
	return result;
}

static bool same(const struct config *a, const struct config *b, bool live)
{
	char one[OPTION_TEXT_MAX], two[OPTION_TEXT_MAX];
	for (unsigned i = 0; i < option_count; i++)
		if (options[i].live == live && strcmp(option_format(&options[i], a, one),
						      option_format(&options[i], b, two)) != 0)
			return false;
	return true;
}

static void seen(void *context, const struct reload_change *change)
{
	unsigned *changes = context;
	require(strcmp(change->before, change->after) != 0, "a change");
	require(change->origin && change->name, "where it is from");
	++*changes;
}

/* `first` runs, the files are as `fresh` has them. */
static void reload(struct config *first, const struct config *fresh)
{
	struct config other, before;
	struct fault fault = {""};
	unsigned changes = 0;
	require(load(&before) == 0 && config_reload(&other, first, &fault) == 0, "it is good");
	require(same(&other, fresh, true) && same(&other, fresh, false), "a reload is a start");
	reload_take(first, &other);
	require(same(first, fresh, true), "what can change has changed");
	reload_compare(first, &other, seen, &changes);
	require((changes == 0) == (same(first, &other, true) && same(first, &other, false)),
		"it says what changes");
	reload_take(first, &other);
	require(same(&other, fresh, true), "and is taken back");
	config_deinit(&before);
	config_deinit(&other);
}

FUZZ_TARGET(drop_ins)
{
	struct config first, fresh, other;
	struct fault fault = {""};
	const uint8_t *end = size ? memchr(data, SEPARATOR, size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	prepare();
	clear();
	put(path, data, length);
	if (load(&first))
		return 0;
	unsigned drop_ins = put_drop_ins(data + length + 1, data + size);
	if (load(&fresh) == 0) {
		require(drop_ins > 0 || (same(&first, &fresh, true) && same(&first, &fresh, false)),
			"what is no drop-in is not looked at");
		reload(&first, &fresh);
		config_deinit(&fresh);
	} else {
		int result = config_reload(&other, &first, &fault);
		check(result, &fault);
		require(result == CONFIG_E_BAD, "a reload refuses it, too");
		require(drop_ins > 0 && strstr(fault.text, "c.conf.d/"), "the file is named");
	}
	config_deinit(&first);
	return 0;
}
