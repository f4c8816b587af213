/* SPDX-License-Identifier: MIT */
/*
 * The keys of the maps in ATTACH that are not transforms (those have a registry of their own): of a
 * dataset and of a sampler. The daemon's parser, the clients' options and the tables in PROTOCOL.md
 * derive from this file. It is data only.
 */
#ifndef STOKER_PROTO_KEYS_H
#define STOKER_PROTO_KEYS_H

/*
 * The keys of a dataset's map, in the order in which messages name them.
 * PATH, EITHER or TEXT(key, kinds, help): a path; a path or a name; a word. With what can be a path
 * a descriptor of what stands there may come, as `path_fd` and so on. kinds: those that take it,
 * with blanks between; "" is all of them.
 */
#define DATASET_TABLE(PATH, EITHER, TEXT)                                                          \
	PATH(path, "", "what to open: absolute, or a URL; of shards a pattern")                    \
	TEXT(kind, "", "its kind; absent: by the path")                                            \
	PATH(root, "manifest", "folder of its paths; absent: the manifest's own")                  \
	TEXT(format, "manifest", "lines, tsv, csv or jsonl; absent: by the file's ending")         \
	TEXT(images, "npz", "name of the array of images")                                         \
	EITHER(labels, "npy npz cifar100",                                                         \
	       "path of an array (npy), name of one (npz), fine or coarse")                        \
	TEXT(split, "npz cifar10 cifar100 mnist", "train or test; absent: train")                  \
	TEXT(path_column, "manifest", "what its column of paths is called; absent: path")          \
	TEXT(label_column, "manifest", "... of labels; absent: label, or what is nothing else")    \
	TEXT(image, "tar tfrecord", "component, or feature, that is the picture")                  \
	TEXT(label, "tar tfrecord", "... that is the label")                                       \
	TEXT(components, "tar tfrecord", "those that become fields, with blanks between")          \
	TEXT(classes, "tar tfrecord code", "labels are numbers of so many classes")                \
	TEXT(missing_component, "tar tfrecord", "what a sample is without one: error or skip")     \
	TEXT(code, "code", "identity of the code that makes the samples")                          \
	TEXT(samples, "code", "how many there are")                                                \
	TEXT(pure, "code", "no: samples may differ at each visit; absent: by the index alone")     \
	TEXT(arrays, "code",                                                                       \
	     "what it gives: NAME:DTYPE:SHAPE of each, with blanks between; "                      \
	     "absent: bytes of pictures")                                                          \
	TEXT(shards, "code",                                                                       \
	     "for order shards: sizes of those that samples lie in, runs of equal ones as "        \
	     "SIZExTIMES, with blanks between")

/* The keys of a sampler's map, beside `name`: K(key, samplers, help). */
#define SAMPLER_TABLE(K)                                                                           \
	K(indices, "subset", "list of samples, or the path of an array of int64")                  \
	K(validation_split, "split", "share of the samples, between 0 and 1")                      \
	K(subset, "split", "training or validation")                                               \
	K(weights, "weighted", "one for each sample, or the path of an array of floats")           \
	K(weights_by_class, "weighted", "one for each label")                                      \
	K(weights_by_part, "weighted", "one for each part of a joined dataset")                    \
	K(num_samples, "weighted", "positions of an epoch; absent: the number of samples")         \
	K(per_class, "balanced", "positions of each class; absent: samples / classes, rounded up") \
	K(list_fd, "subset weighted", "number of a descriptor of the array")

#endif
