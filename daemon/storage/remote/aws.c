// SPDX-License-Identifier: MIT
#include "storage/remote/aws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A profile that is being looked for in a file. */
struct aws_search {
	struct aws_identity *found;
	const char *section;
	bool credentials; /* no others were found */
};

static void wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void aws_identity_deinit(struct aws_identity *identity)
{
	wipe(&identity->key);
	wipe(&identity->secret);
	wipe(&identity->token);
	free(identity->region);
	free(identity->endpoint);
	*identity = AWS_IDENTITY_NULL;
}

/* Set a text that is not set yet. False: no memory. */
static bool set(char **text, const char *value)
{
	if (*text || !value || !*value)
		return true;
	*text = strdup(value);
	return *text;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t size = strlen(text);
	while (size && strchr(" \t\r\n", text[size - 1]))
		text[--size] = '\0';
	return text;
}

/* Note a way to credentials that is not supported: a user of it shall not be taken for somebody
 * else, neither without a signature nor with the keys that only open the way to a role. */
static void note_lack(const struct aws_search *search, const char *name)
{
	static const char *const lacking[] = {"role_arn", "sso_session", "sso_start_url",
					      "credential_process"};
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		if (!search->found->lacks && strcmp(name, lacking[i]) == 0)
			search->found->lacks = lacking[i];
	}
}

/* False: no memory. */
static bool take_setting(const struct aws_search *search, const char *name, const char *value)
{
	struct aws_identity *found = search->found;
	char **member = NULL;
	note_lack(search, name);
	if (strcmp(name, "region") == 0)
		member = &found->region;
	else if (strcmp(name, "endpoint_url") == 0)
		member = &found->endpoint;
	else if (strcmp(name, "addressing_style") == 0) /* below "s3 =" */
		found->virtual_style = strcmp(value, "virtual") == 0;
	else if (search->credentials && strcmp(name, "aws_access_key_id") == 0)
		member = &found->key;
	else if (search->credentials && strcmp(name, "aws_secret_access_key") == 0)
		member = &found->secret;
	else if (search->credentials && strcmp(name, "aws_session_token") == 0)
		member = &found->token;
	return !member || set(member, value);
}

/* Lines [SECTION] and NAME = VALUE. Not by inih, which cuts lines at 200 bytes: session tokens are
 * longer. */
static bool search_stream(const struct aws_search *search, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	bool within = false, good = true;
	while (good && getline(&line, &room, file) >= 0) {
		char *text = trim(line), *equals = strchr(text, '=');
		size_t size = strlen(text);
		if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
			text[size - 1] = '\0';
			within = strcmp(trim(text + 1), search->section) == 0;
		} else if (within && equals && text[0] != '#' && text[0] != ';') {
			*equals = '\0';
			good = take_setting(search, trim(text), trim(equals + 1));
		}
	}
	if (line)
		explicit_bzero(line, room);
	free(line);
	return good;
}

/* A file that is not there says nothing. */
static bool search_file(struct aws_search *search, const char *variable, const char *below_home)
{
	const char *path = getenv(variable), *home = getenv("HOME");
	char *made = NULL;
	if (!path && home && asprintf(&made, "%s/.aws/%s", home, below_home) < 0)
		return false;
	FILE *file = path || made ? fopen(path ? path : made, "re") : NULL;
	free(made);
	if (!file)
		return true;
	search->credentials = !search->found->key;
	bool good = search_stream(search, file);
	fclose(file);
	return good;
}

static bool find_profile(struct aws_identity *found)
{
	const char *profile = getenv("AWS_PROFILE");
	char *section = NULL;
	profile = profile && *profile ? profile : "default";
	struct aws_search search = {found, profile, false};
	bool good = search_file(&search, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
	if (good && strcmp(profile, "default") != 0 &&
	    asprintf(&section, "profile %s", profile) < 0)
		return false;
	search.section = section ? section : profile;
	good = good && search_file(&search, "AWS_CONFIG_FILE", "config");
	free(section);
	return good;
}

static bool find_environment(struct aws_identity *found)
{
	const char *key = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	bool both = key && *key && secret && *secret;
	return (!both || (set(&found->key, key) && set(&found->secret, secret) &&
			  set(&found->token, getenv("AWS_SESSION_TOKEN")))) &&
	       set(&found->region, getenv("AWS_REGION")) &&
	       set(&found->region, getenv("AWS_DEFAULT_REGION")) &&
	       set(&found->endpoint, getenv("AWS_ENDPOINT_URL_S3")) &&
	       set(&found->endpoint, getenv("AWS_ENDPOINT_URL"));
}

/* A key without its secret is of no use. */
static void settle(struct aws_identity *found)
{
	if (!found->key || !found->secret) {
		wipe(&found->key);
		wipe(&found->secret);
		wipe(&found->token);
	}
	size_t size = found->endpoint ? strlen(found->endpoint) : 0;
	while (size && found->endpoint[size - 1] == '/')
		found->endpoint[--size] = '\0';
}

int aws_identity_find(struct aws_identity *out)
{
	struct aws_identity found = AWS_IDENTITY_NULL;
	if (!find_environment(&found) || !find_profile(&found) ||
	    !set(&found.region, "us-east-1")) {
		aws_identity_deinit(&found);
		return -ENOMEM;
	}
	settle(&found);
	*out = found;
	return 0;
}

/* Domain of the partition that a region belongs to; an unknown region is a new one of the largest.
 */
static const char *domain_of(const char *region)
{
	static const struct {
		const char *prefix, *domain;
	} partitions[] = {
		{"cn-", "amazonaws.com.cn"},	{"eusc-", "amazonaws.eu"},
		{"us-iso-", "c2s.ic.gov"},	{"us-isob-", "sc2s.sgov.gov"},
		{"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"},
	};
	for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++)
		if (strncmp(region, partitions[i].prefix, strlen(partitions[i].prefix)) == 0)
			return partitions[i].domain;
	return "amazonaws.com";
}

char *aws_sts_url(const char *region)
{
	char *url;
	return asprintf(&url, "https://sts.%s.%s/", region, domain_of(region)) < 0 ? NULL : url;
}

char *aws_bucket_url(const struct aws_identity *identity, const char *bucket)
{
	const char *endpoint = identity->endpoint, *domain = domain_of(identity->region);
	char *url = NULL;
	int size;
	const char *host = endpoint ? strstr(endpoint, "://") : NULL;
	if (endpoint && host && identity->virtual_style)
		size = asprintf(&url, "%.*s%s.%s", (int)(host + 3 - endpoint), endpoint, bucket,
				host + 3);
	else if (endpoint)
		size = asprintf(&url, "%s/%s", endpoint, bucket);
	else if (strchr(bucket, '.')) /* no certificate fits such a host */
		size = asprintf(&url, "https://s3.%s.%s/%s", identity->region, domain, bucket);
	else
		size = asprintf(&url, "https://%s.s3.%s.%s", bucket, identity->region, domain);
	return size < 0 ? NULL : url;
}
