/* SPDX-License-Identifier: MIT */
/* `stokerctl doctor` on machines that are made of files: each fault is named, and only it. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl/doctor/examine_dataset.h"
#include "client/ctl/doctor/examine_load.h"
#include "client/ctl/doctor/examine_machine.h"
#include "tests/unit/ctl/folder.h"
#include "tests/unit/test.h"

#define PID 77
#define GIB "073741824" /* with a digit before it */

static struct findings findings;

static int begin(void **state)
{
	return findings_init(&findings) ? -1 : folder_make(state);
}

static int end(void **state)
{
	findings_deinit(&findings);
	return folder_remove(state);
}

static void put_process(const char *files_max)
{
	char text[256];
	folder_put("proc/77/status", "Name:\tstokerd\nUid:\t990\t990\t990\t990\n"
				     "Gid:\t991\t991\t991\t991\nGroups:\t20 30 \nThreads:\t4\n"
				     "Cpus_allowed:\t1,0000000f\n");
	snprintf(text, sizeof(text),
		 "Limit     Soft Limit  Hard Limit  Units\n"
		 "Max open files            %s      524288   files\n",
		 files_max);
	folder_put("proc/77/limits", text);
	folder_put("proc/77/cgroup", "0::/system.slice/stokerd.service\n");
	folder_put("proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:   8388608 kB\n");
}

/* Runs one examination on a daemon with this STATUS; the level that it found. */
static const char *look(void (*examine)(struct findings *, const struct machine *),
			const char *status)
{
	struct host_process process = host_process(folder_top, PID, "stokerd");
	json_t *values = status ? json_loads(status, 0, NULL) : NULL;
	const struct machine machine = {folder_top, &process, values};
	json_array_clear(findings.list);
	examine(&findings, &machine);
	json_decref(values);
	size_t last = json_array_size(findings.list) - 1;
	return json_string_value(json_object_get(json_array_get(findings.list, last), "level"));
}

static const char *said(const char *key)
{
	size_t last = json_array_size(findings.list) - 1;
	const char *text =
		json_string_value(json_object_get(json_array_get(findings.list, last), key));
	return text ? text : "";
}

static void assert_said(const char *key, const char *words)
{
	if (!strstr(said(key), words))
		fail_msg("no '%s' in '%s'", words, said(key));
}

static void test_a_process(void **state)
{
	(void)state;
	put_process("1024");
	struct host_process process = host_process(folder_top, PID, "stokerd");
	assert_int_equal(process.pid, PID);
	assert_int_equal(process.uid, 990);
	assert_int_equal(process.n_groups, 3);
	assert_int_equal(process.groups[0], 991);
	assert_int_equal(process.groups[2], 30);
	assert_int_equal(process.files_max, 1024);
	assert_int_equal(process.processors, 5);
	assert_int_equal(host_process(folder_top, PID, "nginx").pid, 0);
	assert_int_equal(host_process(folder_top, 78, "stokerd").pid, 0);
}

static void test_memory_of_the_machine(void **state)
{
	(void)state;
	put_process("1024");
	assert_string_equal(look(examine_memory, "{\"ring_memory\": 1" GIB "}"), "ok");
	assert_string_equal(look(examine_memory, "{\"ring_memory\": 9" GIB "0}"), "fail");
	assert_said("text", "the machine has only 16.0 GiB");
}

