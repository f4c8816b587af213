/* SPDX-License-Identifier: MIT */
/*
 * The configuration of stokerd. One table (config/option.c) has all options; flags, environment,
 * files, defaults, --help and --print-config derive from it. A flag overrides the environment
 * (STOKER_<NAME>), which overrides <config>.d/ *.conf (a later name, compared by bytes, overrides
 * an earlier one), which override <config>, which overrides the default. Each value knows where it
 * came from.
 *
 * Loaded by main() before there are threads; afterwards only config_set() and reload_take() on the
 * loop thread change it. Knows no loop and no socket.
 */
#ifndef STOKER_CONFIG_H
#define STOKER_CONFIG_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/log.h"

#define CONFIG_OPTIONS 42 /* rows of the table */

struct roots;

#define CONFIG_AUTO UINT32_MAX /* of workers and fetchers: as many as help */

#define CONFIG_SET "stokerctl set" /* the origin of what config_set() changed */

enum {
	CONFIG_E_USAGE = 1, /* the command line is wrong */
	CONFIG_E_BAD,	    /* a file or the environment is wrong, or the machine lacks something */
	CONFIG_DONE,	    /* --help and the like: exit with success */
};

struct config {
	char *socket, *control_socket; /* owned */
	char *metrics_socket;	       /* NULL: none; owned */
	char *metrics_address;	       /* numeric; owned */
	unsigned metrics_port;	       /* of that address; 0: none */
	char *metrics_token;	       /* file of who may see names there; NULL: none; owned */
	mode_t socket_mode, control_socket_mode, shm_mode;
	gid_t socket_gid;	     /* (gid_t)-1: the daemon's */
	struct roots *dataset_roots; /* what other users may have read; owned */
	unsigned workers, fetchers;
	int nice;
	char *cpus;		  /* processors for the pool's threads; NULL: all; owned */
	uint64_t ring_memory;	  /* bytes of all rings together */
	uint64_t dataset_memory;  /* bytes of all samples that are kept in memory */
	uint64_t index_memory;	  /* bytes of all JPEG seek indexes together; 0: none are made */
	unsigned dataset_idle_ms; /* that one stays open without a user; 0: it does not */
	char *index_dir;	  /* where they are kept on disk; NULL: nowhere; owned */
	char *cache_dir; /* where bytes are kept that were dear to get; NULL: nowhere; owned */
	struct roots *stage_roots;   /* folders whose files are kept there, too; owned */
	uint64_t cache_size;	     /* bytes of objects kept there; 0: none */
	uint64_t cache_free;	     /* of its file system, that stay free */
	uint64_t cache_memory;	     /* bytes of all pictures kept as decoded; 0: none are */
	uint64_t cache_decoded_size; /* the same on disk, below cache_dir */
	unsigned max_connections;
	unsigned max_readers_per_user; /* 0: no limit, as below */
	uint64_t ring_memory_per_user;
	unsigned queued_per_user;
	unsigned lease_timeout_ms;
	unsigned request_timeout_ms, drain_timeout_ms;
	unsigned exit_idle_ms; /* without a connection; 0: stay */
	uint64_t max_file_bytes, max_pixels, max_coefficient_bytes;
	unsigned max_scans, decode_deadline_ms;
	unsigned producer_deadline_ms; /* of a sample; ten times that for its first */
	enum log_level log_level;
	enum log_format log_format;

	int argc; /* the command line, which a reload reads again; borrowed */
	char **argv;
	char *path;		       /* of the main file; owned */
	char *origins[CONFIG_OPTIONS]; /* by row of the table; owned */
};
#define CONFIG_NULL ((struct config){0})

/* 0, CONFIG_E_USAGE, CONFIG_E_BAD, CONFIG_DONE or -ENOMEM; `out` is written only on 0. */
int config_load(struct config *out, int argc, char **argv, struct fault *fault);
void config_deinit(struct config *config);

/* Change an option while the daemon runs, for the control message SET; `stokerd --help` marks those
 * that can be changed. 0, CONFIG_E_BAD or -ENOMEM; on failure nothing changed. */
int config_set(struct config *config, const char *name, const char *value, struct fault *fault);

/* Read again what `config` was loaded from: see config/reload.h. 0, CONFIG_E_BAD or -ENOMEM. */
int config_reload(struct config *out, const struct config *config, struct fault *fault);

/* All values as a configuration file, each with its origin. */
void config_print(const struct config *config, FILE *file);

#endif
