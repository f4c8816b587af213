/* SPDX-License-Identifier: MIT */
/*
 * The command line of a conformance program, for those of C and C++: the JSON of a request, and
 * transforms and samplers as libstoker's texts. Its memory is never freed: a program reads one.
 */
#ifndef STOKER_CONFORMANCE_REQUEST_H
#define STOKER_CONFORMANCE_REQUEST_H

#include <stdint.h>

#include "client/c/stoker.h"

#ifdef __cplusplus
extern "C" {
#endif

struct request {
	void *root; /* jansson's: all texts are its own; it stays until the program ends */
	struct stoker_options options;
	uint64_t take;	   /* leave after so many batches; 0: at the end */
	uint64_t pause;	   /* after so many batches wait for a line; 0: never */
	uint64_t hold;	   /* batches that are kept beside the one that is read ... */
	uint64_t keep;	   /* ... and, of the first ones, to the end */
	uint64_t credit;   /* after so many batches ... */
	uint32_t inflight; /* ... set inflight to this; 0: never */
	int timeout_ms;
	const char *token; /* its JSON, that of the options; NULL: none */
	int classes, again, measure, stats;
	uint64_t paths[8]; /* of these samples */
	uint32_t n_paths;
	struct request_place {
		uint64_t epoch, position;
	} replay[8]; /* of batches to be read again, after the first */
	uint32_t n_replay;
	struct request_credentials {
		const char *url, *key, *secret, *token;
		uint64_t expires;
	} credentials[4], refresh[4]; /* up to the one without a URL */
	struct request_produce {
		const char *gives;    /* as docs/LANGUAGES.md has it; NULL: it is no producer */
		const char *map;      /* the code of the Map; NULL: samples of the dataset */
		int64_t fails, wrong; /* the sample that does, or is; -1: none */
	} produce;
};

/* Ends the program with a message if the text is no request that libstoker can take. */
void request_read(struct request *out, const char *text);

#ifdef __cplusplus
}
#endif

#endif
