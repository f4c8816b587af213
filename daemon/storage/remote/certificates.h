/* SPDX-License-Identifier: MIT */
/* Paths of the certificates that a server's is checked against. Any thread; knows no server. */
#ifndef STOKER_STORAGE_REMOTE_CERTIFICATES_H
#define STOKER_STORAGE_REMOTE_CERTIFICATES_H

/* A file of the environment. Otherwise NULL, if `file` or `folder`, where the library looks by
 * itself (NULL: nowhere), is there; or a file where another distribution has it. */
const char *certificates_find(const char *file, const char *folder);

#endif
