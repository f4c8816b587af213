// SPDX-License-Identifier: MIT
#include "storage/remote/key_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/url.h"
#include "storage/remote/aws.h"
#include "storage/remote/json_texts.h"
#include "storage/remote/sts.h"
#include "storage/remote/wiped_memory.h"

#define SERVICE_S 5	    /* STS, a container's service: until nobody waits any longer */
#define METADATA_S 2	    /* on a machine that is not EC2's nobody answers */
#define METADATA_AWAY_S 300 /* until it is asked again */
#define TOKEN_MAX 32768	    /* bytes of a token in a file */
#define ANSWER_MAX TRANSFER_ERROR_BYTES
#define SECOND_NS UINT64_C(1000000000)

#define METADATA_HOST "http://169.254.169.254"
#define CONTAINER_HOST "http://169.254.170.2"
#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

/* Value of an environment variable; NULL: it is not set, or empty. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* A buffer held an answer. */
static void wipe_buffer(struct buffer *buffer)
{
	if (buffer->data)
		explicit_bzero(buffer->data, buffer->capacity);
	buffer_deinit(buffer);
}

/* The only line of a file; the caller's to wipe. NULL with `fault` and *result set. */
static char *read_token(const char *path, int *result, struct fault *fault)
{
	char *text = malloc(TOKEN_MAX + 1);
	if (!text) {
		*result = -ENOMEM;
		return NULL;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd < 0 ? -1 : read(fd, text, TOKEN_MAX);
	int error = errno;
	if (fd >= 0)
		close(fd);
	while (size > 0 && isspace((unsigned char)text[size - 1]))
		size--;
	text[size > 0 ? size : 0] = '\0';
	bool one_line = size > 0 && strlen(text) == (size_t)size && !strpbrk(text, "\r\n");
	if (one_line)
		return text;
	*result = fault_say(fault, TRANSFER_E_FAILED, "the token's file %s %s: write it there",
			    path, size < 0 ? strerror(error) : "has no token of one line");
	s3_keys_wipe(text);
	return NULL;
}

/* -- a web identity --------------------------------------------------------------------------- */

/* A form field's name and its value, encoded; behind what is there. */
static char *add_field(char *to, const char *name, const char *value)
{
	to = stpcpy(to, name);
	return to + url_encode(to, value, strlen(value), true);
}

/* The body of the request; the caller's to wipe. NULL: no memory. */
static char *web_identity_form(const char *role, const char *session, const char *token)
{
	char *form = malloc(256 + 3 * (strlen(role) + strlen(session) + strlen(token)));
	if (!form)
		return NULL;
	char *to = add_field(form,
			     "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=", role);
	to = add_field(to, "&RoleSessionName=", session);
	add_field(to, "&WebIdentityToken=", token);
	return form;
}

/* The caller's; NULL: no memory. */
static char *sts_url(const struct aws_identity *identity)
{
	const char *endpoint = variable("AWS_ENDPOINT_URL_STS");
	char *url = NULL;
	endpoint = endpoint ? endpoint : variable("AWS_ENDPOINT_URL");
	size_t size = endpoint ? strlen(endpoint) : 0;
	while (size && endpoint[size - 1] == '/')
		size--;
	if (!endpoint)
		return aws_sts_url(identity->region);
	return asprintf(&url, "%.*s/", (int)size, endpoint) < 0 ? NULL : url;
}

static int take_sts_answer(const struct response *response, const struct buffer *body,
			   struct s3_keys **out, struct fault *fault)
{
	struct sts_answer *answer = malloc(sizeof(*answer));
	int64_t expires;
	int result = answer ? sts_parse(body->data, body->size, answer) : -ENOMEM;
	if (!result && response->status != 200)
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "STS refuses the web identity (%u%s%s): check AWS_ROLE_ARN and "
				   "the role's trust",
				   response->status, answer->code[0] ? " " : "", answer->code);
	else if (!result && (!answer->key[0] || !answer->secret[0] || !answer->token[0] ||
			     !s3_keys_parse_time(answer->expiration, &expires)))
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "STS answers without credentials: check AWS_ENDPOINT_URL_STS "
				   "and AWS_ENDPOINT_URL");
	if (!result) {
		*out = s3_keys_new(answer->key, answer->secret, answer->token, expires);
		result = *out ? 0 : -ENOMEM;
	}
	if (answer)
		explicit_bzero(answer, sizeof(*answer));
	free(answer);
	return result;
}

static int ask_sts(struct transfers *transfers, const struct aws_identity *identity,
		   struct s3_keys **out, struct fault *fault)
{
	const char *session = variable("AWS_ROLE_SESSION_NAME");
	struct buffer body = BUFFER_NULL;
	struct response response;
	int result = 0;
	char *token = read_token(getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), &result, fault);
	if (!token)
		return result;
	char *form = web_identity_form(getenv("AWS_ROLE_ARN"), session ? session : "stoker", token);
	char *url = sts_url(identity);
	const struct transfer_request request = {
		.url = url,
		.range = STORAGE_WHOLE,
		.max_bytes = ANSWER_MAX,
		.form = form,
		.deadline_s = SERVICE_S,
	};
	result = form && url ? transfer_run(transfers, &request, &body, &response, fault) : -ENOMEM;
	if (!result)
		result = take_sts_answer(&response, &body, out, fault);
	s3_keys_wipe(token);
	s3_keys_wipe(form);
	free(url);
	wipe_buffer(&body);
	return result;
}

