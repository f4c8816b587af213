// SPDX-License-Identifier: MIT
/* stokerd: parse, build, run, tear down. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "loop/server.h"

/* A descriptor a connection, one to watch its process, one a file being read: ask for all we may.
 */
static void raise_limits(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files) < 0)
			log_warning("cannot raise the limit of open files");
	}
}

static int exit_code(int result)
{
	switch (result) {
	case SERVER_E_RUNNING:
		return EX_TEMPFAIL;
	case SERVER_E_SETUP:
		return EX_CANTCREAT;
	default:
		return EX_OSERR;
	}
}

/* libuv calls abort() where its table of descriptors cannot grow: end in words instead. */
static void *grow_or_end(void *old, size_t size)
{
	void *grown = realloc(old, size);
	if (grown || size == 0)
		return grown;
	log_error("out of memory: cannot watch another descriptor");
	_exit(EX_OSERR);
}

int main(int argc, char **argv)
{
	struct config config;
	struct server server;
	struct fault fault;

	int r = config_load(&config, argc, argv, &fault);
	if (r == CONFIG_DONE)
		return fclose(stdout) ? EX_IOERR : EX_OK;
	if (r) {
		log_error("%s", fault.text);
		return r == CONFIG_E_USAGE ? EX_USAGE : r == CONFIG_E_BAD ? EX_CONFIG : EX_OSERR;
	}
	log_set_level(config.log_level);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a ring or an index beyond `ulimit -f` is an error in words */
	mallopt(M_ARENA_MAX, 4);  /* an arena a worker would keep a monster's memory a worker */
	raise_limits();
	uv_replace_allocator(malloc, grow_or_end, calloc, free); /* fails for want of one only */

	r = server_init(&server, &config, &fault);
	if (r) {
		log_error("%s", fault.text);
		config_deinit(&config);
		return exit_code(r);
	}
	r = server_run(&server);
	server_deinit(&server);
	config_deinit(&config);
	log_info("stopped");
	return r;
}
