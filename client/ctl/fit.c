/* SPDX-License-Identifier: MIT */
#include "client/ctl/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/attach.h"
#include "client/c/transforms.h"
#include "client/ctl/progress.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"
#include "proto/pack.h"

#define VALUE_MAX 256

/* A number from the command line; nothing is packed if it is not given. */
static int pack_option(struct packer *packer, const char *text, const char *name, struct text *out,
		       struct fault *fault)
{
	char *end;
	double number = text ? strtod(text, &end) : 0.0;
	if (!text)
		return 0;
	if (!*text || *end || !(number > -1e9 && number < 1e9))
		return fault_say(fault, -EINVAL, "%s: '%s' is not a number: give it one", name,
				 text);
	packer_clear(packer);
	pack_float(packer, number);
	return packer_bytes(packer, out) < 0 ? fault_say(fault, -ENOMEM, "out of memory") : 0;
}

struct packers {
	struct packer *dataset, *rescale, *epsilon;
};

static int fit_ask(struct control *control, const struct fit *fit, const struct packers *packers,
		   struct transforms *transforms, uint32_t *seq_out)
{
	struct fault *fault = &control->fault;
	struct message request = message_init(MESSAGE_FIT);
	struct message_fit *message = &request.fit;
	const char *resize, *note;
	int r = control_dataset(control, packers->dataset, fit->dataset, fit->kind,
				&message->dataset.packed);
	if (r == 0)
		r = pack_option(packers->rescale, fit->rescale, "--rescale",
				&message->rescale.packed, fault);
	if (r == 0)
		r = pack_option(packers->epsilon, fit->epsilon, "--zca-epsilon",
				&message->zca_epsilon.packed, fault);
	if (r == 0 && fit->transforms)
		r = transforms_parse(transforms, fit->transforms, fault);
	if (r)
		return r;
	if (fit->transforms)
		message->transforms.packed = transforms->packed;
	const char *asked = transforms->resize[0] ? transforms->resize : NULL;
	r = attach_resize(asked, control->connection.resizes, &resize, &note, fault);
	if (r)
		return r;
	if (control->connection.resizes)
		message->resize = (struct text){resize, strlen(resize)};
	if (fit->name)
		message->name = (struct text){fit->name, strlen(fit->name)};
	message->per_pixel = fit->per_pixel;
	message->zca = fit->zca;
	*seq_out = connection_seq(&control->connection);
	message->seq = *seq_out;
	return connection_send(&control->connection, &request, fault);
}

int fit_run(struct control *control, const struct fit *fit, bool show, json_t **values_out)
{
	struct packers packers = {0};
	struct transforms transforms = {0};
	uint32_t seq = 0;
	int r = 0;
	if (packer_new(&packers.dataset) < 0 || packer_new(&packers.rescale) < 0 ||
	    packer_new(&packers.epsilon) < 0)
		r = fault_say(&control->fault, -ENOMEM, "out of memory");
	if (r == 0)
		r = fit_ask(control, fit, &packers, &transforms, &seq);
	if (r == 0)
		r = progress_wait(control, seq, show, values_out);
	transforms_deinit(&transforms);
	packer_free(packers.dataset);
	packer_free(packers.rescale);
	packer_free(packers.epsilon);
	return r;
}

static void print_channels(FILE *file, const json_t *values, const char *key)
{
	const json_t *list = json_object_get(values, key);
	fprintf(file, "  %-5s", key);
	for (size_t i = 0; i < json_array_size(list); i++)
		fprintf(file, " %.9g", json_number_value(json_array_get(list, i)));
	fputc('\n', file);
}

void fit_print(FILE *file, const json_t *values)
{
	char text[VALUE_MAX];
	unit_write(json_object_get(values, ROW_KEY(fit, path)), UNIT_NONE, text, sizeof(text));
	fprintf(file,
		"%s: statistics '%s' of %" JSON_INTEGER_FORMAT " images of %" JSON_INTEGER_FORMAT
		" x %" JSON_INTEGER_FORMAT,
		text, text_of(values, ROW_KEY(fit, name)), whole_of(values, ROW_KEY(fit, samples)),
		whole_of(values, ROW_KEY(fit, width)), whole_of(values, ROW_KEY(fit, height)));
	unit_write(json_object_get(values, ROW_KEY(fit, seconds)), UNIT_SECONDS, text,
		   sizeof(text));
	fprintf(file, " in %s\n", text);
	print_channels(file, values, ROW_KEY(fit, mean));
	print_channels(file, values, ROW_KEY(fit, std));
	fprintf(file, "  digest %s%s\n", text_of(values, ROW_KEY(fit, digest)),
		truth_of(values, ROW_KEY(fit, zca)) ? ", with the ZCA matrix" : "");
	if (whole_of(values, ROW_KEY(fit, unread)))
		fprintf(file,
			"  without %" JSON_INTEGER_FORMAT
			" files that could not be read or decoded\n",
			whole_of(values, ROW_KEY(fit, unread)));
	fputs(truth_of(values, ROW_KEY(fit, kept))
		      ? "saved on disk\n"
		      : "in memory only, until the daemon ends: it has no index-dir, its "
			"index-memory is 0, or its log gives another reason\n",
	      file);
}
