/* SPDX-License-Identifier: MIT */
/*
 * Access: what a client may have the daemon read for it. Root and the daemon's own user: whatever
 * the daemon can. Everybody else: what a descriptor shows that came with the request, what a rule
 * allows (config/roots.h), and what credentials open that its user sent
 * (storage/remote/user_keys.h), which it is asked for with then; else nothing.
 *
 * A descriptor shows that its sender could open what it is of; what lies beneath a folder is asked
 * for as it is opened, by the sender's rights and the daemon's (storage/local_rights.h).
 * Paths are compared as texts and no file is looked at, so a refusal tells nobody what exists;
 * the folder of the rule that allowed a path goes with it, and whoever opens it stays beneath that.
 * Asked again for each request: a reload is in force with the next one. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_ACCESS_H
#define STOKER_LOOP_POLICY_ACCESS_H

#include "base/fault.h"

struct core;
struct credentials;
struct dataset_spec;
struct descriptors;
struct sampler_spec;

enum {
	ACCESS_E_REFUSED = 1, /* the words say what to do; the log knows */
	ACCESS_E_ARGUMENT,    /* no such descriptor came, or one that shows nothing */
};

/* Say in the description how far its paths may lead for this client. 0, ACCESS_E_REFUSED or
 * -ENOMEM. */
int access_dataset(const struct core *core, const struct credentials *client,
		   struct descriptors *given, struct dataset_spec *spec, struct fault *fault);
/* Can this client open a ring by its path? 0 or ACCESS_E_REFUSED. */
int access_ring(const struct core *core, const struct credentials *client, struct fault *fault);
/* Both of a stream; dataset NULL: its sampler alone. */
int access_stream(const struct core *core, const struct credentials *client,
		  struct descriptors *given, struct dataset_spec *dataset,
		  struct sampler_spec *sampler, struct fault *fault);

#endif
