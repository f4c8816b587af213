/* SPDX-License-Identifier: MIT */
/*
 * Labels as people write them in plain text: what is a number, and what is nearly one. A text that
 * is nearly a number must not pass for the name of a class. Pure; any thread.
 */
#ifndef STOKER_DATASET_LABEL_TEXT_H
#define STOKER_DATASET_LABEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Cut blanks off both ends, those of Unicode and byte order marks, too. */
void label_text_strip(const char **text, size_t *size);
/* Is it a decimal number, as it stands, and an integer? */
bool label_text_is_number(const char *text, size_t size, bool *whole_out);
/* Does it look like several numbers, or like one with a comma: "1 0", "1,5", "1|0"? */
bool label_text_is_several(const char *text, size_t size);
/* Is it an object, as JSON and Python write it? */
bool label_text_is_object(const char *text, size_t size);
/* A list in brackets, as JSON, Python and NumPy write it: the text between them. */
bool label_text_is_list(const char **text, size_t *size);
/* The next entry of such a text, without the blanks and commas around it; false: no more. */
bool label_text_next(const char **text, size_t *size, const char **entry_out,
		     size_t *entry_size_out);

#endif
