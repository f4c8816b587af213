// SPDX-License-Identifier: MIT
/* A listening socket: its file exists only while connect() works, a dead socket is replaced,
 * anything else at the path is left alone. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/os/listener.h"
#include "tests/unit/test.h"

static char folder[64];
static struct fault fault; /* of the last call */

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/stoker-listener-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void assert_words(const char *words)
{
	if (!strstr(fault.text, words))
		fail_msg("no '%s' in '%s'", words, fault.text);
}

static int bind_at(struct listener *listener, const char *path)
{
	*listener = LISTENER_NULL;
	fault.text[0] = '\0';
	return listener_bind(listener, path, 0600, (gid_t)-1, &fault);
}

/* 0 or an errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
	close(fd);
	return r;
}

static unsigned entries(void)
{
	unsigned count = 0;
	char command[128];
	snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
	FILE *pipe = popen(command, "r");
	assert_int_equal(fscanf(pipe, "%u", &count), 1);
	pclose(pipe);
	return count;
}

/* -- the file ----------------------------------------------------------------------------- */

static void a_socket_comes_and_goes(void **state)
{
	(void)state;
	struct listener listener;
	struct stat stat;
	umask(022);
	assert_int_equal(bind_at(&listener, at("s")), 0);
	assert_int_equal(connect_to(at("s")), 0);
	assert_int_equal(lstat(at("s"), &stat), 0);
	assert_true(S_ISSOCK(stat.st_mode));
	assert_int_equal(stat.st_mode & 0777, 0600);
	assert_int_equal(entries(), 2); /* the socket and its lock; no temporary name */
	listener_stop(&listener);
	assert_int_equal(connect_to(at("s")), ENOENT);
	assert_int_equal(entries(), 1);
	listener_stop(&listener);
	assert_int_equal(bind_at(&listener, at("s")), 0); /* the lock is free again */
	listener_stop(&listener);
}