static void test_memory_of_a_control_group(void **state)
{
	(void)state;
	put_process("1024");
	folder_put("sys/fs/cgroup/system.slice/stokerd.service/memory.max", "max\n");
	folder_put("sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
	assert_string_equal(
		look(examine_memory, "{\"ring_memory\": 1" GIB ", \"cache_memory\": 2" GIB "}"),
		"fail");
	assert_said("text", "control group may have only 2.0 GiB");
	assert_said("advice", "MemoryMax=");
}

static void test_descriptors(void **state)
{
	(void)state;
	put_process("1024");
	assert_string_equal(look(examine_descriptors, "{\"max_connections\": 1024}"), "warn");
	assert_said("advice", "LimitNOFILE=");
	assert_string_equal(
		look(examine_descriptors, "{\"max_connections\": 1024, \"connections\": 400}"),
		"fail");
	put_process("65536");
	assert_string_equal(look(examine_descriptors, "{\"max_connections\": 1024}"), "ok");
}

static void test_a_quota(void **state)
{
	(void)state;
	put_process("1024");
	folder_put("sys/fs/cgroup/system.slice/stokerd.service/cpu.max", "150000 100000\n");
	assert_string_equal(look(examine_processors, "{\"workers\": 2}"), "ok");
	assert_string_equal(look(examine_processors, "{\"workers\": 5000}"), "warn");
	assert_said("text", "1.5 processors (the quota");
	assert_said("advice", "CPUQuota=");
}

static void look_at_load(const char *after, const char *readers)
{
	json_t *before = json_loads("{\"work_ns_total\": 0, \"fetch_ns_total\": 0}", 0, NULL);
	json_t *values = json_loads(after, 0, NULL), *list = json_loads(readers, 0, NULL);
	assert_true(before && values && list);
	json_array_clear(findings.list);
	examine_load(&findings, before, values, 0.5, list);
	json_decref(before);
	json_decref(values);
	json_decref(list);
}

static void test_load(void **state)
{
	(void)state;
	look_at_load("{\"workers\": 2}", "[{\"limited_by\": \"\"}, {}]");
	assert_int_equal(json_array_size(findings.list), 0);
	look_at_load("{\"workers\": 2, \"fetchers\": 2, \"processors\": 6, \"work_ns_total\": "
		     "990000000, \"fetch_ns_total\": 100000000}",
		     "[{\"limited_by\": \"decode\"}, {\"limited_by\": \"decode\"}]");
	assert_said("level", "warn");
	assert_said("text", "2 readers: waiting for decoding (workers 99 % busy, fetchers 10 %)");
	assert_said("advice", "set workers 6: 4 processors");
	look_at_load("{\"workers\": 2, \"processors\": 6, \"work_ns_total\": 300000000}",
		     "[{\"limited_by\": \"decode\"}]");
	assert_said("text", "1 reader: waiting for decoding (workers 30 % busy");
	assert_said("advice", "idle 70 % of their time");
	look_at_load("{\"workers\": 2}", "[{\"limited_by\": \"trainer\"}]");
	assert_said("level", "ok");
}

static void test_units(void **state)
{
	(void)state;
	assert_string_equal(look(examine_units, NULL), "ok");
	folder_put("usr/lib/systemd/system/stokerd.socket", "[Socket]\n");
	assert_string_equal(look(examine_units, NULL), "warn");
	assert_said("advice", "systemctl enable --now");
	folder_put("etc/systemd/system/sockets.target.wants/stokerd.socket", "");
	assert_string_equal(look(examine_units, NULL), "ok");
	assert_int_equal(symlink("/dev/null", folder_at("etc/systemd/system/stokerd.service")), 0);
	assert_string_equal(look(examine_units, NULL), "warn");
	assert_said("advice", "unmask");
}

static void test_steal(void **state)
{
	(void)state;
	folder_put("proc/stat", "cpu  100 0 50 800 0 0 0 50 0 0\ncpu0 1 2 3\n");
	struct host_times before = host_times(folder_top);
	assert_int_equal(before.all, 1000);
	folder_put("proc/stat", "cpu  110 0 60 860 0 0 0 70 0 0\n");
	examine_steal(&findings, before, host_times(folder_top));
	assert_string_equal(said("level"), "warn");
	assert_said("text", "20.0 %");
	examine_steal(&findings, before, before);
	assert_string_equal(said("level"), "ok");
}

static void test_a_path(void **state)
{
	const struct host_process process = {.pid = 1, .uid = 990, .groups = {991}, .n_groups = 1};
	const struct host_process root = {.pid = 1};
	char closed[PATH_MAX];
	(void)state;
	folder_put("home/data/a.jpg", "");
	assert_int_equal(chmod(folder_top, 0755), 0);
	assert_int_equal(chmod(folder_at("home"), 0700), 0);
	examine_path(&process, folder_at("home/data"), closed);
	assert_string_equal(closed, folder_at("home"));
	examine_path(&root, folder_at("home/data"), closed);
	assert_string_equal(closed, "");
	assert_int_equal(chmod(folder_at("home"), 0711), 0);
	examine_path(&process, folder_at("home/data"), closed);
	assert_string_equal(closed, "");
	assert_int_equal(chmod(folder_at("home/data"), 0711), 0); /* entered, and not read */
	examine_path(&process, folder_at("home/data"), closed);
	assert_string_equal(closed, folder_at("home/data"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_process),
		CASE(test_memory_of_the_machine),
		CASE(test_memory_of_a_control_group),
		CASE(test_descriptors),
		CASE(test_a_quota),
		CASE(test_load),
		CASE(test_units),
		CASE(test_steal),
		CASE(test_a_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
