/* SPDX-License-Identifier: MIT */
/*
 * The registry of transforms, and the contract of a transform. Each one is a file of its own,
 * transforms/NAME.c, with a constant row `transform_NAME`: its name and parameters, as torchvision
 * or Keras have them, its functions and its facts. No other file of the daemon has a list of
 * transforms; checks, canonical text, the order in a list and the size of images derive from rows.
 * Constant; any thread.
 *
 * How to add one, for example RandomSolarize:
 *
 *	daemon/transform/transforms/random_solarize.c, or in its folder detection
 *		The row, with its functions. The head says which random numbers it draws; those of
 *		a released transform never change. draws.h has the random numbers, steps.h what can
 *		be done to a picture, colour.h changes of colour, transforms/common_parameters.h
 *		parameters that others have, too.
 *	daemon/transform/registry_list.h
 *		A line. The build compiles the file because of it.
 *	client/python/stoker/transforms.py
 *		A dataclass, and its name in __all__.
 *	proto/PROTOCOL.md
 *		The table of transforms, by tests/style/protocol.py --write, once it is built.
 *	tests/reference/stoker_reference.py
 *		What torchvision does with the same draws, and random parameters for tests. For a
 *		change of colours with a probability: an entry of COLOURS. For others: a case in
 *		_apply(), examples of required parameters in NEEDED, and random parameters in
 *		random_transform() of tests/unit/transform/test_pipeline_pillow.py.
 *
 * That is all, and NEWS.md, as for every change. The C client knows no names of transforms. The
 * tests walk the registry: `registry` finds a missing function, `registry-places` a forgotten place
 * or another default, test_law_transforms.py runs each transform with many workers and with one;
 * `pipeline-pillow-*` compares pixels with the reference.
 */
#ifndef STOKER_TRANSFORM_REGISTRY_H
#define STOKER_TRANSFORM_REGISTRY_H

#include "base/fault.h"
#include "base/image.h"
#include "transform/registry_list.h"
#include "transform/transform.h"

struct draws;
struct keras;
struct mix_share;
struct output;
struct steps;

/* Choice of the transforms inside of a transform that are run. */
enum transform_holds {
	TRANSFORM_HOLDS_NOTHING,     /* there are none */
	TRANSFORM_HOLDS_ALL,	     /* all, in order, for every sample */
	TRANSFORM_HOLDS_ALL_OR_NONE, /* all, in order, or none */
	TRANSFORM_HOLDS_ONE_OF,
	TRANSFORM_HOLDS_SHUFFLED, /* all, in any order */
};

struct transform_row {
	const char *name;
	struct parameter_row parameters[TRANSFORM_PARAMETERS_MAX]; /* a NULL name ends them */

	/* Optional: fills in what follows from other parameters. As check(). */
	int (*complete)(struct transform *transform, struct fault *fault);
	/* Optional: checks parameters against each other. 0, or TRANSFORM_E_VALUE with a message.
	 */
	int (*check)(const struct transform *transform, struct fault *fault);

	/* --- what it does: exactly one of these nine --- */

	/* Appends its steps for a picture of steps->size, without random numbers. 0, or
	 * STEPS_E_IMAGE with a message if it cannot take such a picture. */
	int (*add)(const struct transform *transform, struct steps *steps, struct fault *fault);
	/* The same, with random numbers. */
	int (*draw)(const struct transform *transform, const struct draws *draws,
		    struct steps *steps, struct fault *fault);
	/* Runs the transforms inside of it, which are its first parameter, by `choose`. */
	enum transform_holds holds;
	/* Does nothing; what stands behind it, torchvision would do to tensors. */
	bool to_tensor;
	/* Changes the values of each channel on their way to the array. */
	void (*normalize)(const struct transform *transform, struct output *output);
	/* Makes the array of the picture, as Keras does it: fills in the parameters. 0, or
	 * TRANSFORM_E_VALUE with a message. */
	int (*generate)(const struct transform *transform, struct keras *out, struct fault *fault);
	/* Changes the finished array, in place. */
	void (*change)(const struct transform *transform, const struct draws *draws,
		       const struct output *output, void *array);
	/* Mixes the finished array of the mix partner into that of the sample; the draws are those
	 * of the pair. Returns the parts by which labels are mixed (transforms/mixing.h). */
	struct mix_share (*mix)(const struct transform *transform, const struct draws *draws,
				const struct output *output, void *array, const void *partner);
	/* Draws the point, x and y, in which the finished arrays of four samples meet. */
	void (*meet)(const struct transform *transform, const struct draws *draws, int32_t width,
		     int32_t height, int32_t point_out[2]);

