// SPDX-License-Identifier: MIT
#include "storage/remote/certificates.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* A libcurl that came from another distribution, as in the wheel, looks where that one has the
 * certificates: then at the places of the others. NULL: libcurl finds them. */
static const char *find_of_system(const char *file, const char *folder)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Gentoo */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
		"/etc/ssl/ca-bundle.pem",	      /* openSUSE */
		"/etc/ssl/cert.pem",		      /* Alpine */
	};
	bool there = file ? access(file, R_OK) == 0 : folder && access(folder, R_OK) == 0;
	if (there)
		return NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

const char *certificates_find(const char *file, const char *folder)
{
	static const char *const variables[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *path = getenv(variables[i]);
		if (path && *path)
			return path;
	}
	return find_of_system(file, folder);
}
