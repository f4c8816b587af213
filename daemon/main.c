// SPDX-License-Identifier: MIT
/* stokerd: load the configuration, build the server, run it, tear it down. Main thread. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "loop/server.h"

/* A connection takes two descriptors (its socket, its process) and a file being read one: raise the
 * limit as far as the system allows. */
static void raise_limits(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files) < 0)
			log_warning("cannot raise the limit of open files: %s", strerror(errno));
	}
}

/* Ignore signals whose default action would kill the daemon silently. SIGHUP is the server's from
 * its start on. */
static void ignore_signals(void)
{
	static const int numbers[] = {
		SIGPIPE, /* a client that is gone becomes an error of the write ... */
		SIGXFSZ, /* ... and so does exceeding `ulimit -f` */
		SIGHUP,	 SIGUSR1, SIGUSR2, SIGALRM,
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		signal(numbers[i], SIG_IGN);
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

/* libuv calls abort() if its table of descriptors cannot grow: end with a message instead. */
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

	ignore_signals();
	log_open();
	int r = config_load(&config, argc, argv, &fault);
	if (r == CONFIG_DONE)
		return fclose(stdout) ? EX_IOERR : EX_OK;
	if (r) {
		log_error("%s", fault.text);
		return r == CONFIG_E_USAGE ? EX_USAGE : r == CONFIG_E_BAD ? EX_CONFIG : EX_OSERR;
	}
	log_set_level(config.log_level);
	log_set_format(config.log_format);
	raise_limits();
	uv_replace_allocator(malloc, grow_or_end, calloc, free); /* fails only if one is NULL */

	r = server_init(&server, &config, &fault);
	if (r) {
		log_error("%s", fault.text);
		config_deinit(&config);
		return exit_code(r);
	}
	server_run(&server);
	server_deinit(&server);
	config_deinit(&config);
	r = server_succeed(&server);
	log_info("stopped");
	return r;
}
