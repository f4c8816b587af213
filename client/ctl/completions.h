/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl completions SHELL`: scripts that complete commands, options, settings, streams and
 * paths, made from the tables of commands and options. Asks no daemon; the scripts do.
 */
#ifndef STOKER_CTL_COMPLETIONS_H
#define STOKER_CTL_COMPLETIONS_H

#include <stdio.h>

/* 0, or -EINVAL: there is nothing for this shell. */
struct command;

int completions_print(FILE *file, const char *shell, const struct command *commands, size_t count);

#endif
