/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/examine_daemon.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ctl/show/values.h"
#include "proto/advice/trouble.h"

#define ANSWER_MS 5000

/* -- nobody answers ------------------------------------------------------------------------- */

/* Names that the environment gives, though without them a daemon would be found. */
static bool misled(enum address_socket which, char *advice, size_t size)
{
	static const char *const names[] = {"STOKER_CONTROL_SOCKET", "STOKER_SOCKET"};
	const char *kept[2] = {getenv(names[0]), getenv(names[1])};
	char places[ADDRESS_PLACES_MAX][ADDRESS_MAX];
	struct control control;
	bool found = false;
	if (!kept[0] && !kept[1])
		return false;
	for (size_t i = 0; i < 2; i++)
		unsetenv(names[i]);
	size_t n = address_places(which, NULL, places);
	for (size_t i = 0; i < n && !found; i++) {
		found = control_open_at(&control, which, places[i], ANSWER_MS) == 0;
		control_close(&control);
		if (found)
			snprintf(advice, size, "unset %s: a daemon answers at %s",
				 which == ADDRESS_CONTROL && kept[0] ? names[0] : names[1],
				 places[i]);
	}
	for (size_t i = 0; i < 2; i++)
		if (kept[i])
			setenv(names[i], kept[i], 1);
	return found;
}

/* The first place with a socket at all; NULL: none has one. */
static const char *place_with_socket(enum address_socket which, const char *given,
				     char places[ADDRESS_PLACES_MAX][ADDRESS_MAX],
				     struct stat *stat_out)
{
	size_t n = address_places(which, given, places);
	for (size_t i = 0; i < n; i++)
		if (stat(places[i], stat_out) == 0 && S_ISSOCK(stat_out->st_mode))
			return places[i];
	return NULL;
}

static bool user_is_in(const struct group *group, const char *user)
{
	for (char **member = group->gr_mem; user && *member; member++)
		if (strcmp(*member, user) == 0)
			return true;
	return false;
}

/* The mode of the socket forbids it. */
static void say_forbidden(struct findings *findings, const char *path, const struct stat *stat)
{
	char advice[512];
	const struct group *group = getgrgid(stat->st_gid);
	const struct passwd *user = getpwuid(getuid());
	const char *name = user ? user->pw_name : "YOU", *groups = group ? group->gr_name : "?";
	if (!(stat->st_mode & S_IWGRP))
		snprintf(advice, sizeof(advice),
			 "use a daemon of your own (stokerd), or let its owner set socket-mode "
			 "0660");
	else if (group && user_is_in(group, name))
		snprintf(advice, sizeof(advice),
			 "you are in the group %s since this session began: log in again, or "
			 "`newgrp %s`",
			 groups, groups);
	else
		snprintf(advice, sizeof(advice), "usermod -aG %s %s, as root; then log in again",
			 groups, name);
	findings_add(findings, FINDING_FAIL, "group", advice,
		     "%s (mode %04o, group %s) is closed to the user %s", path,
		     (unsigned)stat->st_mode & 07777, groups, name);
}

static void say_nobody(struct findings *findings, enum address_socket which, const char *socket,
		       int error, const char *why)
{
	char places[ADDRESS_PLACES_MAX][ADDRESS_MAX], advice[512];
	struct stat stat;
	const char *place = place_with_socket(which, socket, places, &stat);
	if (error == -ETIMEDOUT)
		snprintf(advice, sizeof(advice),
			 "it hangs or is stopped (Ctrl-Z): look at its log and `ps`, kill and "
			 "restart it");
	else if (!socket && misled(which, advice, sizeof(advice)))
		;
	else if (error == -ENOENT && place)
		snprintf(advice, sizeof(advice),
			 "the daemon that made %s was killed: start it again (stokerd)", place);
	else if (error == -ENOENT)
		snprintf(advice, sizeof(advice),
			 "start it: stokerd, or systemctl --user start stokerd.socket");
	else if (error == -EACCES && place && access(place, W_OK)) {
		say_forbidden(findings, place, &stat);
		return;
	} else if (error == -EACCES)
		snprintf(advice, sizeof(advice),
			 "do not use it: another user made it; start your own daemon elsewhere "
			 "(--socket) and set STOKER_SOCKET");
	else
		snprintf(advice, sizeof(advice), "is it a stokerd? look at what serves %s",
			 place ? place : "it");
	findings_add(findings, FINDING_FAIL, "daemon", advice, "%s", why);
}

