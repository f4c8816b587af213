/* SPDX-License-Identifier: MIT */
#include "client/ctl/index.h"

#include <errno.h>

#include "client/c/transforms.h"
#include "client/ctl/progress.h"
#include "client/ctl/show/unit.h"
#include "proto/pack.h"

#define VALUE_MAX 256

/* Files that get no index: the key in the report, and why. */
static const struct {
	const char *key, *text;
} reasons[] = {
	{"other", "not JPEG"},
	{"progressive", "progressive JPEG"},
	{"arithmetic", "arithmetic coding"},
	{"restarts", "restart intervals"},
	{"scans", "several scans"},
	{"odd", "unusual header"},
	{"damaged", "damaged, but can be decoded"},
	{"stale", "file changed"},
	{"full", "index-memory is full"},
	{"unread", "cannot be read or decoded"},
};

static json_int_t number_of(const json_t *values, const char *key)
{
	return json_integer_value(json_object_get(values, key));
}

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
	bool kept = json_is_true(json_object_get(values, "kept"));
	unit_write(json_object_get(values, "path"), UNIT_PLAIN, text, sizeof(text));
	fprintf(file, "%s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " files indexed",
		text, number_of(values, "indexed"), number_of(values, "samples"));
	print_bytes(file, " (", json_object_get(values, "index_bytes"), "");
	print_bytes(file, " for ", json_object_get(values, "bytes_read"), ")");
	unit_write(json_object_get(values, "seconds"), UNIT_SECONDS, text, sizeof(text));
	fprintf(file, " in %s\n", text);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (number_of(values, reasons[i].key))
			fprintf(file, "  %" JSON_INTEGER_FORMAT " not indexed: %s\n",
				number_of(values, reasons[i].key), reasons[i].text);
	if (kept)
		print_bytes(file, "saved on disk: ", json_object_get(values, "kept_bytes"), "\n");
	else
		fputs("in memory only, until the last trainer of this dataset leaves: the daemon "
		      "has no index-dir, or its log gives another reason\n",
		      file);
}
