// SPDX-License-Identifier: MIT
/*
 * Any bytes as a configuration file: refused with words, or it prints as a file that is accepted
 * and prints the same values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "config/option.h"
#include "tests/fuzz/fuzz.h"

static int load(struct config *config, const void *data, size_t size)
{
	static int fd = -1;
	if (fd < 0)
		fd = memfd_create("config", MFD_CLOEXEC);
	char path[64], *flags[] = {"stokerd", "--config", path, NULL};
	struct fault fault = {""};
	require(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "a file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("LISTEN_FDS", "2", 1); /* no folder is made */
	int result = config_load(config, 3, flags, &fault);
	require(result == 0 || result == CONFIG_E_BAD, "no other condition");
	require((result != 0) == (fault.text[0] != '\0'), "words if and only if it is wrong");
	return result;
}

FUZZ_TARGET(config)
{
	struct config first, again;
	char *text, one[OPTION_TEXT_MAX], two[OPTION_TEXT_MAX];
	size_t length;
	if (load(&first, data, size))
		return 0;
	FILE *out = open_memstream(&text, &length);
	require(out, "memory");
	config_print(&first, out);
	fclose(out);
	/* A path may hold what begins a comment: then its text does not come back. */
	bool plain = !strstr(first.socket, " ") && !strstr(first.socket, "\t");
	plain = plain && !strstr(first.control_socket, " ") && !strstr(first.control_socket, "\t");
	if (plain) {
		require(load(&again, text, length) == 0, "what is printed is taken");
		for (unsigned i = 0; i < option_count; i++)
			require(strcmp(option_format(&options[i], &first, one),
				       option_format(&options[i], &again, two)) == 0,
				options[i].name);
		config_deinit(&again);
	}
	free(text);
	config_deinit(&first);
	return 0;
}
