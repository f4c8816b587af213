// SPDX-License-Identifier: MIT
#include "work/kit.h"

int sample_kit_init(struct sample_kit *kit)
{
	*kit = SAMPLE_KIT_NULL;
	int r = decoder_new(&kit->decoder);
	if (r == 0)
		r = pipeline_scratch_new(&kit->scratch[0]);
	if (r < 0)
		sample_kit_deinit(kit);
	return r;
}

void sample_kit_deinit(struct sample_kit *kit)
{
	decoder_free(kit->decoder);
	for (unsigned i = 0; i < JOB_SHARERS_MAX; i++)
		pipeline_scratch_free(kit->scratch[i]);
	pipeline_scratch_free(kit->mask);
	buffer_deinit(&kit->partner);
	buffer_deinit(&kit->rewritten);
	buffer_deinit(&kit->whole);
	*kit = SAMPLE_KIT_NULL;
}

void sample_kit_trim(struct sample_kit *kit)
{
	decoder_end(kit->decoder);
	buffer_trim(&kit->partner, BUFFER_KEEP);
	buffer_trim(&kit->rewritten, BUFFER_KEEP);
	buffer_trim(&kit->whole, BUFFER_KEEP);
}
