// SPDX-License-Identifier: MIT
#include "work/outcome.h"

#include <stddef.h>

#include "dataset/dataset.h"
#include "decode/decode.h"
#include "transform/pipeline.h"

/* Look up a condition. One that is not in the table is a lack of memory. */
static enum job_outcome look_up(const enum job_outcome *table, size_t count, int condition)
{
	if (condition == 0)
		return JOB_DONE;
	bool listed = condition > 0 && (size_t)condition < count && table[condition] != JOB_DONE;
	return listed ? table[condition] : JOB_MEMORY;
}

enum job_outcome outcome_of_read(int condition)
{
	static const enum job_outcome table[] = {[DATASET_E_LIMIT] = JOB_LIMIT,
						 [DATASET_E_READ] = JOB_READ,
						 [DATASET_E_CHANGED] = JOB_CHANGED};
	return look_up(table, sizeof(table) / sizeof(table[0]), condition);
}

enum job_outcome outcome_of_decode(int condition)
{
	static const enum job_outcome table[] = {[DECODE_E_FORMAT] = JOB_FORMAT,
						 [DECODE_E_UNSUPPORTED] = JOB_FORMAT,
						 [DECODE_E_CORRUPT] = JOB_CORRUPT,
						 [DECODE_E_LIMIT] = JOB_LIMIT};
	return look_up(table, sizeof(table) / sizeof(table[0]), condition);
}

enum job_outcome outcome_of_pipeline(int condition)
{
	static const enum job_outcome table[] = {
		[PIPELINE_E_IMAGE] = JOB_TRANSFORM, [PIPELINE_E_STOPPED] = JOB_LIMIT};
	return look_up(table, sizeof(table) / sizeof(table[0]), condition);
}
