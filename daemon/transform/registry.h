/* SPDX-License-Identifier: MIT */
/*
 * The registry of transforms. Each transform is a file of its own, transforms/NAME.c, with its row:
 * a constant `transform_NAME` that has its name and parameters, as torchvision or Keras have them,
 * its functions and facts. Nothing else in the daemon knows which transforms there are. Checks,
 * canonical text, order within a list and sizes derive from the rows. Constant; any thread.
 *
 * How to add one, for example RandomSolarize:
 *
 *	daemon/transform/transforms/random_solarize.c
 *		The row `transform_random_solarize`. Head: which random numbers it draws, by
 *		number. The numbers of an existing transform never change.
 *	daemon/transform/registry_list.h
 *		A line. The build compiles the file because of it.
 *	client/python/stoker/transforms.py
 *		A dataclass, and its name in __all__.
 *	proto/PROTOCOL.md
 *		A row in the table of transforms, section 6.
 *	tests/reference/stoker_reference.py
 *		What torchvision does, with the same draws, and random parameters. For a change of
 *		colours with a probability that is an entry of COLOURS; for others an entry of its
 *		own in _apply(), and of test_pipeline_pillow.py in random_transform().
 *
 * That is all (and NEWS.md, as for every change). The C client knows no names of transforms. The
 * unit tests `registry` and `registry-places` fail where a function is missing or a place was
 * forgotten; test_pipeline_pillow.py compares pixels with torchvision's for each entry of
 * COLOURS, tests/daemon/test_law_transforms.py runs every row with many workers and few.
 */
#ifndef STOKER_TRANSFORM_REGISTRY_H
#define STOKER_TRANSFORM_REGISTRY_H

#include "base/fault.h"
#include "transform/registry_list.h"
#include "transform/transform.h"

struct draws;
struct keras;
struct mix_share;
struct output;
struct steps;

/* Which of the transforms inside of it a transform runs. */
enum transform_holds {
	HOLDS_NOTHING,	   /* there are none */
	HOLDS_ALL,	   /* all, in order, for every sample */
	HOLDS_ALL_OR_NONE, /* all, in order, or none */
	HOLDS_ONE_OF,
	HOLDS_SHUFFLED, /* all, in any order */
};

struct transform_row {
	const char *name;
	struct parameter_row parameters[TRANSFORM_PARAMETERS_MAX]; /* a NULL name ends them */

	/* Check parameters against each other: 0, or TRANSFORM_E_VALUE with a message; NULL: they
	 * are independent. */
	int (*check)(const struct transform *transform, struct fault *fault);

	/*
	 * What it does: each row has exactly one of the eight that follow.
	 *
	 * To a picture, the same for every sample: append steps. 0, or STEPS_E_IMAGE with a message
	 * if it cannot take a picture of steps->size.
	 */
	int (*add)(const struct transform *transform, struct steps *steps, struct fault *fault);
	/* To a picture, by random numbers. */
	int (*draw)(const struct transform *transform, const struct draws *draws,
		    struct steps *steps, struct fault *fault);
	/* To a picture, by the transforms inside of it. They are the first parameter, of
	 * PARAMETER_TRANSFORMS; `choose` is there unless it HOLDS_ALL. */
	enum transform_holds holds;
	/* Nothing: what stands behind it would be done by torchvision to tensors. */
	bool to_tensor;
	/* To each channel's values on their way to the array: (value - mean) / std. */
	void (*normalize)(const struct transform *transform, struct output *output);
	/* Makes the array of the picture, in place of to_tensor and normalize: its parameters as
	 * Keras' ones. 0, or TRANSFORM_E_VALUE with a message. */
	int (*generate)(const struct transform *transform, struct keras *out, struct fault *fault);
	/* Changes the finished array. */
	void (*change)(const struct transform *transform, const struct draws *draws,
		       const struct output *output, void *array);
	/* Mixes the finished array of a sample's mix partner into that of the sample. The draws are
	 * those of the pair. Returns the parts of both, by which labels are mixed. */
	struct mix_share (*mix)(const struct transform *transform, const struct draws *draws,
				const struct output *output, void *array, const void *partner);

	/* With `holds`: choose among the `count` transforms list[held[i]] inside of it; leave those
	 * to run in `held`, in their order, and return how many. */
	unsigned (*choose)(const struct transform *list, unsigned at, const struct draws *draws,
			   unsigned *held, unsigned count);
	/* With `change`: whether it can change arrays of `output`. 0, or TRANSFORM_E_VALUE with a
	 * message; NULL: any. */
	int (*accept)(const struct transform *transform, const struct output *output,
		      struct fault *fault);

	/* Facts about `add` and `draw`. */
	bool pictures_only; /* torchvision gives other results for tensors: refused after ToTensor
			     */
	bool fixes_size; /* the first parameter, if it is (height, width), is every result's size */
	bool refuses_small; /* cannot take a picture that is smaller than that size */
	unsigned views;	    /* how many pictures it makes of one; 0: one */
	/* Why results have several sizes, a message; NULL: they have one if the pictures have
	 * one, which `sized` says. No function: that is always so. */
	const char *(*unsized)(const struct transform *transform, bool sized);

	bool fractions; /* makes fractions, which dtype uint8 cannot hold */
};

#define REGISTRY_DECLARE(name_) extern const struct transform_row transform_##name_;
#define REGISTRY_COUNT(name_) +1
TRANSFORMS(REGISTRY_DECLARE)
enum { TRANSFORM_ROWS = 0 TRANSFORMS(REGISTRY_COUNT) };
#undef REGISTRY_DECLARE
#undef REGISTRY_COUNT

extern const struct transform_row *const transform_rows[TRANSFORM_ROWS];

/* Whether it draws random numbers. */
bool transform_row_random(const struct transform_row *row);
/* Whether masks, boxes and points cannot go through it. */
bool transform_row_bars(const struct transform_row *row);

enum {
	REGISTRY_E_ROW = 1, /* a mistake of ours, which the message names */
};

/* Whether a row has the functions and facts that belong together. 0 or REGISTRY_E_ROW. */
int transform_row_check(const struct transform_row *row, struct fault *fault);
/* Check all rows, and that no name stands twice: before the first pipeline is made, so that no
 * worker meets a missing function. 0 or REGISTRY_E_ROW. */
int transform_registry_check(struct fault *fault);

#endif
