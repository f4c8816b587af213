/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a configuration with drop-ins. A record separator (0x1e) divides the input: the
 * first part is the main file, each other part a drop-in, whose first byte chooses its name. A
 * reload reads the same values as a start; what it takes over can be taken back; a wrong file is
 * named in the message and changes nothing; a file whose name is not that of a drop-in is not read.
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

/* Names of drop-ins, then names of other files: they begin with a dot, or do not end in .conf. */
static const char *const names[] = {"1.conf", "10.conf", "2.conf",  "B.conf", "a.conf",
				    ".conf",  ".x.conf", "x.conf~", "README"};
#define NAMES (sizeof(names) / sizeof(*names))
#define DROP_INS 5 /* of the names */

static char folder[64], path[80];

static void remove_folder(void)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command) != 0)
		perror(folder);
}

static void make_folder(void)
{
	if (path[0])
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/stoker-fuzz-XXXXXX");
	require(mkdtemp(folder), "a folder");
	atexit(remove_folder);
	snprintf(path, sizeof(path), "%s/c.conf.d", folder);
	require(mkdir(path, 0700) == 0, "a folder for drop-ins");
	snprintf(path, sizeof(path), "%s/c.conf", folder);
	setenv("LISTEN_FDS", "2", 1); /* no folder is made */
}

static void write_file(const char *file, const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file");
	close(fd);
}

static void name_of(size_t number, char out[128])
{
	snprintf(out, 128, "%s.d/%s", path, names[number]);
}

static void remove_drop_ins(void)
{
	char file[128];
	for (size_t i = 0; i < NAMES; i++) {
		name_of(i, file);
		unlink(file);
	}
}

/* Write the parts behind the first. Returns how many of them are drop-ins. */
static unsigned write_drop_ins(const uint8_t *at, const uint8_t *end)
{
	unsigned count = 0;
	while (at < end) {
		const uint8_t *next = memchr(at, SEPARATOR, (size_t)(end - at));
		char file[128];
		next = next ? next : end;
		if (next > at) {
			count += *at % NAMES < DROP_INS;
			name_of(*at % NAMES, file);
			write_file(file, at + 1, (size_t)(next - at - 1));
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

/* Have two configurations the same values of options that can change live, or of the others? */
static bool same(const struct config *a, const struct config *b, bool live)
{
	char one[OPTION_TEXT_MAX], two[OPTION_TEXT_MAX];
	for (unsigned i = 0; i < option_count; i++)
		if (options[i].live == live && strcmp(option_format(&options[i], a, one),
						      option_format(&options[i], b, two)) != 0)
			return false;
	return true;
}

static void count_change(void *context, const struct reload_change *change)
{
	unsigned *changes = context;
	require(strcmp(change->before, change->after) != 0, "a change");
	require(change->origin && change->name, "where it is from");
	++*changes;
}

/* Check a reload of the running configuration `first`; `fresh` is what a start would read. */
static void check_reload(struct config *first, const struct config *fresh)
{
	struct config other;
	struct fault fault = {""};
	unsigned changes = 0;
	require(config_reload(&other, first, &fault) == 0, "it is good");
	require(same(&other, fresh, true) && same(&other, fresh, false), "a reload is a start");
	reload_take(first, &other);
	require(same(first, fresh, true), "what can change has changed");
	reload_compare(first, &other, count_change, &changes);
	require((changes == 0) == (same(first, &other, true) && same(first, &other, false)),
		"it says what changes");
	reload_take(first, &other);
	require(same(&other, fresh, true), "and is taken back");
	config_deinit(&other);
}

FUZZ_TARGET(drop_ins)
{
	struct config first, fresh, other;
	struct fault fault = {""};
	const uint8_t *end = size ? memchr(data, SEPARATOR, size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	make_folder();
	remove_drop_ins();
	write_file(path, data, length);
	if (load(&first))
		return 0;
	unsigned drop_ins = write_drop_ins(data + length + 1, data + size);
	if (load(&fresh) == 0) {
		require(drop_ins > 0 || (same(&first, &fresh, true) && same(&first, &fresh, false)),
			"what is no drop-in is not looked at");
		check_reload(&first, &fresh);
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
