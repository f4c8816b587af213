/* SPDX-License-Identifier: MIT */
/* Finding the daemon: where its sockets are, who may serve them, and a queue that is full. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/c/address.h"
#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

static void test_preflight(void **state)
{
	char places[ADDRESS_PLACES_MAX][ADDRESS_MAX], own[ADDRESS_MAX], text[200];
	(void)state;
	unsetenv("STOKER_SOCKET");
	unsetenv("STOKER_CONTROL_SOCKET");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	snprintf(own, sizeof(own), "/tmp/stoker-%u/stokerd.sock", (unsigned)getuid());
	assert_int_equal(address_places(ADDRESS_DATA, NULL, places), 3);
	assert_string_equal(places[0], "/run/user/7/stoker/stokerd.sock");
	assert_string_equal(places[1], own);
	assert_string_equal(places[2], "/run/stoker/stokerd.sock");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(address_places(ADDRESS_CONTROL, NULL, places), 2);
	assert_string_equal(places[1], "/run/stoker/control.sock");
	setenv("STOKER_SOCKET", "/a/b/data.sock", 1);
	assert_int_equal(address_places(ADDRESS_DATA, NULL, places), 1);
	assert_string_equal(places[0], "/a/b/data.sock");
	assert_int_equal(address_places(ADDRESS_CONTROL, NULL, places), 1);
	assert_string_equal(places[0], "/a/b/control.sock");
	setenv("STOKER_CONTROL_SOCKET", "/c", 1);
	assert_int_equal(address_places(ADDRESS_CONTROL, NULL, places), 1);
	assert_string_equal(places[0], "/c");
	assert_int_equal(address_places(ADDRESS_CONTROL, "/d", places), 1);
	assert_string_equal(places[0], "/d");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(address_places(ADDRESS_DATA, text, places), 0);
	unsetenv("STOKER_SOCKET");
	unsetenv("STOKER_CONTROL_SOCKET");
}

static void test_nobody_there(void **state)
{
	struct stoker *stoker = stoker_new();
	struct fake fake;
	char text[200];
	(void)state;
	assert_int_equal(stoker_connect(stoker, "/nonexistent/stokerd.sock"), -ENOENT);
	assert_says(stoker, "/nonexistent/stokerd.sock");
	assert_says(stoker, "start one");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(stoker_connect(stoker, text), -ENAMETOOLONG);
	/* FAULTS 34: the socket is there, its daemon is not. */
	fake_start(&fake, NULL);
	close(fake.listener);
	assert_int_equal(stoker_connect(stoker, fake.path), -ENOENT);
	fake.listener = -1;
	stoker_free(stoker);
	fake_stop(&fake);
}

/* Who may serve a socket: root, this user, and the owner of a folder that only it can make. */
static void test_trust(void **state)
{
	struct fake fake;
	(void)state;
	fake_start(&fake, NULL);
	assert_true(address_trusts(fake.path, 0));
	assert_true(address_trusts(fake.path, geteuid()));
	assert_false(address_trusts(fake.path, geteuid() + 1));
	/* The other user owns its folder, but anybody can make folders in /tmp. */
	if (geteuid() == 0) {
		assert_int_equal(chown(fake.folder, 12345, (gid_t)-1), 0);
		assert_false(address_trusts(fake.path, 12345));
	}
	assert_false(address_trusts("/nonexistent/socket", 12345));
	fake_stop(&fake);
}

static void *accept_later(void *argument)
{
	struct fake *fake = argument;
	usleep(100000);
	int first = accept(fake->listener, NULL, NULL), second = accept(fake->listener, NULL, NULL);
	close(first);
	close(second);
	fake->socket = accept(fake->listener, NULL, NULL);
	fake_welcome(fake);
	close(fake->socket);
	return NULL;
}

/* FAULTS 49: connect() on a full queue is EAGAIN, not a wait. */
static void test_a_full_queue(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stoker *stoker = stoker_new();
	int sockets[2];
	pthread_t thread;
	struct fake fake;
	(void)state;
	fake_start(&fake, NULL); /* a queue of 1 holds 2 */
	strcpy(address.sun_path, fake.path);
	for (int i = 0; i < 2; i++) {
		sockets[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(sockets[i], (struct sockaddr *)&address, sizeof(address)),
				 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, accept_later, &fake), 0);
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	pthread_join(thread, NULL);
	frame_reader_deinit(&fake.in);
	close(sockets[0]);
	close(sockets[1]);
	stoker_free(stoker);
	fake_stop(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preflight),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_a_full_queue),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
