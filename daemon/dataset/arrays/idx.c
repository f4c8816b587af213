// SPDX-License-Identifier: MIT
#include "dataset/arrays/idx.h"

#include <inttypes.h>

int idx_parse(struct idx *out, const uint8_t *bytes, size_t size, struct fault *fault)
{
	if (size < 4 || bytes[0] || bytes[1])
		return fault_say(fault, IDX_E_BAD,
				 "it is not an idx file: give its name, or the folder with the "
				 "four files of MNIST");
	if (bytes[2] != 8)
		return fault_say(fault, IDX_E_BAD,
				 "its values have the type 0x%02x: only unsigned bytes (0x08) are "
				 "accepted",
				 bytes[2]);
	struct idx idx = {.dims = bytes[3]};
	if (idx.dims == 0 || idx.dims > IDX_DIMS_MAX || size < 4 + 4 * (size_t)idx.dims)
		return fault_say(fault, IDX_E_BAD,
				 "it has %u dimensions in %zu bytes: fetch the file again",
				 idx.dims, size);
	uint64_t values = 1, held = size - 4 - 4 * (size_t)idx.dims;
	for (uint32_t i = 0; i < idx.dims; i++) {
		const uint8_t *at = bytes + 4 + 4 * i;
		idx.shape[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
			       (uint32_t)at[2] << 8 | at[3];
		if (idx.shape[i] == 0)
			return fault_say(fault, IDX_E_BAD,
					 "its dimension %u has the size 0: fetch the file again",
					 i);
		if (__builtin_mul_overflow(values, idx.shape[i], &values))
			values = UINT64_MAX;
	}
	if (values != held)
		return fault_say(fault, IDX_E_BAD,
				 "it has %" PRIu64 " values, but its header says %" PRIu64 "%s",
				 held, values,
				 held < values ? ": the file is cut off: copy it again" : "");
	idx.data = bytes + 4 + 4 * (size_t)idx.dims;
	*out = idx;
	return 0;
}
