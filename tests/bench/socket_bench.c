// SPDX-License-Identifier: MIT
/*
 * What a hand-over is compared with: a byte that goes to another process and back by a socket,
 * beside processes of a lower priority that keep all processors busy:
 *	socket_bench LOADS NICENESS [SECONDS]
 * Two wake-ups, as from a worker to the loop and from there to a trainer. Prints one line of JSON.
 */
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define BLOCK ((size_t)4 << 20)
#define PAUSE_NS 300000 /* about what a worker takes for a picture */
#define TIMES_MAX 1000000

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* A child that ends with its parent. */
static pid_t child(void)
{
	pid_t pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void burden(int niceness)
{
	char *from = malloc(BLOCK), *to = malloc(BLOCK);
	if (!from || !to || setpriority(PRIO_PROCESS, 0, niceness) < 0)
		err(1, "load");
	memset(from, 1, BLOCK);
	for (;;) {
		memcpy(to, from, BLOCK);
		__asm__ volatile("" : : "r"(to) : "memory");
	}
}

static void answer(int fd)
{
	char byte;
	while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	int ends[2];
	char byte = 0;
	uint64_t *times = malloc(TIMES_MAX * sizeof(*times)), count = 0;
	if (argc < 3 || argc > 4 || !times)
		errx(64, "usage: socket_bench LOADS NICENESS [SECONDS]");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		err(1, "socketpair");
	for (int i = 0; i < atoi(argv[1]); i++)
		if (child() == 0)
			burden(atoi(argv[2]));
	if (child() == 0)
		answer(ends[1]);
	uint64_t end = clock_ns() + (uint64_t)((argc > 3 ? atof(argv[3]) : 3) * 1e9);
	while (clock_ns() < end && count < TIMES_MAX) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		uint64_t begun = clock_ns();
		if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			err(1, "socket");
		times[count++] = clock_ns() - begun;
	}
	qsort(times, count, sizeof(*times), by_value);
	printf("{\"batches\": %llu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
	       (unsigned long long)count, (double)times[count / 2] / 1e3,
	       (double)times[count * 99 / 100] / 1e3);
	free(times);
	return 0;
}
