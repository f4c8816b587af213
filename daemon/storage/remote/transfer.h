/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests, one at a time on the thread that wants the answer, and tried again where a further
 * try may help: after 408, 429 and 5xx, broken and stalled connections, bodies that are cut. The
 * pauses grow and are drawn at random; a Retry-After is kept. Nobody tries for longer than
 * TRANSFER_DEADLINE_S; a server that never answered yet gets a few tries only, so that a wrong name
 * is said at once.
 *
 * Owns the connections of one opened folder, which are kept alive between requests; each request
 * has one of its own, so as many are under way as threads read. Any number of threads. The door to
 * libcurl. Knows no storage's names, and logs nothing: requests are signed here, and no secret
 * leaves this file but in a signature.
 */
#ifndef STOKER_STORAGE_REMOTE_TRANSFER_H
#define STOKER_STORAGE_REMOTE_TRANSFER_H

#include "base/buffer.h"
#include "storage/remote/response.h"
#include "storage/storage.h"

#define TRANSFER_DEADLINE_S 60
#define TRANSFER_STALL_S 10			/* without a byte */
#define TRANSFER_ERROR_BYTES ((size_t)64 << 10) /* kept of the body of an error */

enum {
	TRANSFER_E_FAILED = 1, /* no answer; the words say why */
	TRANSFER_E_LIMIT,      /* the body is larger than max_bytes; answer.length is its size */
};

struct transfers;

/* Signer of requests: borrowed; NULL texts are not sent. */
struct transfer_signer {
	const char *key, *secret, *token; /* of S3 */
	const char *region;
};

struct transfer_request {
	const char *url;
	bool head;		    /* no body */
	struct storage_range range; /* STORAGE_WHOLE asks for no range */
	uint64_t max_bytes;
	const struct transfer_signer *signer; /* NULL: the request is not signed */
	bool put;			      /* instead of a GET; without a body */
	const char *form;		      /* a POST of these fields; NULL: none */
	const char *const *headers; /* further lines of the head, NULL ends them; or NULL */
	unsigned deadline_s;	    /* 0: TRANSFER_DEADLINE_S; else one try that lasts no longer */
	bool direct;		    /* through no proxy */
	bool follow;	   /* redirects; never with a signature, never from https to http */
	bool outside_only; /* no address of this machine or link */
};

/* Certificates are checked by the file that AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE names in
 * the environment, else by the system's. 0 or -ENOMEM. */
int transfers_new(struct transfers **out);
void transfers_free(struct transfers *transfers); /* no request may be under way */

/* The answer, of any status that is final; the body of a 200 or 206 is in `buffer`, whole, that of
 * an error cut to TRANSFER_ERROR_BYTES. 0, TRANSFER_E_FAILED, TRANSFER_E_LIMIT or -ENOMEM. */
int transfer_run(struct transfers *transfers, const struct transfer_request *request,
		 struct buffer *buffer, struct response *response_out, struct fault *fault);

/* Counts of all requests of the process. */
struct storage_counts transfer_counts(void);

/* All requests of the process fail from now on, also those under way: the daemon ends. */
void transfer_stop(void);

#endif