static void the_mode_is_the_one_asked_for(void **state)
{
	(void)state;
	struct listener listener = LISTENER_NULL;
	struct stat stat;
	mode_t before = umask(077);
	assert_int_equal(listener_bind(&listener, at("s"), 0666, getgid(), &fault), 0);
	assert_int_equal(umask(before), 077); /* as it was */
	assert_int_equal(lstat(at("s"), &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0666);
	listener_stop(&listener);
}

#define ROUNDS 1000

static const char *turn(int round)
{
	return at(round % 2 ? "odd" : "even");
}

/* Waits for each file in turn and connects at once. */
static int connect_to_each(int answer)
{
	struct stat stat;
	alarm(60); /* if the parent fails, no file comes */
	for (int round = 0; round < ROUNDS; round++) {
		while (lstat(turn(round), &stat) < 0)
			;
		int r = connect_to(turn(round));
		if (r || write(answer, "x", 1) != 1)
			return 1;
	}
	return 0;
}

static void whoever_sees_the_file_can_connect(void **state)
{
	(void)state;
	int ends[2], status;
	char answer;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(connect_to_each(ends[1]));
	close(ends[1]);
	for (int round = 0; round < ROUNDS; round++) {
		struct listener listener;
		assert_int_equal(bind_at(&listener, turn(round)), 0);
		assert_int_equal(read(ends[0], &answer, 1), 1);
		listener_stop(&listener);
	}
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_path_of_107_bytes(void **state)
{
	(void)state;
	char path[110];
	struct listener listener;
	size_t size = (size_t)snprintf(path, sizeof(path), "%s/", folder);
	memset(path + size, 'x', sizeof(path) - size);
	path[107] = '\0';
	assert_int_equal(bind_at(&listener, path), 0);
	assert_int_equal(connect_to(path), 0);
	listener_stop(&listener);
	path[107] = 'x';
	path[108] = '\0';
	assert_int_equal(bind_at(&listener, path), LISTENER_E_PATH);
	assert_words("108 bytes, at most 107");
	listener_stop(&listener);
}

static void a_path_in_the_working_folder(void **state)
{
	(void)state;
	struct listener listener;
	char before[256];
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(bind_at(&listener, "s"), 0);
	assert_int_equal(connect_to(at("s")), 0);
	listener_stop(&listener);
	assert_int_equal(chdir(before), 0);
}

/* -- what is there already ---------------------------------------------------------------- */

static void a_dead_socket_is_replaced(void **state)
{
	(void)state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct listener listener;
	strcpy(address.sun_path, at("s"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(connect_to(at("s")), ECONNREFUSED);
	assert_int_equal(bind_at(&listener, at("s")), 0);
	assert_int_equal(connect_to(at("s")), 0);
	listener_stop(&listener);
}

/* Left by a killed daemon of the same pid, as in a container that starts again. */
static void a_temporary_name_is_replaced(void **state)
{
	(void)state;
	char name[32];
	struct listener listener;
	snprintf(name, sizeof(name), ".stokerd.%ld", (long)getpid());
	assert_int_equal(close(open(at(name), O_WRONLY | O_CREAT, 0600)), 0);
	assert_int_equal(bind_at(&listener, at("s")), 0);
	assert_int_equal(entries(), 2);
	listener_stop(&listener);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	(void)state;
	struct listener listener;
	struct stat stat;
	assert_int_equal(close(open(at("s"), O_WRONLY | O_CREAT, 0640)), 0);
	assert_int_equal(bind_at(&listener, at("s")), LISTENER_E_PATH);
	assert_words("is not a socket");
	listener_stop(&listener);
	assert_int_equal(lstat(at("s"), &stat), 0);
	assert_true(S_ISREG(stat.st_mode));
}

static void a_second_daemon_is_told_of_the_first(void **state)
{
	(void)state;
	struct listener first, second;
	char pid[32];
	snprintf(pid, sizeof(pid), "(pid %ld)", (long)getpid());
	assert_int_equal(bind_at(&first, at("s")), 0);
	assert_int_equal(bind_at(&second, at("s")), LISTENER_E_RUNNING);
	assert_words("already running");
	assert_words(pid);
	listener_stop(&second);
	assert_int_equal(connect_to(at("s")), 0); /* the first is as before */
	listener_stop(&first);
}

/* A server that does not know of locks. */
static void a_socket_that_answers_is_left_alone(void **state)
{
	(void)state;
	struct listener first, second;
	assert_int_equal(bind_at(&first, at("s")), 0);
	close(first.lock_fd);
	first.lock_fd = -1;
	assert_int_equal(bind_at(&second, at("s")), LISTENER_E_RUNNING);
	assert_words("answers");
	listener_stop(&second);
	assert_int_equal(connect_to(at("s")), 0);
	listener_stop(&first);
}

static void a_folder_that_is_missing(void **state)
{
	(void)state;
	struct listener listener;
	assert_int_equal(bind_at(&listener, at("none/s")), LISTENER_E_PATH);
	assert_words("No such file or directory");
	assert_words("make its directory");
	listener_stop(&listener);
}

/* -- accepting ---------------------------------------------------------------------------- */

static int accepted;

static void on_accept(struct listener *listener, int fd)
{
	close(fd);
	if (++accepted == 3)
		listener_stop(listener);
}

static void connections_are_accepted(void **state)
{
	(void)state;
	struct listener listener;
	uv_loop_t loop;
	accepted = 0;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(bind_at(&listener, at("s")), 0);
	listener.on_accept = on_accept;
	assert_int_equal(listener_start(&listener, &loop), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(connect_to(at("s")), 0);
	uv_run(&loop, UV_RUN_DEFAULT); /* on_accept() stops it */
	assert_int_equal(accepted, 3);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_socket_that_is_passed(void **state)
{
	(void)state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct listener listener = LISTENER_NULL;
	struct stat stat;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];
	strcpy(address.sun_path, at("s"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(listener_adopt(&listener, fd, &fault), 0);
	assert_string_equal(listener.path, at("s"));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(listener_adopt(&listener, fd, &fault), LISTENER_E_PATH);
	assert_words("two sockets were passed");
	listener_stop(&listener);
	assert_int_equal(lstat(at("s"), &stat), 0); /* its file is systemd's */
	assert_int_equal(pipe(ends), 0);
	listener = LISTENER_NULL;
	assert_int_equal(listener_adopt(&listener, ends[0], &fault), LISTENER_E_PATH);
	close(ends[0]);
	close(ends[1]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_socket_comes_and_goes),
		CASE(the_mode_is_the_one_asked_for),
		CASE(whoever_sees_the_file_can_connect),
		CASE(a_path_of_107_bytes),
		CASE(a_path_in_the_working_folder),
		CASE(a_dead_socket_is_replaced),
		CASE(a_temporary_name_is_replaced),
		CASE(what_is_no_socket_is_left_alone),
		CASE(a_second_daemon_is_told_of_the_first),
		CASE(a_socket_that_answers_is_left_alone),
		CASE(a_folder_that_is_missing),
		CASE(connections_are_accepted),
		CASE(a_socket_that_is_passed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
