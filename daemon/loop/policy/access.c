// SPDX-License-Identifier: MIT
#include "loop/policy/access.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/credentials.h"
#include "base/log_user.h"
#include "base/quote.h"
#include "config/roots.h"
#include "loop/os/descriptors.h"
#include "loop/state/core.h"
#include "work/sampler.h"

struct access {
	const struct roots *roots;
	const struct credentials *client;
};

static const char *access_cover(const void *context, const char *path)
{
	const struct access *access = context;
	return roots_cover(access->roots, access->client, path);
}

static int access_refuse(const struct core *core, const struct credentials *client,
			 const char *path, struct fault *fault)
{
	struct quote quote;
	const char *name = quote_text(&quote, path);
	log_user(client->uid, LOG_DATASETS, LOG_LEVEL_WARNING,
		 "user %u may not have %s read: no dataset-root allows it", (unsigned)client->uid,
		 name);
	return fault_say(fault, ACCESS_E_REFUSED,
			 "user %u may not have %s read by this daemon, which runs as user %u: run "
			 "a daemon of your own, or have a line dataset-root = FOLDER (or "
			 "FOLDER:GROUP, FOLDER:@USER) put into %s and stokerctl reload run",
			 (unsigned)client->uid, name, (unsigned)geteuid(), core->config->path);
}

/* For dataset_spec_take_given(). */
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
	const struct access access = {core->config->dataset_roots, client};
	const char *path;
	bool own = credentials_are_own(client);
	int r = dataset_spec_take_given(spec, access_take, given, own ? NULL : client, fault);
	if (r)
		return r > 0 ? ACCESS_E_ARGUMENT : r;
	if (own) {
		dataset_spec_trust(spec);
		return 0;
	}
	r = dataset_spec_confine(spec, access_cover, &access, &path);
	return r > 0 ? access_refuse(core, client, path, fault) : r;
}

static int access_sampler(const struct core *core, const struct credentials *client,
			  struct descriptors *given, struct sampler_spec *spec, struct fault *fault)
{
	const struct access access = {core->config->dataset_roots, client};
	if (!spec->path)
		return 0;
	if (spec->named) {
		spec->fd = access_take(given, spec->number_of_fd, fault);
		spec->held = spec->fd >= 0;
		return spec->held ? 0 : ACCESS_E_ARGUMENT;
	}
	spec->anywhere = credentials_are_own(client);
	if (spec->anywhere)
		return 0;
	const char *beneath = access_cover(&access, spec->path);
	if (!beneath)
		return access_refuse(core, client, spec->path, fault);
	spec->beneath = strdup(beneath);
	return spec->beneath ? 0 : -ENOMEM;
}

int access_stream(const struct core *core, const struct credentials *client,
		  struct descriptors *given, struct dataset_spec *dataset,
		  struct sampler_spec *sampler, struct fault *fault)
{
	int r = access_dataset(core, client, given, dataset, fault);
	return r ? r : access_sampler(core, client, given, sampler, fault);
}
