/* SPDX-License-Identifier: MIT */
/*
 * A daemon for the tests of libstoker: a thread that takes one connection after the other and runs
 * a script on each, as honest or as hostile as the test likes. The ring is real: a sealed memfd
 * with float32 images of 2 x 3, an int64 label and index, slot i holding i everywhere.
 */
#ifndef STOKER_TESTS_FAKE_H
#define STOKER_TESTS_FAKE_H

#include <pthread.h>
#include <stdbool.h>

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "proto/frame.h"
#include "proto/message.h"

#define FAKE_SLOTS 8
#define FAKE_RING 7 /* its number */
#define FAKE_HASH "0123456789abcdef0123456789abcdef"

struct fake;
typedef void fake_script(struct fake *fake);

struct fake {
	char folder[32], path[64];
	int listener, socket;
	pthread_t thread;
	fake_script *script;
	struct frame_reader in;
	struct decoder_memory *memory;
	struct message heard; /* what fake_hear() heard last */
	int releases;	      /* heard by fake_hear_kind(), which skips them */
	uint64_t last_lease;
	uint32_t variant; /* which of several mistakes the script makes */
};

void fake_start(struct fake *fake, fake_script *script);
void fake_stop(struct fake *fake); /* joins the thread */

/* The same with a client: connected and attached to what the script serves, or the test fails. */
struct stoker *fake_serve(struct fake *fake, fake_script *script,
			  const struct stoker_options *options);
void fake_leave(struct fake *fake, struct stoker *stoker);	  /* frees the client first */
void assert_says(const struct stoker *stoker, const char *words); /* in its last error */

/* For scripts. Hearing: false at the end of the connection. */
bool fake_hear(struct fake *fake);
bool fake_hear_kind(struct fake *fake,
		    enum message_kind kind); /* RELEASEs on the way are counted */
void fake_say(struct fake *fake, const struct message *message, int fd);
void fake_say_bytes(struct fake *fake, const void *bytes, size_t size, const int *fds, int n_fds);
void fake_welcome(struct fake *fake);		       /* hears HELLO first */
struct message fake_attached(const struct fake *fake); /* the answer to the ATTACH just heard */
void fake_attach(struct fake *fake);		       /* hears ATTACH, answers, passes a ring */
struct message fake_batch(uint64_t lease, uint64_t position, struct run run);
/* Batch `n` of four samples, counted over the epochs; its lease is n + 1. */
struct message fake_batch_number(uint64_t n, struct run run);
void fake_error(struct fake *fake, uint64_t seq, unsigned code);

/* The honest header of the fake's ring, and a descriptor that begins with `header`. */
struct segment_header fake_header(void);
uint64_t fake_ring_bytes(void);
int fake_ring(const struct segment_header *header, unsigned seals);

#endif
