// SPDX-License-Identifier: MIT
#include "dataset/arrays/published.h"

#include "base/ending.h"
#include "base/quote.h"
#include "base/url.h"
#include "dataset/kind.h"

#define BYTES_MAX ((uint64_t)4 << 30) /* of the files, however large dataset-memory is */

struct bundle published_bundle(const struct dataset_spec *spec, const char *const *within,
			       struct dataset_progress *progress)
{
	uint64_t limit = dataset_account_limit(progress->account);
	return (struct bundle){
		.place = dataset_place(spec, spec->path),
		.within = within,
		.max_bytes = limit < BYTES_MAX ? limit : BYTES_MAX,
		.progress = progress,
	};
}

int published_say(const char *path, const char *file, const char *why, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, DATASET_E_OPEN, "cannot open the dataset %s: %s%s%s",
			 quote_text(&quote, path), file ? file : "", file ? ": " : "", why);
}

/* A condition of bundle.h as one of dataset.h. */
static int published_result(int result)
{
	if (result == BUNDLE_E_CANCELLED)
		return DATASET_E_CANCELLED;
	return result > 0 ? DATASET_E_OPEN : result;
}

int published_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		   struct fault *fault)
{
	return published_result(bundle_read(bundle, files, count, fault));
}

int published_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		   struct fault *fault)
{
	return published_result(bundle_list(bundle, head, seen, with, fault));
}

int published_check(const struct bundle *bundle, const struct bundle_file *files, size_t count,
		    struct fault *fault)
{
	for (size_t i = 0; i < count; i++) {
		if (!files[i].found)
			return published_say(bundle->place.path, files[i].name,
					     "the file is missing", fault);
	}
	return 0;
}

/* Would a look into it fetch all of it, although it is most likely tar shards? */
static bool is_far_tar(const char *path)
{
	return ends_in(path, ".tar") && url_scheme(path) != URL_NONE;
}

bool published_suits(const struct dataset_spec *spec, bool folder, const char *const *within,
		     const char *const *names)
{
	struct dataset_progress unlimited = {0};
	struct bundle bundle = {
		.place = dataset_place(spec, spec->path), .within = within, .progress = &unlimited};
	return (folder || (bundle_is_archive(spec->path) && !is_far_tar(spec->path))) &&
	       bundle_has(&bundle, names);
}
