// SPDX-License-Identifier: MIT
#include "store/stored_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cache/picture_cache.h"

void stored_name_write(const struct stored_name *name, char out[STORED_NAME_MAX])
{
	const struct stored_key *key = &name->key;
	snprintf(out, STORED_NAME_MAX, "%016" PRIx64 "-%" PRIu64 "-%u-%u-%u-%u.rgb",
		 key->stamp.content, key->stamp.size, key->file ? 0 : (unsigned)key->scale,
		 (unsigned)key->exif, name->worth, name->user);
}

bool stored_name_read(const char *text, struct stored_name *out)
{
	char again[STORED_NAME_MAX];
	struct stored_name name = {0};
	unsigned exif;
	if (strlen(text) >= STORED_NAME_MAX ||
	    sscanf(text, "%16" SCNx64 "-%20" SCNu64 "-%1" SCNu32 "-%1u-%1u-%10u.rgb",
		   &name.key.stamp.content, &name.key.stamp.size, &name.key.scale, &exif,
		   &name.worth, &name.user) != 6)
		return false;
	name.key.exif = exif == 1;
	name.key.file = name.key.scale == 0;
	stored_name_write(&name, again);
	if (strcmp(text, again) != 0 || name.worth > PICTURE_FILE ||
	    name.key.file != (name.worth == PICTURE_FILE))
		return false;
	*out = name;
	return true;
}
