/* SPDX-License-Identifier: MIT */
/*
 * Reproducible exp, log, sin and cos: from additions, multiplications and divisions alone, so that
 * random parameters and filter weights have the same bits on every machine and libc (versions of
 * libm differ in the last bit). Error below 1e-15 on the ranges that transforms use: relative for
 * exp and log, absolute for sin and cos. Compiled without fused multiply-add. Pure; any thread.
 */
#ifndef STOKER_TRANSFORM_PORTABLE_MATH_H
#define STOKER_TRANSFORM_PORTABLE_MATH_H

double portable_exp(double x); /* |x| <= 700 */
double portable_log(double x); /* x > 0, finite, normal */
double portable_sin(double x); /* |x| <= 1000 */
double portable_cos(double x); /* |x| <= 1000 */

#endif
