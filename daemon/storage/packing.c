// SPDX-License-Identifier: MIT
#include "storage/packing.h"

#include <string.h>

const struct packing *packing_of(const uint8_t bytes[PACKING_HEAD])
{
	static const struct packing *const packings[] = {
		&packing_gzip, &packing_zstd, &packing_bzip2, &packing_xz, &packing_lz4,
	};
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++)
		if (memcmp(bytes, packings[i]->begin, strlen(packings[i]->begin)) == 0)
			return packings[i];
	return NULL;
}
