// SPDX-License-Identifier: MIT
/* What the loop uses of the system: wake-ups from threads, signals, tasks, shared memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "loop/os/segment.h"
#include "loop/os/signals.h"
#include "loop/os/task.h"
#include "loop/os/wakeup.h"
#include "tests/unit/test.h"

static uv_loop_t loop;

static int setup(void **state)
{
	(void)state;
	return uv_loop_init(&loop);
}

/* A handle that is left open fails the test. Closed ones end here, after the test: they are
 * static. */
static int teardown(void **state)
{
	(void)state;
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

/* -- wake-up ------------------------------------------------------------------------------ */

static void send_from_a_thread(void *wakeup)
{
	for (int i = 0; i < 1000; i++)
		wakeup_send(wakeup);
}

static void wakeups_of_threads_are_never_lost(void **state)
{
	(void)state;
	static struct wakeup wakeup;
	uv_thread_t threads[2];
	assert_int_equal(wakeup_init(&wakeup, &loop), 0);
	assert_int_equal(uv_run(&loop, UV_RUN_NOWAIT), 1); /* active, and nothing to do */
	for (int i = 0; i < 2; i++)
		assert_int_equal(uv_thread_create(&threads[i], send_from_a_thread, &wakeup), 0);
	uv_run(&loop, UV_RUN_ONCE); /* sleeps until one arrives */
	for (int i = 0; i < 2; i++)
		uv_thread_join(&threads[i]);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_false(atomic_load(&wakeup.sent));
	wakeup_send(&wakeup); /* the next one counts again */
	uv_run(&loop, UV_RUN_ONCE);
	assert_false(atomic_load(&wakeup.sent));
	uv_close((uv_handle_t *)&wakeup.poll, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	wakeup_deinit(&wakeup);
	wakeup_deinit(&wakeup);
}

static void wakeups_before_an_answer_are_one(void **state)
{
	(void)state;
	static struct wakeup wakeup;
	eventfd_t count;
	assert_int_equal(wakeup_init(&wakeup, &loop), 0);
	for (int i = 0; i < 5; i++)
		wakeup_send(&wakeup);
	assert_int_equal(eventfd_read(wakeup.fd, &count), 0);
	assert_int_equal(count, 1);
	uv_close((uv_handle_t *)&wakeup.poll, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	wakeup_deinit(&wakeup);
}

static void a_wakeup_that_was_not_made(void **state)
{
	(void)state;
	struct wakeup wakeup = WAKEUP_NULL;
	wakeup_deinit(&wakeup);
	assert_int_equal(wakeup.fd, -1);
}

/* -- signals ------------------------------------------------------------------------------ */

static int caught[8], caught_count;

static void on_signal(struct signals *signals, int number)
{
	caught[caught_count++] = number;
	if (number == SIGTERM)
		uv_poll_stop(&signals->poll);
}

static void end_signals(struct signals *signals)
{
	uv_close((uv_handle_t *)&signals->poll, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	signals_deinit(signals);
}

/* Run in a child process. Its exit status, or minus the signal that killed it. */
static int in_child(int run(void))
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int catch_both(void)
{
	struct signals signals;
	caught_count = 0;
	if (uv_loop_fork(&loop) || signals_open(&signals, &loop, on_signal))
		return 1;
	kill(getpid(), SIGINT);
	uv_run(&loop, UV_RUN_ONCE);
	kill(getpid(), SIGTERM);
	uv_run(&loop, UV_RUN_DEFAULT);
	end_signals(&signals);
	return caught_count == 2 && caught[0] == SIGINT && caught[1] == SIGTERM ? 0 : 2;
}

static void signals_are_events(void **state)
{
	(void)state;
	assert_int_equal(in_child(catch_both), 0);
}

/* One signal comes after the loop, more when everything is closed. */
static int late(void)
{
	struct signals signals;
	if (uv_loop_fork(&loop) || signals_open(&signals, &loop, on_signal))
		return 1;
	kill(getpid(), SIGTERM);
	uv_run(&loop, UV_RUN_DEFAULT);
	kill(getpid(), SIGTERM);
	end_signals(&signals);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGINT);
	usleep(1000);
	return 7;
}

static void a_late_signal_does_not_kill(void **state)
{
	(void)state;
	assert_int_equal(in_child(late), 7);
}

static void raise_in_thread(void *arg)
{
	(void)arg;
	pthread_kill(uv_thread_self(), SIGTERM);
}

/* A thread that is started later has them blocked as well. */
static int in_thread(void)
{
	struct signals signals;
	uv_thread_t thread;
	if (uv_loop_fork(&loop) || signals_open(&signals, &loop, on_signal))
		return 1;
	if (uv_thread_create(&thread, raise_in_thread, NULL))
		return 2;
	uv_thread_join(&thread);
	end_signals(&signals);
	return 7;
}

static void threads_are_not_killed(void **state)
{
	(void)state;
	assert_int_equal(in_child(in_thread), 7);
}

/* -- tasks -------------------------------------------------------------------------------- */

struct errand {
	struct task task;
	uv_thread_t ran_on;
	uv_sem_t *gate; /* NULL: it does not wait */
	int status, done;
};

static void errand_run(struct task *task)
{
	struct errand *errand = list_entry(task, struct errand, task);
	errand->ran_on = uv_thread_self();
	if (errand->gate)
		uv_sem_wait(errand->gate);
}

static void errand_done(struct task *task, int status)
{
	struct errand *errand = list_entry(task, struct errand, task);
	errand->status = status;
	errand->done++;
}

static void errand_start(struct errand *errand, struct task_queue *queue, enum task_kind kind,
			 uid_t uid, uv_sem_t *gate)
{
	*errand = (struct errand){.gate = gate};
	assert_int_equal(task_start(&errand->task, queue, kind, uid, errand_run, errand_done), 0);
}

static void a_task_runs_elsewhere_and_calls_back(void **state)
{
	(void)state;
	static struct task_queue queue;
	struct errand errands[5];
	uv_thread_t own = uv_thread_self();
	assert_int_equal(task_queue_init(&queue, &loop), 0);
	for (int i = 0; i < 5; i++)
		errand_start(&errands[i], &queue, TASK_OWN, 0, NULL);
	assert_int_equal(queue.pending, 5);
	assert_int_equal(errands[0].done, 0); /* not from inside task_start() */
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(queue.pending, 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(errands[i].done, 1);
		assert_int_equal(errands[i].status, 0);
		assert_false(uv_thread_equal(&own, &errands[i].ran_on));
	}
	task_queue_deinit(&queue);
	task_queue_deinit(&queue);
}

static void run_until_done(const struct errand *errand)
{
	while (!errand->done)
		uv_run(&loop, UV_RUN_ONCE);
}

/* Twenty of one user that hang hold up neither another user's nor the memory of one's own. */
static void a_task_that_hangs_is_alone(void **state)
{
	(void)state;
	static struct task_queue queue;
	struct errand hang[20], other, ring, last;
	uv_sem_t gate;
	uid_t uid = 0;
	uint64_t later = clock_ns() + 2 * TASK_STUCK_NS;
	assert_int_equal(uv_sem_init(&gate, 0), 0);
	assert_int_equal(task_queue_init(&queue, &loop), 0);
	for (int i = 0; i < 20; i++)
		errand_start(&hang[i], &queue, TASK_OPENING, 7, &gate);
	errand_start(&other, &queue, TASK_OPENING, 8, NULL);
	errand_start(&ring, &queue, TASK_RING, 7, NULL);
	run_until_done(&other);
	run_until_done(&ring);
	/* Two are in threads; each time they are found to be stuck there are two more, to a limit.
	 */
	unsigned stuck = 0, before;
	do {
		before = stuck;
		usleep(20000);
		stuck = task_queue_look(&queue, later, &uid);
		assert_true(stuck - before <= TASK_THREADS);
	} while (stuck < TASK_THREADS_MAX);
	assert_int_equal(uid, 7);
	usleep(100000); /* for one more to begin, if it may */
	assert_int_equal(task_queue_look(&queue, later, &uid), TASK_THREADS_MAX);
	for (int i = 0; i < 20; i++)
		uv_sem_post(&gate);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(task_queue_look(&queue, later, &uid), 0);
	errand_start(&last, &queue, TASK_OPENING, 7, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(last.done, 1);
	task_queue_deinit(&queue);
	uv_sem_destroy(&gate);
}

/* -- segments ----------------------------------------------------------------------------- */

/* Laid out by hand: a header and one field of 100 bytes for 8 slots. */
static struct segment planned(void)
{
	struct segment segment = SEGMENT_NULL;
	struct segment_header *header = &segment.header;
	memcpy(header->magic, SEGMENT_MAGIC, sizeof(header->magic));
	header->version = 1;
	header->header_bytes = SEGMENT_PAGE;
	header->slots = 8;
	header->n_fields = 1;
	segment.field[0].stride = 100;
	segment.field[0].offset = segment_page();
	header->total_bytes = segment.bytes = 2 * segment_page();
	return segment;
}

/* A reader's descriptor, then only its mapping, keep the memory after the daemon's are gone. */
static void held_until_the_last_mapping_is_gone(void **state)
{
	(void)state;
	static const enum segment_transport transports[] = {SEGMENT_FD, SEGMENT_PATH};
	for (int i = 0; i < 2; i++) {
		struct segment segment = planned();
		struct fault fault;
		assert_int_equal(
			segment_make(&segment, transports[i], "stoker-os-", 0600, NULL, 0, &fault),
			0);
		int reader = transports[i] == SEGMENT_FD ? dup(segment.fd)
							 : open(segment.path, O_RDONLY);
		assert_true(reader >= 0);
		int fd = segment_leave(&segment);
		assert_true(fd >= 0 && segment.fd == -1 && !segment.map);
		assert_true(segment_is_held(fd));
		void *map =
			mmap(NULL, segment_page(), PROT_READ | PROT_WRITE, MAP_PRIVATE, reader, 0);
		assert_ptr_not_equal(map, MAP_FAILED);
		close(reader);
		assert_true(segment_is_held(fd));
		munmap(map, segment_page());
		assert_false(segment_is_held(fd));
		assert_false(segment_is_held(fd)); /* asking holds nothing */
		close(fd);
	}
}

static void readers_cannot_write(void **state)
{
	(void)state;
	struct segment segment = planned();
	struct fault fault;
	char self[64];
	assert_int_equal(segment_make(&segment, SEGMENT_FD, "", 0600, NULL, 0, &fault), 0);
	assert_ptr_equal(segment_at(&segment, 0, 3), segment.map + segment_page() + 300);
	memset(segment_at(&segment, 0, 3), 'x', 100);
	char *map = mmap(NULL, segment.bytes, PROT_READ, MAP_SHARED, segment.fd, 0);
	assert_true(map != MAP_FAILED);
	assert_memory_equal(map, SEGMENT_MAGIC, 8);
	assert_int_equal(map[segment_page() + 399], 'x');
	assert_int_equal(map[segment_page() + 400], 0);
	munmap(map, segment.bytes);
	assert_true(mmap(NULL, segment.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0) ==
		    MAP_FAILED);
	assert_int_equal(ftruncate(segment.fd, 0), -1);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", segment.fd);
	int fd = open(self, O_RDWR | O_CLOEXEC); /* the seals hold for a new descriptor, too */
	if (fd >= 0) {
		assert_int_equal(write(fd, "x", 1), -1);
		assert_int_equal(ftruncate(fd, 0), -1);
		close(fd);
	}
	segment_deinit(&segment);
	segment_deinit(&segment);
	assert_int_equal(segment.fd, -1);
}

static void a_segment_with_a_path_is_swept(void **state)
{
	(void)state;
	struct segment segment = planned(), other = planned();
	struct fault fault;
	struct stat stat;
	char prefix[64], others[64];
	snprintf(prefix, sizeof(prefix), "stoker-test-%ld-a-", (long)getpid());
	snprintf(others, sizeof(others), "stoker-test-%ld-b-", (long)getpid());
	assert_int_equal(segment_make(&segment, SEGMENT_PATH, prefix, 0640, NULL, 0, &fault), 0);
	assert_int_equal(segment_make(&other, SEGMENT_PATH, others, 0600, NULL, 0, &fault), 0);
	assert_int_equal(lstat(segment.path, &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0640);
	assert_int_equal(stat.st_size, segment.bytes);
	assert_int_equal(segment_sweep(prefix), 1); /* the daemon was killed */
	assert_int_equal(lstat(segment.path, &stat), -1);
	assert_int_equal(lstat(other.path, &stat), 0); /* another daemon's */
	assert_int_equal(segment_sweep(prefix), 0);
	segment_deinit(&segment);
	segment_deinit(&other);
	assert_int_equal(segment_sweep(others), 0);
}

/* Runs on pages of their own; a run that comes later changes no other. */
static void a_segment_with_memory_for_some_slots(void **state)
{
	(void)state;
	const struct segment_run first = {2, 1}, second = {1, 2};
	static const enum segment_transport transports[] = {SEGMENT_FD, SEGMENT_PATH};
	for (int i = 0; i < 2; i++) {
		struct segment segment = planned();
		struct fault fault;
		struct stat stat;
		segment.field[0].stride = 2 * segment_page();
		segment.bytes = segment.header.total_bytes = 17 * segment_page();
		assert_int_equal(segment_bytes_of(&segment, &second, 1), 5 * segment_page());
		assert_int_equal(segment_make(&segment, transports[i], "stoker-os-", 0600, &first,
					      1, &fault),
				 0);
		assert_int_equal(segment.backed, 3 * segment_page());
		assert_int_equal(fstat(segment.fd, &stat), 0);
		assert_int_equal(stat.st_size, segment.bytes);
		assert_int_equal(stat.st_blocks * 512, 3 * segment_page());
		memset(segment_at(&segment, 0, 2), 'x', 2 * segment_page());
		assert_int_equal(segment_back(&segment, &second, 1, &fault), 0);
		assert_int_equal(segment_allocated(&segment), 5 * segment_page());
		assert_int_equal(*(char *)segment_at(&segment, 0, 2), 'x');
		assert_int_equal(*(char *)segment_at(&segment, 0, 1), 0);
		segment_deinit(&segment);
	}
}

/* A limit in a child process stands for a machine that is short of memory. */
static int make_beyond_a_limit(void)
{
	static const enum segment_transport transports[] = {SEGMENT_FD, SEGMENT_PATH};
	const struct rlimit limit = {segment_page(), segment_page()};
	char prefix[64], bytes[32];
	snprintf(prefix, sizeof(prefix), "stoker-test-%ld-", (long)getpid());
	snprintf(bytes, sizeof(bytes), "%zu bytes", planned().bytes);
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		struct segment segment = planned();
		struct fault fault = {""};
		if (segment_make(&segment, transports[i], prefix, 0600, NULL, 0, &fault) !=
		    SEGMENT_E_MEMORY)
			return 2;
		if (!strstr(fault.text, bytes) || !strstr(fault.text, "lower batch_size"))
			return 3;
		if (segment.fd != -1 || segment.map || segment_sweep(prefix) != 0)
			return 4; /* something is left behind */
	}
	return 0;
}

static void too_little_memory_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(in_child(make_beyond_a_limit), 0);
}

static void prefixes_are_of_a_user_and_a_socket(void **state)
{
	(void)state;
	char one[64], other[64], again[64], begin[32];
	segment_prefix("/run/stoker/a", one);
	segment_prefix("/run/stoker/b", other);
	segment_prefix("/run/stoker/a", again);
	snprintf(begin, sizeof(begin), "stoker-%u-", (unsigned)getuid());
	assert_memory_equal(one, begin, strlen(begin));
	assert_string_equal(one, again);
	assert_string_not_equal(one, other);
	assert_null(strchr(one, '/'));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(wakeups_of_threads_are_never_lost),
		CASE(wakeups_before_an_answer_are_one),
		cmocka_unit_test(a_wakeup_that_was_not_made),
		CASE(signals_are_events),
		CASE(a_late_signal_does_not_kill),
		CASE(threads_are_not_killed),
		CASE(a_task_runs_elsewhere_and_calls_back),
		CASE(a_task_that_hangs_is_alone),
		cmocka_unit_test(readers_cannot_write),
		cmocka_unit_test(held_until_the_last_mapping_is_gone),
		cmocka_unit_test(a_segment_with_a_path_is_swept),
		cmocka_unit_test(a_segment_with_memory_for_some_slots),
		cmocka_unit_test(too_little_memory_is_an_error),
		cmocka_unit_test(prefixes_are_of_a_user_and_a_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