/* -- services that answer in JSON ------------------------------------------------------------- */

/* A GET, or a PUT without a body, with one header. As transfer_run(). */
static int ask(struct transfers *transfers, const char *url, bool put, const char *header,
	       unsigned deadline_s, struct buffer *body, struct response *response,
	       struct fault *fault)
{
	const char *const headers[] = {header, NULL};
	const struct transfer_request request = {
		.url = url,
		.range = STORAGE_WHOLE,
		.max_bytes = ANSWER_MAX,
		.put = put,
		.headers = header ? headers : NULL,
		.deadline_s = deadline_s,
		.direct = true,
	};
	return transfer_run(transfers, &request, body, response, fault);
}

static int take_json(const struct buffer *body, const char *who, struct s3_keys **out,
		     struct fault *fault)
{
	static const char *const names[] = {"AccessKeyId", "SecretAccessKey", "Token",
					    "Expiration"};
	char *texts[4] = {NULL};
	int64_t expires = S3_KEYS_FOREVER;
	int result = json_texts_parse((const char *)body->data, body->size, names, texts, 4);
	if (!result && texts[0] && texts[1] &&
	    (!texts[3] || s3_keys_parse_time(texts[3], &expires))) {
		*out = s3_keys_new(texts[0], texts[1], texts[2], expires);
		result = *out ? 0 : -ENOMEM;
	} else if (result >= 0) {
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "%s answers without credentials: check its address in the "
				   "daemon's environment",
				   who);
	}
	for (size_t i = 0; i < 4; i++)
		s3_keys_wipe(texts[i]);
	return result;
}

/* -- a container ------------------------------------------------------------------------------ */

/* Over plain HTTP no token leaves the machine or its link. */
static bool is_near(const char *url)
{
	static const char *const near[] = {"127.0.0.1",	    "localhost",      "[::1]",
					   "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
	if (url_scheme(url) == URL_HTTPS)
		return true;
	if (url_scheme(url) != URL_HTTP)
		return false;
	size_t size;
	const char *host = url_host(url, &size);
	if (memchr(host, '@', size)) /* what stands before it is no host */
		return false;
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		size_t length = strlen(near[i]);
		if (size >= length && strncmp(host, near[i], length) == 0 &&
		    (size == length || host[length] == ':'))
			return true;
	}
	return false;
}

/* "Authorization: TOKEN"; the caller's to wipe. NULL with *result: 0 if no token is set. */
static char *container_header(int *result, struct fault *fault)
{
	const char *path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *set = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char *token = NULL, *header = NULL;
	*result = 0;
	if (path)
		token = read_token(path, result, fault);
	else if (set && strpbrk(set, "\r\n"))
		*result = fault_say(
			fault, TRANSFER_E_FAILED,
			"AWS_CONTAINER_AUTHORIZATION_TOKEN has more than one line: give it one");
	const char *text = path ? token : set;
	if (!*result && text) {
		header = wiped_header("Authorization", text);
		*result = header ? 0 : -ENOMEM;
	}
	s3_keys_wipe(token);
	return header;
}

static int ask_container(struct transfers *transfers, struct s3_keys **out, struct fault *fault)
{
	const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	struct buffer body = BUFFER_NULL;
	struct response response;
	char *url = NULL;
	int result = 0;
	if (asprintf(&url, "%s%s", relative ? CONTAINER_HOST : full, relative ? relative : "") < 0)
		return -ENOMEM;
	char *header = NULL;
	if (!is_near(url))
		result =
			fault_say(fault, TRANSFER_E_FAILED,
				  "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor of this "
				  "machine: give it one of these");
	else
		header = container_header(&result, fault);
	if (!result)
		result = ask(transfers, url, false, header, SERVICE_S, &body, &response, fault);
	if (!result && response.status != 200)
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "the container's service refuses it (%u): check "
				   "AWS_CONTAINER_AUTHORIZATION_TOKEN",
				   response.status);
	if (!result)
		result = take_json(&body, "the container's service", out, fault);
	s3_keys_wipe(header);
	free(url);
	wipe_buffer(&body);
	return result;
}

/* -- instance metadata ------------------------------------------------------------------------ */

static atomic_uint_fast64_t metadata_away_until; /* clock_ns() */
static atomic_bool metadata_gives;		 /* it has given credentials, once */

static bool metadata_is_asked(void)
{
	const char *disabled = variable("AWS_EC2_METADATA_DISABLED");
	return !(disabled && strcasecmp(disabled, "true") == 0) &&
	       clock_ns() >= atomic_load(&metadata_away_until);
}

/* The body is a text of one line: a token, or the name of a role. */
static bool take_line(const struct buffer *body, char *out, size_t room)
{
	const char *text = (const char *)body->data;
	size_t size = 0;
	while (size < body->size && text[size] > ' ' && text[size] < 0x7f)
		size++;
	if (size == 0 || size >= room)
		return false;
	memcpy(out, text, size);
	out[size] = '\0';
	return true;
}

