// SPDX-License-Identifier: MIT
#include "config/preflight.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/quote.h"
#include "config/roots.h"

static int places_say(const char *name, const char *path, const char *what, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, PREFLIGHT_E_BAD, "%s: %s: %s", name, quote_text(&quote, path),
			 what);
}

/* 0 or PREFLIGHT_E_BAD; a path that this user may not look at is left to the daemon's user. */
static int preflight_check_folder(const char *name, const char *path, struct fault *fault)
{
	struct stat found;
	if (stat(path, &found))
		return errno == ENOENT || errno == ENOTDIR
			       ? places_say(name, path, "there is no such folder: make it", fault)
			       : 0;
	return S_ISDIR(found.st_mode) ? 0 : places_say(name, path, "it is not a folder", fault);
}

static int preflight_check_socket(const char *name, const char *path, bool made,
				  struct fault *fault)
{
	struct stat found;
	char folder[PATH_MAX];
	if (lstat(path, &found) == 0)
		return S_ISSOCK(found.st_mode)
			       ? 0
			       : places_say(name, path, "something else than a socket is there",
					    fault);
	int size = (int)(strrchr(path, '/') - path); /* it is absolute */
	snprintf(folder, sizeof(folder), "%.*s", size ? size : 1, path);
	return made ? 0 : preflight_check_folder(name, folder, fault);
}

/* Rules of who may read have no place there: dataset-root says that. */
static int preflight_check_stage(const struct config *config, struct fault *fault)
{
	struct quote quote;
	if (roots_text(config->stage_roots, 0) && !config->cache_dir)
		return fault_say(fault, PREFLIGHT_E_BAD,
				 "stage-root: there is no cache-dir: set it to a folder for the "
				 "copies of these files");
	for (size_t i = 0; roots_text(config->stage_roots, i); i++)
		if (strchr(roots_text(config->stage_roots, i), ':'))
			return fault_say(fault, PREFLIGHT_E_BAD,
					 "stage-root: '%s' is not a path alone: name the folder "
					 "where the data are mounted",
					 quote_text(&quote, roots_text(config->stage_roots, i)));
	return 0;
}

int preflight_check_cache(const struct config *config, struct fault *fault)
{
	int result = preflight_check_stage(config, fault);
	if (result)
		return result;
	if (config->cache_decoded_size == 0 || config->cache_dir)
		return 0;
	return fault_say(fault, PREFLIGHT_E_BAD,
			 "cache-decoded-size: there is no cache-dir: set it to a folder for these "
			 "pictures");
}

int preflight_check(const struct config *config, bool made, struct fault *fault)
{
	int result = preflight_check_socket("socket", config->socket, made, fault);
	if (!result)
		result = preflight_check_socket("control-socket", config->control_socket, made,
						fault);
	if (!result && config->index_dir)
		result = preflight_check_folder("index-dir", config->index_dir, fault);
	if (!result && config->cache_dir)
		result = preflight_check_folder("cache-dir", config->cache_dir, fault);
	return result;
}
