/* SPDX-License-Identifier: MIT */
/*
 * Changes of colours as steps. Each is defined in the file of the transform that it belongs to;
 * several transforms use it. Those without an amount ignore it. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_COLOURS_H
#define STOKER_TRANSFORM_TRANSFORMS_COLOURS_H

#include "transform/steps.h"

typedef void colour_adder(struct steps *steps, double amount);

colour_adder colour_add_invert;	      /* random_invert.c */
colour_adder colour_add_posterize;    /* random_posterize.c: bits to keep, 0 to 8 */
colour_adder colour_add_solarize;     /* random_solarize.c: the least value that is inverted */
colour_adder colour_add_sharpness;    /* random_adjust_sharpness.c: factor, 1 is no change */
colour_adder colour_add_autocontrast; /* random_autocontrast.c */
colour_adder colour_add_equalize;     /* random_equalize.c */
colour_adder colour_add_grayscale;    /* grayscale.c */
colour_adder colour_add_brightness;   /* color_jitter.c: factors, 1 is no change ... */
colour_adder colour_add_contrast;
colour_adder colour_add_saturation;
colour_adder colour_add_hue; /* ... and a part of a turn, -0.5 to 0.5 */

/* gaussian_blur.c: the kernel's width and height, odd. */
#define BLUR_KERNEL_MAX 255
void colour_add_blur(struct steps *steps, int32_t width, int32_t height, double sigma);

#endif