/* A session is begun by a PUT, which no redirect and few proxies pass on. `header_out` carries its
 * token. False: nobody answers as EC2 does. */
static bool metadata_begin(struct transfers *transfers, const char *host, char *header_out,
			   size_t room, struct buffer *body)
{
	static const char name[] = "X-aws-ec2-metadata-token: ";
	struct response response;
	struct fault fault;
	char *url = NULL;
	if (asprintf(&url, "%s/latest/api/token", host) < 0)
		return false;
	int result = ask(transfers, url, true, "X-aws-ec2-metadata-token-ttl-seconds: 300",
			 METADATA_S, body, &response, &fault);
	free(url);
	memcpy(header_out, name, sizeof(name));
	return !result && response.status == 200 &&
	       take_line(body, header_out + sizeof(name) - 1, room - sizeof(name) + 1);
}

/* The credentials of the instance's role. */
static int metadata_take(struct transfers *transfers, const char *host, const char *header,
			 struct buffer *body, struct s3_keys **out, struct fault *fault)
{
	struct response response;
	char role[256], *url = NULL;
	if (asprintf(&url, "%s" ROLES_PATH, host) < 0)
		return -ENOMEM;
	int result = ask(transfers, url, false, header, METADATA_S, body, &response, fault);
	free(url);
	if (!result && response.status == 404)
		return 0; /* an instance without a role */
	if (!result &&
	    (response.status != 200 || !take_line(body, role, sizeof(role)) || strchr(role, '/')))
		result = fault_say(
			fault, TRANSFER_E_FAILED,
			"the instance metadata names no role (%u): give the machine a role",
			response.status);
	if (result)
		return result;
	if (asprintf(&url, "%s" ROLES_PATH "%s", host, role) < 0)
		return -ENOMEM;
	result = ask(transfers, url, false, header, METADATA_S, body, &response, fault);
	free(url);
	if (!result && response.status != 200)
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "the instance metadata refuses the role's credentials (%u): "
				   "check the machine's role",
				   response.status);
	return result ? result : take_json(body, "the instance metadata", out, fault);
}

static int ask_metadata(struct transfers *transfers, struct s3_keys **out, struct fault *fault)
{
	const char *host = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct buffer body = BUFFER_NULL;
	char header[1024];
	int result = 0;
	host = host ? host : METADATA_HOST;
	if (metadata_begin(transfers, host, header, sizeof(header), &body))
		result = metadata_take(transfers, host, header, &body, out, fault);
	else if (atomic_load(&metadata_gives)) /* what it gave is good until it expires */
		result = fault_say(fault, TRANSFER_E_FAILED,
				   "it does not answer any more: check "
				   "AWS_EC2_METADATA_SERVICE_ENDPOINT and the machine's network");
	else
		atomic_store(&metadata_away_until, clock_ns() + METADATA_AWAY_S * SECOND_NS);
	if (*out)
		atomic_store(&metadata_gives, true);
	explicit_bzero(header, sizeof(header));
	wipe_buffer(&body);
	return result;
}

/* -- the order -------------------------------------------------------------------------------- */

static int ask_first(struct transfers *transfers, const struct aws_identity *identity,
		     struct s3_keys **out, const char **who_out, struct fault *fault)
{
	bool environment = variable("AWS_ACCESS_KEY_ID") && variable("AWS_SECRET_ACCESS_KEY");
	if (!environment && variable("AWS_WEB_IDENTITY_TOKEN_FILE") && variable("AWS_ROLE_ARN")) {
		*who_out = "the web identity";
		return ask_sts(transfers, identity, out, fault);
	}
	if (identity->lacks && !environment) {
		*who_out = "the profile";
		return fault_say(fault, TRANSFER_E_FAILED,
				 "it has %s, by which this daemon gets none: give it keys (aws "
				 "configure export-credentials prints them), a web identity or a "
				 "container's service, or send a client's own credentials",
				 identity->lacks);
	}
	if (identity->key) {
		*out = s3_keys_new(identity->key, identity->secret, identity->token,
				   S3_KEYS_FOREVER);
		return *out ? 0 : -ENOMEM;
	}
	if (variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	    variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
		*who_out = "the container";
		return ask_container(transfers, out, fault);
	}
	*who_out = "the instance metadata";
	return metadata_is_asked() ? ask_metadata(transfers, out, fault) : 0;
}

int key_source_ask(struct transfers *transfers, struct s3_keys **out, struct fault *fault)
{
	struct aws_identity identity;
	struct s3_keys *keys = NULL;
	struct fault why = {""};
	const char *who = "";
	int result = aws_identity_find(&identity);
	if (result)
		return result;
	result = ask_first(transfers, &identity, &keys, &who, &why);
	aws_identity_deinit(&identity);
	if (result < 0)
		return result;
	if (result)
		return fault_say(fault, TRANSFER_E_FAILED,
				 "the daemon gets no credentials by %s: %s", who, why.text);
	*out = keys;
	return 0;
}
