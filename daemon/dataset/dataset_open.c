// SPDX-License-Identifier: MIT
/* The opening of datasets: checks how far a description may lead, and chooses its kind. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/joined.h"
#include "dataset/kind.h"
#include "dataset/shards/shard_names.h"
#include "dataset/shards/tar.h"
#include "dataset/shards/tfrecord.h"
#include "storage/storage.h"

static int dataset_choose_kind(const struct dataset_kind **out, const struct dataset_spec *spec,
			       struct fault *fault)
{
	struct quote quote;
	bool folder;
	if (spec->parts) {
		*out = &joined_kind;
		return 0;
	}
	if (spec->kind) {
		*out = kind_named(spec->kind);
		assert(*out); /* dataset_spec_parse() checked it */
		return 0;
	}
	const struct storage_place place = dataset_place(spec, spec->path);
	int error = storage_look(&place, &folder);
	if (error == -ENOENT && shard_names_is_pattern(spec->path)) {
		*out = tfrecord_kind.suits(spec, false) ? &tfrecord_kind : &tar_kind;
		return dataset_spec_check(spec, *out, fault);
	}
	if (error)
		return fault_say(fault, DATASET_E_OPEN, "cannot open the dataset %s: %s%s",
				 quote_text(&quote, spec->path), strerror(-error),
				 error == -EACCES ? " to the daemon's user" : "");
	*out = kind_of_path(spec, folder);
	return dataset_spec_check(spec, *out, fault);
}

/* Refuse a path that leads out, whatever stands there. */
static int dataset_check_reach(const struct dataset_spec *spec, struct fault *fault)
{
	const char *const paths[] = {spec->path, spec->root, spec->labels};
	struct quote quote;
	bool folder;
	if (spec->anywhere || spec->parts)
		return 0;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct storage_place place = dataset_place(spec, paths[i]);
		if (!place.path || !storage_of(place.path))
			continue;
		int error = storage_look(&place, &folder);
		if (error == -EXDEV)
			return fault_say(fault, DATASET_E_PERMISSION,
					 "cannot open the dataset %s: " STORAGE_LEADS_OUT
					 " (dataset-root): give a path below one, or ask "
					 "the administrator for another line",
					 quote_text(&quote, place.path));
		if (error == -ENOSYS || error == -EPERM)
			return fault_say(fault, DATASET_E_OPEN, STORAGE_LACKS_OPENAT2 " (%s)",
					 strerror(-error));
	}
	return 0;
}

int dataset_open(struct dataset **out, const struct dataset_spec *spec,
		 struct dataset_progress *progress, struct fault *fault)
{
	const struct dataset_kind *kind = NULL;
	progress->open_part = dataset_open;
	int result = dataset_check_reach(spec, fault);
	if (!result)
		result = dataset_choose_kind(&kind, spec, fault);
	return result ? result : dataset_open_as(out, kind, spec, progress, fault);
}
