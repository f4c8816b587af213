/* SPDX-License-Identifier: MIT */
#include "client/ctl/index.h"

#include <errno.h>

#include "client/c/path.h"
#include "client/ctl/progress.h"
#include "client/ctl/unit.h"
#include "proto/pack.h"

#define VALUE_MAX 256

/* What a dataset may be full of that gets no index, as people call it. */
static const struct {
	const char *key, *text;
} reasons[] = {
	{"other", "no JPEGs"},
	{"progressive", "progressive"},
	{"arithmetic", "arithmetic coding"},
	{"restarts", "with a restart interval"},
	{"scans", "of several scans"},
	{"odd", "with an unusual header"},
	{"damaged", "damaged or cut short"},
	{"stale", "not the file they were"},
	{"full", "for which index-memory has no room"},
	{"unread", "that cannot be read, or are no image"},
};

static json_int_t number_of(const json_t *values, const char *key)
{
	return json_integer_value(json_object_get(values, key));
}

static int index_ask(struct control *control, struct packer *packer, const char *path,
		     uint32_t *seq_out)
{
	struct message request = message_init(MESSAGE_INDEX);
	pack_map(packer, 1);
	pack_key_string(packer, "path", path);
	if (packer_bytes(packer, &request.index.dataset.packed) < 0)
		return fault_say(&control->fault, -ENOMEM, "out of memory");
	*seq_out = connection_seq(&control->connection);
	request.index.seq = *seq_out;
	return connection_send(&control->connection, &request, &control->fault);
}

int index_build(struct control *control, const char *path, bool show, json_t **values_out)
{
	struct packer *packer;
	uint32_t seq = 0;
	char whole[PATH_WHOLE_MAX];
	int r = path_whole(path, whole, &control->fault);
	if (r)
		return r;
	if (packer_new(&packer) < 0)
		return fault_say(&control->fault, -ENOMEM, "out of memory");
	r = index_ask(control, packer, whole, &seq);
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
			fprintf(file, "  %" JSON_INTEGER_FORMAT " %s\n",
				number_of(values, reasons[i].key), reasons[i].text);
	if (kept)
		print_bytes(file, "kept on the disk: ", json_object_get(values, "kept_bytes"),
			    "\n");
	else
		fputs("in memory only, until the dataset's last trainer leaves: the daemon has no "
		      "index-dir, or its log says why not\n",
		      file);
}