/* -- somebody answers ----------------------------------------------------------------------- */

static void say_socket(struct findings *findings, const char *which, const char *path)
{
	struct stat stat_;
	if (stat(path, &stat_))
		return;
	const struct passwd *user = getpwuid(stat_.st_uid);
	const struct group *group = getgrgid(stat_.st_gid);
	char numbers[2][16];
	snprintf(numbers[0], sizeof(*numbers), "%u", (unsigned)stat_.st_uid);
	snprintf(numbers[1], sizeof(*numbers), "%u", (unsigned)stat_.st_gid);
	bool open = stat_.st_mode & S_IWOTH;
	findings_add(findings, open ? FINDING_WARN : FINDING_OK, "socket",
		     open ? "any user can see the pixels of every picture that the daemon can "
			    "read: socket-mode 0660 and socket-group"
			  : NULL,
		     "%s: %s, mode %04o, of %s:%s", which, path, (unsigned)stat_.st_mode & 07777,
		     user ? user->pw_name : numbers[0], group ? group->gr_name : numbers[1]);
}

static void say_version(struct findings *findings, const char *daemon)
{
	const char *version = strrchr(daemon, ' ');
	bool same = version && strcmp(version + 1, STOKER_VERSION) == 0;
	findings_add(findings, same ? FINDING_OK : FINDING_WARN, "version",
		     same ? NULL : "install both of one version, and restart the daemon", "%s%s%s",
		     daemon, same ? " and stokerctl agree" : " runs, stokerctl is " STOKER_VERSION,
		     "");
}

static void say_answer(struct findings *findings, struct control *control)
{
	double seconds;
	if (control_ping(control, &seconds))
		findings_add(findings, FINDING_FAIL, "daemon", "look at its log", "%s",
			     control->fault.text);
	else
		findings_add(findings, FINDING_OK, "daemon", NULL,
			     "%s (pid %llu) answers in %.0f us", control->daemon,
			     (unsigned long long)control->pid, seconds * 1e6);
	say_version(findings, control->daemon);
}

/* The data socket beside a control socket that was given. */
static void data_place(const char *socket, char out[ADDRESS_MAX])
{
	const char *slash = socket ? strrchr(socket, '/') : NULL;
	if (slash)
		snprintf(out, ADDRESS_MAX, "%.*s/stokerd.sock", (int)(slash - socket), socket);
}

static void examine_data(struct findings *findings, const char *place, bool only,
			 struct reached *out)
{
	char places[ADDRESS_PLACES_MAX][ADDRESS_MAX];
	struct control data;
	struct stat stat;
	int r = control_open_at(&data, ADDRESS_DATA, place, ANSWER_MS);
	if (r) {
		say_nobody(findings, ADDRESS_DATA, place, r, data.fault.text);
	} else {
		const char *path = place_with_socket(ADDRESS_DATA, place, places, &stat);
		if (path)
			memcpy(out->data, path, strlen(path) + 1); /* a place has at most that */
		out->pid = (pid_t)data.pid;
		if (only)
			say_answer(findings, &data);
		say_socket(findings, "trainers", out->data);
	}
	control_close(&data);
}

