/* SPDX-License-Identifier: MIT */
#include "client/ctl/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/c/transforms.h"
#include "client/ctl/command.h"
#include "client/ctl/index.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define VALUE_MAX 256
/* List of transforms that only says at what scale pictures are to be decoded: at none but their
 * own. */
#define WHOLE "CenterCrop(size=1)"

static int pin_run(struct control *control, const char *text, bool pinned, json_t **values_out)
{
	char *end;
	uint64_t dataset = strtoull(text, &end, 10);
	if (end == text || *end)
		return fault_say(&control->fault, -EINVAL,
				 "'%s' is no number of a dataset: stokerctl cache lists them",
				 text);
	int r = control_pin(control, dataset, pinned);
	if (r)
		return r;
	*values_out = json_pack("{sb}", "pinned", pinned);
	return *values_out ? 0 : fault_say(&control->fault, -ENOMEM, "out of memory");
}

int warm_run(struct control *control, const struct invocation *invocation, json_t **values_out)
{
	const char *text = invocation->transforms ? invocation->transforms : WHOLE;
	bool show = !invocation->json && isatty(STDERR_FILENO);
	struct transforms transforms = {0};
	const char *what = invocation->arguments[0];
	if (strcmp(what, "pin") == 0 || strcmp(what, "unpin") == 0)
		return pin_run(control, invocation->arguments[1], *what == 'p', values_out);
	if (strcmp(what, "warm") != 0)
		return fault_say(&control->fault, -EINVAL,
				 "cache %s: only warm, pin or unpin and a dataset may stand behind "
				 "cache",
				 what);
	int r = transforms_parse(&transforms, text, &control->fault);
	if (r == 0)
		r = index_build(control, invocation->arguments[1], invocation->kind, &transforms,
				invocation->exif, show, values_out);
	transforms_deinit(&transforms);
	return r;
}

static const char *shown(const json_t *values, const char *key, enum unit unit, char *text)
{
	unit_write(json_object_get(values, key), unit, text, VALUE_MAX);
	return text;
}

void warm_print(FILE *file, const json_t *values)
{
	char first[VALUE_MAX], second[VALUE_MAX];
	if (json_object_get(values, "pinned"))
		return; /* nothing to say, as of drop */
	json_int_t samples = whole_of(values, ROW_KEY(warm, samples)),
		   visited = whole_of(values, ROW_KEY(warm, visited));
	json_int_t files = whole_of(values, ROW_KEY(warm, files)),
		   unread = whole_of(values, ROW_KEY(warm, unread));
	fprintf(file, "%s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " files visited",
		shown(values, ROW_KEY(warm, path), UNIT_NONE, first), visited, samples);
	fprintf(file, " in %s\n", shown(values, ROW_KEY(warm, seconds), UNIT_SECONDS, first));
	fprintf(file, "  in memory: %" JSON_INTEGER_FORMAT " pictures",
		whole_of(values, ROW_KEY(warm, pictures)));
	if (files)
		fprintf(file, " and %" JSON_INTEGER_FORMAT " rewritten files", files);
	fprintf(file, ", %s of %s for all datasets\n",
		shown(values, ROW_KEY(warm, bytes), UNIT_BYTES, first),
		shown(values, ROW_KEY(warm, limit), UNIT_BYTES, second));
	if (truth_of(values, ROW_KEY(warm, disk)))
		fprintf(file, "  on disk: %" JSON_INTEGER_FORMAT " pictures\n",
			whole_of(values, ROW_KEY(warm, stored)));
	if (unread)
		fprintf(file, "  cannot be read or decoded: %" JSON_INTEGER_FORMAT " files\n",
			unread);
	if (visited < samples)
		fputs("  the others were not visited: there is no room for more\n", file);
	fprintf(file,
		"dataset %" JSON_INTEGER_FORMAT
		" stays open, as it is now, until ten minutes after "
		"its last reader, or stokerctl drop %" JSON_INTEGER_FORMAT "\n",
		whole_of(values, ROW_KEY(warm, dataset)), whole_of(values, ROW_KEY(warm, dataset)));
}
