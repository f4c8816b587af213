/* SPDX-License-Identifier: MIT */
/*
 * Labels as people write them in plain text: what is a number, and what is nearly one. A text that
 * is nearly a number must not pass for the name of a class. Pure; any thread.
 */
#ifndef STOKER_DATASET_LABEL_TEXT_H
#define STOKER_DATASET_LABEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Cut blanks off both ends, also those of Unicode, zero-width marks and byte order marks. */
void label_text_strip(const char **text, size_t *size);
/* Is the text a decimal number, with nothing around it? `whole_out`: has it no point and no
 * exponent? */
bool label_text_is_number(const char *text, size_t size, bool *whole_out);
/* Does the text look like several numbers, or like one with a comma: "1 0", "1,5", "1|0"? */
bool label_text_is_several(const char *text, size_t size);
/* Is the text an object, as JSON and Python write it? */
bool label_text_is_object(const char *text, size_t size);
/* Is the text a list in brackets, as JSON, Python and NumPy write it? Then cut the brackets off. */
bool label_text_is_list(const char **text, size_t *size);
/* Take the next entry of the text of a list, without the blanks and commas around it; false: there
 * is no further one. */
bool label_text_next(const char **text, size_t *size, const char **entry_out,
		     size_t *entry_size_out);

#endif
