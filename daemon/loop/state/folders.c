// SPDX-License-Identifier: MIT
#include "loop/state/folders.h"

#include <errno.h>
#include <string.h>

#include "config.h"
#include "loop/state/pictures.h"
#include "loop/state/staging.h"

void folder_note(struct folder_report *report, int condition, bool full, const struct fault *why)
{
	report->full = condition && full;
	report->refused = condition && !full;
	if (condition)
		report->why = *why;
	else
		report->why.text[0] = '\0';
}

/* 0: the last write went well. */
static int last_error(const struct pictures *pictures, const struct staging *staging)
{
	int error = pictures->disk ? atomic_load(&pictures->disk->refusal) : 0;
	return error || !staging->stage ? error : stage_totals(staging->stage).refusal;
}

struct folder_report folders_cache(const struct config *config, const struct fault *opened,
				   const struct pictures *pictures, const struct staging *staging)
{
	struct folder_report report = {.off = !config->cache_dir};
	const struct fault *const faults[] = {opened, &pictures->why, &staging->why};
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i]->text[0]) {
			folder_note(&report, 1, false, faults[i]);
			return report;
		}
	struct fault why;
	int error = last_error(pictures, staging);
	if (error) {
		fault_say(&why, 0, "%s: %s", config->cache_dir, strerror(error));
		folder_note(&report, 1, error == ENOSPC || error == EDQUOT, &why);
	}
	return report;
}
