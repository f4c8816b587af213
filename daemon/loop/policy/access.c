// SPDX-License-Identifier: MIT
#include "loop/policy/access.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/credentials.h"
#include "base/log_user.h"
#include "base/quote.h"
#include "config/roots.h"
#include "loop/os/descriptors.h"
#include "loop/state/core.h"
#include "loop/state/user.h"
#include "sampler/sampler.h"
#include "storage/remote/user_keys.h"

struct access {
	const struct roots *roots;
	const struct credentials *client;
	struct user_keys *user_keys; /* that the client's user sent; NULL: none */
};

static struct access access_of(const struct core *core, const struct credentials *client)
{
	const struct user *user = user_find(core->users, client->uid);
	return (struct access){core->config->dataset_roots, client, user ? user->user_keys : NULL};
}

static const char *access_cover(const void *context, const char *path)
{
	const struct access *access = context;
	const char *own = user_keys_cover(access->user_keys, path);
	return own ? own : roots_cover(access->roots, access->client, path);
}

static int access_refuse(const struct core *core, const struct credentials *client,
			 const char *path, struct fault *fault)
{
	struct quote quote;
	const char *name = quote_text(&quote, path);
	log_user(client->uid, LOG_DATASETS, LOG_LEVEL_WARNING,
		 "user %u may not have %s read: no dataset-root allows it; add one for it to the "
		 "daemon's configuration",
		 (unsigned)client->uid, name);
	return fault_say(fault, ACCESS_E_REFUSED,
			 "user %u may not have %s read by this daemon, which runs as user %u: run "
			 "a daemon of your own, or have a line dataset-root = FOLDER (or "
			 "FOLDER:GROUP, FOLDER:@USER) put into %s and stokerctl reload run",
			 (unsigned)client->uid, name, (unsigned)geteuid(), core->config->path);
}

/* For dataset_spec_take_descriptors(). */
static int access_take(void *context, uint32_t number, struct fault *fault)
{
	int fd = descriptors_take(context, number);
	if (fd == -EBADF)
		return fault_say(fault, fd,
				 "descriptor %u was named and did not come, or was named twice",
				 (unsigned)number);
	if (fd < 0)
		return fault_say(fault, fd,
				 "descriptor %u does not show that its sender may read: open it "
				 "with O_RDONLY, not O_PATH",
				 (unsigned)number);
	return fd;
}

int access_dataset(const struct core *core, const struct credentials *client,
		   struct descriptors *given, struct dataset_spec *spec, struct fault *fault)
{
	const struct access access = access_of(core, client);
	const char *path;
	bool own = credentials_are_own(client);
	int r = dataset_spec_take_descriptors(spec, access_take, given, own ? NULL : client, fault);
	if (r)
		return r > 0 ? ACCESS_E_ARGUMENT : r;
	if (own)
		dataset_spec_trust(spec);
	else
		r = dataset_spec_confine(spec, access_cover, &access, &path);
	if (r == 0)
		dataset_spec_lend(spec, access.user_keys);
	return r > 0 ? access_refuse(core, client, path, fault) : r;
}

int access_ring(const struct core *core, const struct credentials *client, struct fault *fault)
{
	mode_t mode = core->config->shm_mode;
	bool member = credentials_is_member(client, getegid());
	if (credentials_are_own(client) || (mode & (member ? S_IRGRP : S_IROTH)))
		return 0;
	return fault_say(fault, ACCESS_E_REFUSED,
			 "uid %u cannot open rings by path, whose mode is %04o: take descriptors "
			 "(accept_fd), or have the daemon's shm-mode set, to 0640 for its group or "
			 "to 0644 for all",
			 (unsigned)client->uid, (unsigned)mode);
}

static int access_sampler(const struct core *core, const struct credentials *client,
			  struct descriptors *given, struct sampler_spec *spec, struct fault *fault)
{
	if (!spec->path)
		return 0;
	if (spec->named) {
		spec->fd = access_take(given, spec->number_of_fd, fault);
		spec->held = spec->fd >= 0;
		struct stat stat;
		spec->nameless = spec->held && fstat(spec->fd, &stat) == 0 && stat.st_nlink == 0;
		return spec->held ? 0 : ACCESS_E_ARGUMENT;
	}
	spec->anywhere = credentials_are_own(client);
	if (spec->anywhere)
		return 0;
	/* By a rule alone: the list is not read with what the client sent. */
	const char *beneath = roots_cover(core->config->dataset_roots, client, spec->path);
	if (!beneath)
		return access_refuse(core, client, spec->path, fault);
	spec->beneath = strdup(beneath);
	return spec->beneath ? 0 : -ENOMEM;
}

int access_stream(const struct core *core, const struct credentials *client,
		  struct descriptors *given, struct dataset_spec *dataset,
		  struct sampler_spec *sampler, struct fault *fault)
{
	int r = dataset ? access_dataset(core, client, given, dataset, fault) : 0;
	return r ? r : access_sampler(core, client, given, sampler, fault);
}
