/* SPDX-License-Identifier: MIT */
#include "client/ctl/index.h"

#include <errno.h>

#include "client/c/transforms.h"
#include "client/ctl/progress.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"
#include "proto/pack.h"

#define VALUE_MAX 256

/* Why files get no index: columns whose help says it. */
static const char *const reasons[] = {
	ROW_KEY(index, other),	  ROW_KEY(index, progressive), ROW_KEY(index, arithmetic),
	ROW_KEY(index, restarts), ROW_KEY(index, scans),       ROW_KEY(index, odd),
	ROW_KEY(index, damaged),  ROW_KEY(index, stale),       ROW_KEY(index, full),
	ROW_KEY(index, unread),
};

static int index_ask(struct control *control, struct packer *packer, const char *path,
		     const char *kind, const struct transforms *transforms, bool exif,
		     uint32_t *seq_out)
{
	struct message request = message_init(MESSAGE_INDEX);
	int r = control_dataset(control, packer, path, kind, &request.index.dataset.packed);
	if (r)
		return r;
	if (transforms)
		request.index.transforms.packed = transforms->packed;
	request.index.exif_orientation = exif;
	*seq_out = connection_seq(&control->connection);
	request.index.seq = *seq_out;
	return connection_send(&control->connection, &request, &control->fault);
}

int index_build(struct control *control, const char *path, const char *kind,
		const struct transforms *transforms, bool exif, bool show, json_t **values_out)
{
	struct packer *packer;
	uint32_t seq = 0;
	if (packer_new(&packer) < 0)
		return fault_say(&control->fault, -ENOMEM, "out of memory");
	int r = index_ask(control, packer, path, kind, transforms, exif, &seq);
	if (r == 0)
		r = progress_wait(control, seq, show, values_out);
	packer_free(packer);
	return r;
}

static void print_bytes(FILE *file, const char *before, const json_t *value, const char *behind)
{
	char text[VALUE_MAX];
	unit_write(value, UNIT_BYTES, text, sizeof(text));
	fprintf(file, "%s%s%s", before, text, behind);
}

void index_print(FILE *file, const json_t *values)
{
	char text[VALUE_MAX];
	bool kept = truth_of(values, ROW_KEY(index, kept));
	unit_write(json_object_get(values, ROW_KEY(index, path)), UNIT_NONE, text, sizeof(text));
	fprintf(file, "%s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " files indexed",
		text, whole_of(values, ROW_KEY(index, indexed)),
		whole_of(values, ROW_KEY(index, samples)));
	print_bytes(file, " (", json_object_get(values, ROW_KEY(index, index_bytes)), "");
	print_bytes(file, " for ", json_object_get(values, ROW_KEY(index, bytes_read)), ")");
	unit_write(json_object_get(values, ROW_KEY(index, seconds)), UNIT_SECONDS, text,
		   sizeof(text));
	fprintf(file, " in %s\n", text);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (whole_of(values, reasons[i]))
			fprintf(file, "  %" JSON_INTEGER_FORMAT " not indexed: %s\n",
				whole_of(values, reasons[i]),
				row_find(ROW_INDEX, reasons[i])->help);
	if (kept)
		print_bytes(file,
			    "saved on disk: ", json_object_get(values, ROW_KEY(index, kept_bytes)),
			    "\n");
	else
		fputs("in memory only, until the last trainer of this dataset leaves: the daemon "
		      "has no index-dir, or its log gives another reason\n",
		      file);
}
