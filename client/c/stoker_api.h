/* SPDX-License-Identifier: MIT */
/* Mark of the functions of libstoker; its other headers include it. */
#ifndef STOKER_API_H
#define STOKER_API_H

#if defined(__GNUC__)
#define STOKER_API __attribute__((visibility("default")))
#else
#define STOKER_API
#endif

#endif
