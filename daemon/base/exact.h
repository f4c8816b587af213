/* SPDX-License-Identifier: MIT */
/*
 * exp and log from additions, multiplications and divisions alone, so that a drawn parameter is the
 * same on every machine and libc (libm's differ in the last bit). Relative error below 1e-15 on
 * the ranges that transforms use. Compiled without contraction. Any thread.
 */
#ifndef STOKER_BASE_EXACT_H
#define STOKER_BASE_EXACT_H

double exact_exp(double x); /* |x| <= 700 */
double exact_log(double x); /* x > 0, finite, normal */

#endif
