/* SPDX-License-Identifier: MIT */
/*
 * cmocka, with what its header wants before it.
 */
#ifndef STOKER_TEST_TEST_H
#define STOKER_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