	/* --- what belongs to one of them --- */

	/* With `holds`, unless it is TRANSFORM_HOLDS_ALL: of the `count` transforms list[held[i]]
	 * inside of list[at], leaves those to run in `held`, in order, and returns how many. */
	unsigned (*choose)(const struct transform *list, unsigned at, const struct draws *draws,
			   unsigned *held, unsigned count);
	/* Optional, with `change`: whether it can change arrays of `output`. 0, or
	 * TRANSFORM_E_VALUE with a message. */
	int (*accept)(const struct transform *transform, const struct output *output,
		      struct fault *fault);
	/* Optional, with `add` or `draw`: a message that says why its results have several sizes,
	 * or NULL. `sized`: all pictures that it gets have one size. */
	const char *(*unsized)(const struct transform *transform, bool sized);

	/* Optional, with `add`: does it pad pictures to one size? Then the part of the array that
	 * is picture is a field. */
	bool (*pads)(const struct transform *transform);

	/* With `add`: how files are read, in place of RGB bytes. It stands first. */
	struct image_form (*reads)(const struct transform *transform);

	/* Optional, with `add`: how many channels the array has of pictures that it made, 1 or 3;
	 * the pictures themselves have three, for 1 equal ones. With `generate`: 3, or 4 if it
	 * takes pictures with alpha. */
	unsigned (*channels)(const struct transform *transform);

	/* --- facts; with `add` or `draw` --- */

	bool pictures_only; /* of tensors torchvision makes something else: not after ToTensor */
	bool fixes_size; /* its size, if that is (height, width), is that of its results; of several
			  * sizes, that of the bucket that is made */
	bool refuses_size; /* cannot take a picture that is smaller than that, or larger */
	bool needs_boxes;  /* it is about the boxes of a sample, which must have them */
	bool resizes;	   /* it is a resize, by the filter that is its choice; also with alpha */
	bool wide;	   /* it moves pixels or resizes, and no more: wide pictures, too; or what
			    * it holds does */
	unsigned views;	   /* how many pictures it makes of one; 0: one */

	/* With `normalize`, `generate` or `mix`: it makes fractions, which uint8 cannot hold. */
	bool fractions;
};

#define REGISTRY_DECLARE(name_) extern const struct transform_row transform_##name_;
#define REGISTRY_COUNT(name_) +1
TRANSFORMS(REGISTRY_DECLARE)
enum { TRANSFORM_ROWS = 0 TRANSFORMS(REGISTRY_COUNT) };
#undef REGISTRY_DECLARE
#undef REGISTRY_COUNT

extern const struct transform_row *const transform_rows[TRANSFORM_ROWS];

/* Count of pictures that it makes of one: the views of a sample. */
static inline uint32_t transform_views(const struct transform *transform)
{
	return transform->row->views ? transform->row->views : 1;
}
/* The first parameter that is a size, or sizes; NULL: there is none. */
const struct parameter_row *transform_row_size(const struct transform_row *row);
/* Does it make pictures of several sizes, which are its first parameter? */
static inline bool transform_sizes(const struct transform *transform)
{
	return transform->row->parameters[0].type == PARAMETER_SIZES;
}
/* May its results differ from sample to sample of one picture? */
bool transform_row_random(const struct transform_row *row);
/* Does it make a sample of several, so that it is the last? */
bool transform_row_joins(const struct transform_row *row);
/* Can masks, boxes and points not be moved as it moves the picture? */
bool transform_row_blocks_annotations(const struct transform_row *row);

enum {
	REGISTRY_E_ROW = 1, /* a mistake in the source, which the message names */
};

/* Check that a row has the functions and facts that belong together. 0 or REGISTRY_E_ROW. */
int transform_row_check(const struct transform_row *row, struct fault *fault);
/* Check all rows, and that each name stands once. To be called when the daemon starts, so that no
 * worker calls a missing function. 0 or REGISTRY_E_ROW. */
int transform_registry_check(struct fault *fault);

#endif
