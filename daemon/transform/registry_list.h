/* SPDX-License-Identifier: MIT */
/*
 * List of the transforms: X(NAME) is the row transform_NAME in transforms/NAME.c, or in
 * transforms/detection/NAME.c. The build reads
 * these lines, too, and compiles the files. registry.h says how to add one.
 */
#ifndef STOKER_TRANSFORM_REGISTRY_LIST_H
#define STOKER_TRANSFORM_REGISTRY_LIST_H

#define TRANSFORMS(X)                                                                              \
	X(resize)                                                                                  \
	X(aspect_resize)                                                                           \
	X(center_crop)                                                                             \
	X(random_crop)                                                                             \
	X(random_resized_crop)                                                                     \
	X(random_horizontal_flip)                                                                  \
	X(random_vertical_flip)                                                                    \
	X(buckets)                                                                                 \
	X(read_as)                                                                                 \
	X(pad)                                                                                     \
	X(to_tensor)                                                                               \
	X(normalize)                                                                               \
	X(random_invert)                                                                           \
	X(random_posterize)                                                                        \
	X(random_solarize)                                                                         \
	X(random_adjust_sharpness)                                                                 \
	X(random_autocontrast)                                                                     \
	X(random_equalize)                                                                         \
	X(random_grayscale)                                                                        \
	X(grayscale)                                                                               \
	X(color_jitter)                                                                            \
	X(gaussian_blur)                                                                           \
	X(compose)                                                                                 \
	X(random_apply)                                                                            \
	X(random_choice)                                                                           \
	X(random_order)                                                                            \
	X(image_data_generator)                                                                    \
	X(random_erasing)                                                                          \
	X(random_affine)                                                                           \
	X(random_rotation)                                                                         \
	X(random_perspective)                                                                      \
	X(auto_augment)                                                                            \
	X(rand_augment)                                                                            \
	X(trivial_augment_wide)                                                                    \
	X(mix_up)                                                                                  \
	X(cut_mix)                                                                                 \
	X(mosaic)                                                                                  \
	X(five_crop)                                                                               \
	X(ten_crop)                                                                                \
	X(random_iou_crop)                                                                         \
	X(random_zoom_out)                                                                         \
	X(scale_jitter)                                                                            \
	X(random_shortest_size)                                                                    \
	X(fixed_size_crop)                                                                         \
	X(random_photometric_distort)                                                              \
	X(sanitize_bounding_boxes)                                                                 \
	X(clamp_bounding_boxes)                                                                    \
	X(convert_bounding_box_format)

#endif
