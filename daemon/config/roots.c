// SPDX-License-Identifier: MIT
#include "config/roots.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quote.h"
#include "base/url.h"
#include "config/quantity.h"

enum root_for { ROOT_FOR_ALL, ROOT_FOR_GROUP, ROOT_FOR_USER };

struct root {
	char *text; /* as it was written; owned */
	char *path; /* owned; "" is /; or a URL */
	enum root_for whom;
	uint32_t id; /* of the group or the user */
};

struct roots {
	struct root *list;
	uint64_t count, capacity, bytes;
};

static void root_deinit(struct root *root)
{
	free(root->text);
	free(root->path);
}

void roots_free(struct roots *roots)
{
	for (size_t i = 0; roots && i < roots->count; i++)
		root_deinit(&roots->list[i]);
	if (roots)
		free(roots->list);
	free(roots);
}

/* A name, or a number, which need not have one. */
static int root_find_id(struct root *root, const char *name, struct fault *fault)
{
	const struct quantity_range numbers = {QUANTITY_COUNT, 0, UINT32_MAX - 1, 0};
	bool user = root->whom == ROOT_FOR_USER;
	const struct passwd *passwd = user && *name ? getpwnam(name) : NULL;
	const struct group *group = !user && *name ? getgrnam(name) : NULL;
	struct quote quote;
	struct fault unused;
	uint64_t number;
	if (passwd)
		number = passwd->pw_uid;
	else if (group)
		number = group->gr_gid;
	else if (quantity_parse(&number, name, &numbers, &unused))
		return fault_say(fault, ROOTS_E_BAD, "there is no %s '%s': correct the name",
				 user ? "user" : "group", quote_text(&quote, name));
	if (number == CREDENTIALS_UNMAPPED)
		return fault_say(fault, ROOTS_E_BAD,
				 "'%s' is what all users and groups of other user namespaces are "
				 "called: a rule cannot tell them apart",
				 quote_text(&quote, name));
	root->id = (uint32_t)number;
	return 0;
}

/* Drop double and last slashes; "." and ".." are refused: a rule means what it says. */
static int root_set_path(struct root *root, const char *text, size_t size, struct fault *fault)
{
	struct quote quote;
	char *to = root->path = calloc(1, size + 1);
	if (!to)
		return -ENOMEM;
	for (size_t at = 0; at < size;) {
		size_t end = ++at;
		while (end < size && text[end] != '/')
			end++;
		size_t part = end - at;
		if ((part == 1 && text[at] == '.') ||
		    (part == 2 && text[at] == '.' && text[at + 1] == '.'))
			return fault_say(fault, ROOTS_E_BAD,
					 "'%s' has a part . or ..: write the path without",
					 quote_bytes(&quote, text, size));
		if (part > 0) {
			*to++ = '/';
			memcpy(to, text + at, part);
			to += part;
		}
		at = end;
	}
	return 0;
}

static int root_set_url(struct root *root, const char *text, size_t size, struct fault *fault)
{
	root->path = strndup(text, size);
	if (!root->path)
		return -ENOMEM;
	url_tidy(root->path);
	const char *why = url_refuse(root->path);
	return why ? fault_say(fault, ROOTS_E_BAD, "the URL cannot be a rule: %s", why) : 0;
}

/* Find the part that says for whom; NULL: there is none. A URL has colons of its own, one behind
 * its scheme and one before its port. */
static const char *root_find_colon(const char *text)
{
	enum url_scheme scheme = url_scheme(text);
	size_t size;
	if (scheme == URL_NONE)
		return strrchr(text, ':');
	return strrchr(scheme == URL_S3 ? url_host(text, &size) : url_path(text), ':');
}

static int root_parse(struct root *root, const char *text, struct fault *fault)
{
	struct quote quote;
	const char *colon = root_find_colon(text);
	bool url = url_scheme(text) != URL_NONE;
	if (text[0] != '/' && !url)
		return fault_say(
			fault, ROOTS_E_BAD,
			"'%s' is not an absolute path or a URL (s3://, http://, https://), "
			"or one with :GROUP or :@USER behind it",
			quote_text(&quote, text));
	root->text = strdup(text);
	if (!root->text)
		return -ENOMEM;
	if (colon)
		root->whom = colon[1] == '@' ? ROOT_FOR_USER : ROOT_FOR_GROUP;
	int r = colon ? root_find_id(root, colon + (colon[1] == '@' ? 2 : 1), fault) : 0;
	size_t size = colon ? (size_t)(colon - text) : strlen(text);
	if (r)
		return r;
	return url ? root_set_url(root, text, size, fault) : root_set_path(root, text, size, fault);
}

static int roots_append(struct roots *roots, const char *text, struct fault *fault)
{
	struct root root = {0};
	if (roots->bytes + strlen(text) + 1 > ROOTS_BYTES_MAX)
		return fault_say(fault, ROOTS_E_FULL,
				 "the rules have more than %d bytes together: give a folder above "
				 "some of them",
				 ROOTS_BYTES_MAX);
	int r = root_parse(&root, text, fault);
	if (!r && ARRAY_RESERVE(roots->list, roots->capacity, roots->count + 1))
		r = -ENOMEM;
	if (r) {
		root_deinit(&root);
		return r;
	}
	roots->list[roots->count++] = root;
	roots->bytes += strlen(text) + 1;
	return 0;
}

int roots_add(struct roots **roots, const char *text, struct fault *fault)
{
	struct roots *list = *roots;
	if (!*text) {
		roots_free(list);
		*roots = NULL;
		return 0;
	}
	if (!list)
		list = calloc(1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	int r = roots_append(list, text, fault);
	if (!r)
		*roots = list;
	else if (!*roots)
		roots_free(list);
	return r;
}

static bool root_allows(const struct root *root, const struct credentials *credentials,
			const char *path)
{
	size_t size = strlen(root->path);
	if (strncmp(path, root->path, size) != 0 || (path[size] && path[size] != '/'))
		return false;
	switch (root->whom) {
	case ROOT_FOR_GROUP:
		return credentials_is_member(credentials, root->id);
	case ROOT_FOR_USER:
		return credentials_is_user(credentials, root->id);
	default:
		return true;
	}
}

const char *roots_cover(const struct roots *roots, const struct credentials *credentials,
			const char *path)
{
	for (size_t i = 0; roots && i < roots->count; i++) {
		const struct root *root = &roots->list[i];
		if (root_allows(root, credentials, path))
			return *root->path ? root->path : "/";
	}
	return NULL;
}

const char *roots_text(const struct roots *roots, size_t number)
{
	return roots && number < roots->count ? roots->list[number].text : NULL;
}
