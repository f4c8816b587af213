/* SPDX-License-Identifier: MIT */
/*
 * The head of an HTTP/1 request, from any bytes: a GET without a body, and what of its headers is
 * looked at. Pure; knows no socket and no page.
 */
#ifndef STOKER_LOOP_WATCH_HTTP_REQUEST_H
#define STOKER_LOOP_WATCH_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX 8192 /* bytes of a head */
#define HTTP_HEADERS_MAX 64
#define HTTP_PATH_MAX 64
#define HTTP_VALUE_MAX 256 /* of a header that is looked at */

struct http_request {
	char path[HTTP_PATH_MAX];    /* without what follows a '?' */
	char host[HTTP_VALUE_MAX];   /* "": none was given */
	char accept[HTTP_VALUE_MAX]; /* cut to fit: what it begins with counts */
	char token[HTTP_VALUE_MAX];  /* of "Authorization: Bearer TOKEN" */
	bool head;		     /* HEAD: as GET, without the body */
};

enum {
	HTTP_REQUEST_E_MORE = 1, /* it is not whole yet */
	HTTP_REQUEST_E_BAD,	 /* 400: it is no request */
	HTTP_REQUEST_E_METHOD,	 /* 405: neither GET nor HEAD */
	HTTP_REQUEST_E_LARGE,	 /* 431: the head is too long, or has too many headers */
	HTTP_REQUEST_E_PATH,	 /* 414: longer than any page's */
};

/* 0, or a condition; `out` is written only on 0. */
int http_request_parse(struct http_request *out, const char *data, size_t size);

#endif