void examine_daemon(struct findings *findings, const char *socket, struct reached *out)
{
	char place[ADDRESS_MAX] = "", places[ADDRESS_PLACES_MAX][ADDRESS_MAX];
	struct stat stat;
	*out = (struct reached){.status = NULL};
	int r = control_open_at(&out->control, ADDRESS_CONTROL, socket, ANSWER_MS);
	if (r == 0)
		r = control_status(&out->control, &out->status);
	if (r == 0) {
		say_answer(findings, &out->control);
		const char *path = place_with_socket(ADDRESS_CONTROL, socket, places, &stat);
		say_socket(findings, "stokerctl", path ? path : "?");
		snprintf(place, sizeof(place), "%s", text_of(out->status, ROW_KEY(status, socket)));
	} else if (r == -EACCES && place_with_socket(ADDRESS_CONTROL, socket, places, &stat) &&
		   geteuid() != 0 && geteuid() != stat.st_uid) {
		findings_add(findings, FINDING_WARN, "control",
			     "run `stokerctl doctor` as root or as the daemon's user to see more",
			     "%s", out->control.fault.text);
		data_place(socket, place);
	} else {
		say_nobody(findings, ADDRESS_CONTROL, socket, r, out->control.fault.text);
		return;
	}
	examine_data(findings, *place ? place : NULL, !out->status, out);
	if (out->status)
		out->pid = (pid_t)out->control.pid;
}

void reached_deinit(struct reached *reached)
{
	control_close(&reached->control);
	json_decref(reached->status);
	reached->status = NULL;
}

/* -- its counters --------------------------------------------------------------------------- */

static void examine_room(struct findings *findings, const json_t *status)
{
	json_int_t used = counter_of(status, COUNTER_RING_BYTES);
	json_int_t room = whole_of(status, ROW_KEY(status, ring_memory));
	json_int_t readers = counter_of(status, COUNTER_READERS);
	double share = room > 0 ? (double)used / (double)room : 0;
	bool full = share > 0.9;
	findings_add(findings, full ? FINDING_WARN : FINDING_OK, "rings",
		     full ? "stokerctl set ring-memory to more: the next trainer may find no room"
			  : NULL,
		     "%lld readers; rings take %.0f %% of ring-memory", (long long)readers,
		     100 * share);
}

static uint64_t count_of(const json_t *status, enum counter counter)
{
	json_int_t count = counter_of(status, counter);
	return count > 0 ? (uint64_t)count : 0;
}

/* Why a folder cannot be used, as the daemon says it; "" if it says nothing. */
static const char *fault_of(const json_t *status, const char *check)
{
	if (strcmp(check, "index-dir") == 0)
		return text_of(status, ROW_KEY(status, index_dir_fault));
	return strcmp(check, "cache-dir") == 0 ? text_of(status, ROW_KEY(status, cache_dir_fault))
					       : "";
}

static void examine_trouble(struct findings *findings, const json_t *status,
			    const struct trouble *trouble)
{
	char text[160];
	uint64_t count = count_of(status, trouble->counter);
	const char *why = fault_of(status, trouble->check);
	if (!count || (trouble->beside != COUNTER_COUNT && !count_of(status, trouble->beside)))
		return;
	trouble_write(trouble, count, text, sizeof(text));
	findings_add(findings, trouble->fails ? FINDING_FAIL : FINDING_WARN, trouble->check,
		     trouble->advice, "%s%s%s", text, *why ? ": " : "", why);
}

/* A folder in which bytes are kept, as the configuration has it. */
static void examine_folder(struct findings *findings, const json_t *status, const char *check,
			   const char *key)
{
	const char *path = json_string_value(json_object_get(status, key));
	if (path && !*fault_of(status, check)) /* else it is a trouble */
		findings_add(findings, FINDING_OK, check, NULL, "%s",
			     *path ? path : "none is set: nothing is kept on the disk there");
}

void examine_counters(struct findings *findings, const json_t *status)
{
	if (strcmp(text_of(status, ROW_KEY(status, state)), "stopping") == 0)
		findings_add(findings, FINDING_WARN, "state", "wait, then start it again",
			     "the daemon is stopping");
	examine_room(findings, status);
	examine_folder(findings, status, "index-dir", ROW_KEY(status, index_dir));
	examine_folder(findings, status, "cache-dir", ROW_KEY(status, cache_dir));
	for (unsigned i = 0; i < trouble_count; i++)
		examine_trouble(findings, status, &troubles[i]);
}
