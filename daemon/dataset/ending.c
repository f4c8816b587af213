// SPDX-License-Identifier: MIT
#include "dataset/ending.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Not strcasecmp(), which depends on the locale. */
static bool ending_fits_of(const char *name, size_t size, const char *ending)
{
	size_t ending_size = strlen(ending);
	if (size < ending_size)
		return false;
	for (const char *at = name + size - ending_size; *at; at++, ending++) {
		char letter = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
		if (letter != *ending)
			return false;
	}
	return true;
}

static bool ending_fits(const char *name, const char *ending)
{
	return ending_fits_of(name, strlen(name), ending);
}

/* Asked of each name of a large folder. */
bool ending_is_image(const char *name)
{
	static const char *const endings[] = {".jpg", ".jpeg", ".png",	".ppm", ".bmp",
					      ".pgm", ".tif",  ".tiff", ".webp"};
	const size_t size = strlen(name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (ending_fits_of(name, size, endings[i]))
			return true;
	}
	return false;
}

bool ending_is_picture(const char *name)
{
	return ending_is_image(name) || ending_fits(name, ".pbm") || ending_fits(name, ".pnm") ||
	       ending_fits(name, ".gif") || ending_fits(name, ".avif");
}

const char *ending_source(const char *name)
{
	static const char *const sources[][2] = {
		{".parquet", "Parquet"}, {".pq", "Parquet"}, {".arrow", "Arrow"},
		{".feather", "Arrow"},	 {".h5", "HDF5"},    {".hdf5", "HDF5"},
		{".hdf", "HDF5"},	 {".zarr", "Zarr"},  {".lance", "Lance"},
		{".dcm", "DICOM"},	 {".mds", "MDS"},
	};
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (ending_fits(name, sources[i][0]))
			return sources[i][1];
	return NULL;
}

/* Endings of pictures without a codec. */
static const char *const foreign[ENDINGS_FOREIGN] = {".heic", ".heif", ".jxl",
						     ".jp2",  ".dng",  ".svg"};

void endings_see(struct endings *endings, const char *name)
{
	size_t at = 0;
	if (!ending_is_image(name)) {
		while (at < ENDINGS_FOREIGN && !ending_fits(name, foreign[at]))
			at++;
		if (at == ENDINGS_FOREIGN)
			return;
		endings->foreign[at]++;
	}
	endings->pictures++;
}

void endings_add(struct endings *endings, const struct endings *more)
{
	endings->pictures += more->pictures;
	for (size_t i = 0; i < ENDINGS_FOREIGN; i++)
		endings->foreign[i] += more->foreign[i];
}

/* "12 of 500 files are .heic, 3 .avif"; the number of them all. `samples`: of those that are
 * samples, else of the others. */
static uint64_t endings_list(const struct endings *endings, bool listed, bool samples, char *out,
			     size_t room)
{
	uint64_t all = 0;
	size_t size = 0;
	for (size_t i = 0; i < ENDINGS_FOREIGN; i++) {
		uint64_t count = endings->foreign[i];
		if (count == 0 || samples != (listed || ending_is_image(foreign[i])))
			continue;
		int part = all ? snprintf(out + size, room - size, ", %llu %s",
					  (unsigned long long)count, foreign[i])
			       : snprintf(out, room, "%llu of %llu files %s %s",
					  (unsigned long long)count,
					  (unsigned long long)endings->pictures,
					  count == 1 ? "is" : "are", foreign[i]);
		size += part > 0 && (size_t)part < room - size ? (size_t)part : 0;
		all += count;
	}
	return all;
}

void endings_say(const struct endings *endings, bool listed, struct fault *note)
{
	char out[160], in[160];
	uint64_t outside = endings_list(endings, listed, false, out, sizeof(out));
	uint64_t inside = endings_list(endings, listed, true, in, sizeof(in));
	struct fault before = *note;
	if (!outside && !inside)
		return;
	fault_say(
		note, 0, "%s%s%s%s%s%s%s; convert them to JPEG, PNG or WebP", before.text,
		*before.text ? "; " : "", outside ? out : "",
		outside ? ", which stoker does not decode: they are left out, as by torchvision"
			: "",
		outside && inside ? "; " : "", inside ? in : "",
		inside ? ", which stoker does not decode: unless they hold JPEG, PNG or WebP, each "
			 "is a bad sample"
		       : "");
}
