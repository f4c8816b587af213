// SPDX-License-Identifier: MIT
#include "base/url.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *text;
	const char *port;
} schemes[] = {
	[URL_S3] = {"s3://", NULL},
	[URL_HTTP] = {"http://", ":80"},
	[URL_HTTPS] = {"https://", ":443"},
};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

enum url_scheme url_scheme(const char *url)
{
	for (size_t i = URL_S3; i < SCHEMES; i++) {
		if (strncasecmp(url, schemes[i].text, strlen(schemes[i].text)) == 0)
			return (enum url_scheme)i;
	}
	return URL_NONE;
}

const char *url_host(const char *url, size_t *size_out)
{
	const char *host = url + strlen(schemes[url_scheme(url)].text);
	*size_out = strcspn(host, "/");
	return host;
}

const char *url_path(const char *url)
{
	size_t size;
	const char *host = url_host(url, &size);
	return host + size;
}

static void lower(char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text[i] = (char)tolower((unsigned char)text[i]);
}

void url_tidy(char *url)
{
	enum url_scheme scheme = url_scheme(url);
	const char *port = schemes[scheme].port;
	size_t host_size;
	char *host = url + (url_host(url, &host_size) - url);
	lower(url, (size_t)(host + host_size - url));
	size_t port_size = port ? strlen(port) : 0;
	if (port && host_size > port_size &&
	    memcmp(host + host_size - port_size, port, port_size) == 0) {
		char *end = host + host_size;
		memmove(end - port_size, end, strlen(end) + 1);
		host_size -= port_size;
	}
	size_t size = strlen(host);
	while (size > host_size && host[size - 1] == '/')
		host[--size] = '\0';
}

/* -- what is refused -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte at `path`, decoded, and how many it takes. */
static unsigned char decode(const char *path, bool literal, size_t *size_out)
{
	*size_out = 1;
	if (literal || path[0] != '%' || hex_digit(path[1]) < 0 || hex_digit(path[2]) < 0)
		return (unsigned char)path[0];
	*size_out = 3;
	return (unsigned char)(hex_digit(path[1]) * 16 + hex_digit(path[2]));
}

/* Some servers take a backslash for a slash. */
const char *url_refuse_path(const char *path, bool literal)
{
	size_t part = 0, dots = 0, step;
	for (;; path += step) {
		unsigned char c = decode(path, literal, &step);
		bool ends = *path == '\0' || c == '/' || c == '\\';
		if (ends && part == dots && (dots == 1 || dots == 2))
			return "its path has a part . or ..";
		if (*path == '\0')
			return NULL;
		if (c < 0x20 || c == 0x7f)
			return "its path has a control character";
		dots = ends ? 0 : dots + (c == '.');
		part = ends ? 0 : part + 1;
	}
}

static const char *refuse_host(const char *host, size_t size, bool bucket)
{
	size_t name = size;
	if (memchr(host, '@', size))
		return "it has a user or a password, which messages and logs would show: give it "
		       "without (credentials of S3 come from the daemon's environment or profile)";
	if (size && *host == '[')
		return "its host is a number of IPv6: give it a name";
	const char *colon = memchr(host, ':', size);
	if (colon && !bucket)
		name = (size_t)(colon - host);
	for (size_t i = name + 1; i < size; i++) {
		if (!isdigit((unsigned char)host[i]))
			return "its port is not a number";
	}
	if (name == 0 || (colon && name + 1 == size))
		return bucket ? "it names no bucket" : "it names no host";
	if (bucket && strspn(host, ".") == name) /* in a path, where an endpoint has buckets */
		return "a bucket's name is more than dots";
	for (size_t i = 0; i < name; i++) {
		if (!isalnum((unsigned char)host[i]) && !strchr("-._", host[i]))
			return bucket ? "a bucket's name has letters, digits, '-', '.' and '_' only"
				      : "a host's name has letters, digits, '-', '.' and '_' only";
	}
	return NULL;
}

const char *url_refuse(const char *url)
{
	bool s3 = url_scheme(url) == URL_S3;
	size_t size;
	const char *host = url_host(url, &size);
	const char *why = refuse_host(host, size, s3);
	if (!why && !s3 && strpbrk(url, "?#"))
		return "it has a query or a fragment (? or #), where signed URLs have their "
		       "secret, which messages and logs would show: give it without";
	return why ? why : url_refuse_path(host + size, s3);
}

bool url_is_beneath(const char *url, const char *beneath)
{
	size_t size = strlen(beneath);
	return strncmp(url, beneath, size) == 0 && (url[size] == '\0' || url[size] == '/');
}

size_t url_encode(char *out, const char *path, size_t size, bool literal)
{
	static const char digits[] = "0123456789ABCDEF";
	char *to = out;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)path[i];
		bool encoded = !literal && c == '%' && size - i > 2 &&
			       hex_digit(path[i + 1]) >= 0 && hex_digit(path[i + 2]) >= 0;
		if (encoded || (c < 0x80 && isalnum(c)) || (c && strchr("-._~/", c))) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = digits[c >> 4];
		*to++ = digits[c & 15];
	}
	*to = '\0';
	return (size_t)(to - out);
}
