/* SPDX-License-Identifier: MIT */
/* The bytes of page.html, which the build makes a list of. Data only. */
#ifndef STOKER_LOOP_WATCH_PAGE_HTML_H
#define STOKER_LOOP_WATCH_PAGE_HTML_H

#include <stddef.h>

extern const unsigned char page_html[];
extern const size_t page_html_size;

#endif
