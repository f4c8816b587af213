// SPDX-License-Identifier: MIT
#include "loop/state/bucket_forms.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/pack.h"

void bucket_forms_free(struct bucket_forms *forms)
{
	if (!forms)
		return;
	for (uint32_t i = 0; i < forms->count; i++)
		pipeline_free(forms->form[i].pipeline);
	bucket_order_free(forms->order);
	packer_free(forms->packer);
	free(forms);
}

static int pack_sizes(struct bucket_forms *forms)
{
	int r = packer_new(&forms->packer);
	if (r)
		return r;
	pack_list(forms->packer, forms->count);
	for (uint32_t i = 0; i < forms->count; i++) {
		pack_list(forms->packer, 2);
		pack_uint(forms->packer, forms->form[i].height);
		pack_uint(forms->packer, forms->form[i].width);
	}
	return packer_bytes(forms->packer, &forms->sizes);
}

static int form_init(struct bucket_form *form, const struct pipeline *pipeline, uint32_t bucket,
		     const struct dataset *dataset, const struct field_choice *choice,
		     struct fault *fault)
{
	uint32_t size[2];
	int r = pipeline_of_bucket(&form->pipeline, pipeline, bucket, fault);
	if (r)
		return r < 0 ? r : BUCKET_FORMS_E_PIPELINE;
	pipeline_size(form->pipeline, size);
	form->height = size[0];
	form->width = size[1];
	r = pipeline_check_work(form->pipeline, 0, 0, choice->views, fault);
	if (r)
		return r < 0 ? r : BUCKET_FORMS_E_PIPELINE;
	r = fields_init(&form->fields, dataset, form->pipeline, choice, fault);
	return r > 0 ? BUCKET_FORMS_E_FIELDS : r;
}

int bucket_forms_new(struct bucket_forms **out, struct bucket_order *order,
		     const struct pipeline *pipeline, const struct dataset *dataset,
		     const struct field_choice *choice, struct fields *fields_out,
		     struct fault *fault)
{
	uint32_t count = pipeline_buckets(pipeline);
	struct bucket_forms *forms = calloc(1, sizeof(*forms) + count * sizeof(*forms->form));
	if (!forms) {
		bucket_order_free(order);
		return -ENOMEM;
	}
	forms->order = order;
	int r = 0;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		forms->count++;
		r = form_init(&forms->form[i], pipeline, i, dataset, choice, fault);
	}
	r = r ? r : pack_sizes(forms);
	if (r) {
		bucket_forms_free(forms);
		return r;
	}
	*fields_out = forms->form[0].fields;
	for (uint32_t i = 1; i < count; i++)
		fields_join(fields_out, &forms->form[i].fields);
	fields_make_sized(fields_out, pipeline);
	*out = forms;
	return 0;
}
