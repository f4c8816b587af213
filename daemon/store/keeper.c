// SPDX-License-Identifier: MIT
#include "store/keeper.h"

#include "base/clock.h"

/* -- find --------------------------------------------------------------------------------- */

struct stored_key keeper_stored_key(const struct picture_key *key)
{
	return (struct stored_key){
		.stamp = key->stamp, .file = key->file, .scale = key->scale, .exif = key->exif};
}

bool keeper_has_stored_pixels(const struct keeper *keeper, const struct picture_key *key)
{
	struct stored_key stored = {.stamp = key->stamp, .scale = 1, .exif = key->exif};
	return keeper->pictures && keeper->disk &&
	       picture_store_has(keeper->disk, &stored, true, false);
}

static bool has_stored_file(const struct keeper *keeper, const struct picture_key *key)
{
	struct stored_key stored = {.stamp = key->stamp, .file = true, .exif = key->exif};
	return picture_store_has(keeper->disk, &stored, false, true);
}

bool keeper_has_stored(const struct keeper *keeper, const struct picture_key *key)
{
	return keeper_has_stored_pixels(keeper, key) ||
	       (keeper->pictures && keeper->disk && has_stored_file(keeper, key));
}

static void note_stored_hit(const struct keeper *keeper, uint64_t sample,
			    const struct stored_key *key, uint64_t now_ns)
{
	struct forecast forecast =
		forecast_make(picture_set_courses(keeper->pictures), sample, now_ns);
	picture_store_hit(keeper->disk, key, keeper->pictures, &forecast);
}

static bool disk_has_some(const struct keeper *keeper)
{
	return keeper->disk && !picture_store_is_empty(keeper->disk);
}

bool keeper_may_have(const struct keeper *keeper, uint64_t sample)
{
	return keeper->pictures &&
	       (disk_has_some(keeper) || picture_set_has(keeper->pictures, sample));
}

enum kept_kind keeper_find(const struct keeper *keeper, const struct picture_key *key, bool pixels,
			   struct cached_picture **picture_out, struct buffer *file)
{
	struct picture_key file_key = *key;
	file_key.file = true;
	struct cached_picture *picture = picture_set_find(keeper->pictures, &file_key, pixels);
	*picture_out = picture;
	if (picture)
		return picture->key.file ? KEPT_FILE : KEPT_IN_MEMORY;
	if (!disk_has_some(keeper))
		return KEPT_NOTHING;
	if (pixels && keeper_has_stored_pixels(keeper, key))
		return KEPT_ON_DISK;
	const struct stored_key stored = keeper_stored_key(&file_key);
	if (!has_stored_file(keeper, key) || !picture_store_read_file(keeper->disk, &stored, file))
		return KEPT_NOTHING;
	note_stored_hit(keeper, key->sample, &stored, clock_ns());
	return KEPT_FILE;
}

/* -- read --------------------------------------------------------------------------------- */

void kept_view_init(struct kept_view *view)
{
	view->lent = NULL;
	view->file.fd = -1;
}

static void kept_end(void *state)
{
	struct kept_view *view = state;
	picture_unpin(view->lent);
	view->lent = NULL;
}

static int kept_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	const struct cached_picture *picture = ((const struct kept_view *)state)->picture;
	(void)input, (void)fault;
	*out = (struct codec_header){.width = picture->width,
				     .height = picture->height,
				     .orientation = 1,
				     .alpha = picture->alpha,
				     .scales = picture->scales};
	return 0;
}

static int kept_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct kept_view *view = state;
	struct cached_picture *picture = view->picture;
	(void)need, (void)pixels, (void)fault;
	if (picture->key.scale != input->scale) {
		struct picture_key key = picture->key;
		key.scale = input->scale;
		picture_unpin(view->lent);
		view->lent = picture_set_find(view->keeper->pictures, &key, false);
		picture = view->lent;
	}
	if (!picture)
		return DECODE_E_GONE;
	picture_hit(picture, clock_ns());
	*out = picture->image;
	return 0;
}

static int stored_begin(void *state, const struct codec_input *input, struct codec_header *out,
			struct fault *fault)
{
	struct kept_view *view = state;
	struct picture_store *disk = view->keeper->disk;
	(void)input, (void)fault;
	view->stored =
		(struct stored_key){.stamp = view->key.stamp, .scale = 1, .exif = view->key.exif};
	if (!picture_store_has(disk, &view->stored, true, true) ||
	    !picture_store_load(disk, &view->stored, &view->file))
		return DECODE_E_GONE;
	struct stored_shape shape = picture_file_shape(&view->file);
	*out = (struct codec_header){.width = shape.width,
				     .height = shape.height,
				     .orientation = 1,
				     .alpha = shape.alpha,
				     .scales = shape.scales};
	return 0;
}

static bool stored_set_scale(struct kept_view *view, unsigned scale)
{
	if (view->stored.scale == scale)
		return true;
	picture_file_close(&view->file);
	view->stored.scale = scale;
	return picture_store_load(view->keeper->disk, &view->stored, &view->file);
}

/* Memory for all of the picture, pinned: it is found there from now on. NULL: there is no room. */
static struct cached_picture *stored_take_memory(const struct kept_view *view,
						 const struct stored_shape *shape, uint64_t now_ns)
{
	struct picture_set *pictures = view->keeper->pictures;
	struct picture_key key = view->key;
	key.scale = view->stored.scale;
	struct picture_use use = picture_set_use(pictures, key.sample, view->idle, now_ns);
	use.room_only = view->keeper->room_only;
	if (!use.keep || !picture_set_is_on(pictures) ||
	    !picture_set_has_room(pictures, stored_shape_bytes(shape), shape->worth, &use))
		return NULL;
	struct cached_picture *picture =
		picture_set_take(pictures, &key, shape->width, shape->height, shape->worth, &use);
	if (picture) {
		picture->scales = shape->scales;
		picture->alpha = shape->alpha;
	}
	return picture;
}

static int stored_read(void *state, const struct codec_input *input, struct rect need,
		       struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct kept_view *view = state;
	uint64_t now_ns = clock_ns();
	(void)fault;
	if (!stored_set_scale(view, input->scale))
		return DECODE_E_GONE;
	struct stored_shape shape = picture_file_shape(&view->file);
	size_t stride = 3 * (size_t)shape.columns;
	struct rect rows = picture_file_part(&view->file, need);
	picture_unpin(view->lent);
	view->lent = stored_take_memory(view, &shape, now_ns);
	if (view->lent)
		rows = (struct rect){0, 0, shape.columns, shape.rows};
	else if (buffer_reserve(pixels, stride * (size_t)rows.height) < 0)
		return DECODE_E_GONE;
	else
		pixels->size = stride * (size_t)rows.height;
	uint8_t *to = view->lent ? view->lent->memory.data : pixels->data;
	if (!picture_store_read(view->keeper->disk, &view->stored, &view->file, rows, to))
		return DECODE_E_GONE;
	*out = (struct image){.pixels = to,
			      .stride = stride,
			      .width = shape.columns,
			      .height = shape.rows,
			      .area = rows};
	if (view->lent) {
		view->lent->image = *out;
		picture_set_keep(view->lent);
	}
	note_stored_hit(view->keeper, view->key.sample, &view->stored, now_ns);
	return 0;
}

static void stored_end(void *state)
{
	picture_file_close(&((struct kept_view *)state)->file);
	kept_end(state);
}

const struct codec codec_kept = {
	.name = "kept", .begin = kept_begin, .read = kept_read, .end = kept_end};
const struct codec codec_stored = {
	.name = "stored", .begin = stored_begin, .read = stored_read, .end = stored_end};
