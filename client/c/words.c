// SPDX-License-Identifier: MIT
#include "client/c/words.h"

#include <errno.h>

int words_of_error(struct fault *fault, const struct message_error *error)
{
	static const struct {
		unsigned code;
		int result;
	} results[] = {
		{ERROR_FIELD, -EINVAL}, /* a value of the caller is out of range */
		{ERROR_VERSION, -EPROTONOSUPPORT},
		{ERROR_TIMEOUT, -ETIMEDOUT},
		{ERROR_TOO_MANY_CONNECTIONS, -EBUSY},
		{ERROR_DATASET, -EINVAL},
		{ERROR_PIPELINE, -EINVAL},
		{ERROR_ARGUMENT, -EINVAL},
		{ERROR_MEMORY, -ENOSPC},
		{ERROR_TRANSPORT, -EOPNOTSUPP},
		{ERROR_TOKEN, -ESTALE},
		{ERROR_PERMISSION, -EPERM},
		{ERROR_STOPPING, -ESHUTDOWN},
		{ERROR_SETTING, -EINVAL},
		{ERROR_INTERNAL, -EIO},
		{ERROR_LIMIT, -EDQUOT},
		{ERROR_CREDENTIALS, -EKEYREJECTED},
	};
	int result = -EPROTO;
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].code == error->code)
			result = results[i].result;
	fault_say(fault, result, "%.*s (%.*s)", (int)error->text.size, error->text.data,
		  (int)error->name.size, error->name.data);
	fault->code = (unsigned)error->code;
	return result;
}

int words_of_bad_sample(struct fault *fault, const struct message_bad_sample *bad)
{
	return fault_say(fault, -EBADMSG,
			 "epoch %llu, position %llu: sample %llu (%.*s): %.*s (%.*s)",
			 (unsigned long long)bad->epoch, (unsigned long long)bad->position,
			 (unsigned long long)bad->sample, (int)bad->path.size, bad->path.data,
			 (int)bad->text.size, bad->text.data, (int)bad->name.size, bad->name.data);
}

int words_of_goaway(struct fault *fault, const struct message_goaway *goaway)
{
	return fault_say(fault, -ESHUTDOWN, "stokerd is stopping: %.*s", (int)goaway->text.size,
			 goaway->text.data);
}

int words_of_stalled(struct fault *fault, const struct message_stalled *stalled)
{
	if (stalled->why.size)
		return fault_say(fault, -EAGAIN, "%.*s", (int)stalled->why.size, stalled->why.data);
	return fault_say(fault, -EAGAIN,
			 "the read of %.*s has taken %llu s so far: does its storage hang?",
			 (int)stalled->path.size, stalled->path.data,
			 (unsigned long long)(stalled->read_ms / 1000));
}
