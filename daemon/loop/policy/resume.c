// SPDX-License-Identifier: MIT
#include "loop/policy/resume.h"

#include <string.h>

void resume_token_of(struct resume_token *out, const struct dataset *dataset,
		     const struct pipeline *pipeline, const struct stream_order *order)
{
	struct digest digest = dataset_fingerprint(dataset);
	out->dataset[0] = out->names[0] = '\0';
	if (dataset_is_sized(dataset))
		digest_hex(&digest, out->dataset);
	if (dataset_names(dataset, &digest))
		digest_hex(&digest, out->names);
	digest = pipeline_hash(pipeline);
	digest_hex(&digest, out->pipeline);
	out->sampling[0] = out->description[0] = '\0';
	if (stream_order_hash(order, &digest))
		digest_hex(&digest, out->sampling);
}

bool resume_token_differs(const char *expected, const char *own)
{
	return expected[0] && strcmp(expected, own) != 0;
}

int resume_token_check_dataset(const char *expected, const char *own, struct fault *fault)
{
	if (!own[0] || !resume_token_differs(expected, own))
		return 0;
	return fault_say(fault, 1,
			 "the resume token is of dataset %s, this one is %s: files or labels were "
			 "added, removed or changed",
			 expected, own);
}

int resume_token_check(const struct resume_token *expected, const struct resume_token *own,
		       struct fault *fault)
{
	if (resume_token_differs(expected->names, own->names))
		return fault_say(fault, 1,
				 "the resume token is of names %s, this dataset has %s: files were "
				 "added, removed or renamed",
				 expected->names, own->names[0] ? own->names : "none");
	if (resume_token_check_dataset(expected->dataset, own->dataset, fault))
		return 1;
	if (resume_token_differs(expected->pipeline, own->pipeline))
		return fault_say(fault, 1,
				 "the resume token is of pipeline %s, this one is %s: transforms, "
				 "dtype, layout, draft or resize differ (what "
				 "says no resize is of pillow-12)",
				 expected->pipeline, own->pipeline);
	if (resume_token_differs(expected->sampling, own->sampling))
		return fault_say(
			fault, 1,
			"the resume token is of sampling %s, this one is %s: the order, sampler, "
			"echo, echo_window or views differ",
			expected->sampling, own->sampling[0] ? own->sampling : "none");
	return 0;
}
