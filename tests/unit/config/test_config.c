// SPDX-License-Identifier: MIT
/*
 * The configuration: which source overrides which, where values come from, and the words for
 * mistakes. FAULTS 85, with the files of tests/golden/config (the argument); FAULTS 86 in part.
 */
#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "config/machine.h"
#include "config/option.h"
#include "tests/unit/test.h"

static const char *golden;
static char folder[64], file[96], drop_ins[128];
static struct fault fault;

static void put(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static const char *drop_in(const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned turn;
	char *out = path[turn++ % 2];
	snprintf(out, PATH_MAX, "%s/%s", drop_ins, name);
	return out;
}

static void clear_environment(void)
{
	char name[64];
	for (unsigned i = 0; i < option_count; i++)
		unsetenv(option_variable(&options[i], name));
	unsetenv("STOKER_CONFIG");
	unsetenv("LISTEN_FDS");
}

static int setup(void **state)
{
	(void)state;
	clear_environment();
	strcpy(folder, "/tmp/stoker-config-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/a.conf", folder);
	snprintf(drop_ins, sizeof(drop_ins), "%s.d", file);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}

/* Load with --config, a socket whose folder exists, and up to two more flags. */
static int load(struct config *config, const char *path, const char *one, const char *two)
{
	char *flags[] = {"stokerd", "--config", (char *)path, (char *)one, (char *)two, NULL};
	int count = one ? two ? 5 : 4 : 3;
	setenv("LISTEN_FDS", "2", 1); /* no folder is made */
	memset(&fault, 0, sizeof(fault));
	return config_load(config, count, flags, &fault);
}

static char *printed(const struct config *config)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	config_print(config, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_words(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no '%s' in '%s'", words, text);
}

static void assert_prints(const struct config *config, const char *line)
{
	char *text = printed(config), begun[PATH_MAX];
	snprintf(begun, sizeof(begun), "\n%s", line);
	assert_words(text, begun);
	free(text);
}

static void assert_bad(const char *text, size_t size, const char *words)
{
	struct config config;
	put(file, text, size);
	assert_int_equal(load(&config, file, NULL, NULL), CONFIG_E_BAD);
	assert_words(fault.text, words);
}

/* `pattern` with % for the file's path. */
static void expand(char *out, size_t size, const char *pattern, const char *path)
{
	const char *percent = strchr(pattern, '%');
	if (percent && (percent == pattern || percent[-1] == ' '))
		snprintf(out, size, "%.*s%s%s", (int)(percent - pattern), pattern, path,
			 percent + 1);
	else
		snprintf(out, size, "%s", pattern);
}

static void check_golden(const char *name, const char *expected)
{
	char path[PATH_MAX], words[2 * PATH_MAX];
	struct config config;
	snprintf(path, sizeof(path), "%s/%s", golden, name);
	int result = load(&config, path, NULL, NULL);
	if (strncmp(expected, "ok ", 3) == 0) {
		if (result)
			fail_msg("%s", fault.text);
		expand(words, sizeof(words), expected + 3, path);
		assert_prints(&config, words);
		config_deinit(&config);
		return;
	}
	assert_int_equal(result, CONFIG_E_BAD);
	expand(words, sizeof(words), expected, path);
	assert_words(fault.text, words);
	if (expected[0] == '%')
		assert_memory_equal(fault.text, words, strlen(words));
}

static void test_golden(void **state)
{
	(void)state;
	char path[PATH_MAX], line[1024];
	unsigned count = 0;
	/* The words name whole paths, and only the ends of long ones. */
	assert_int_equal(chdir(golden), 0);
	golden = ".";
	snprintf(path, sizeof(path), "%s/expected.list", golden);
	FILE *list = fopen(path, "r");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		char *tab = strchr(line, '\t');
		if (line[0] == '#')
			continue;
		assert_non_null(tab);
		*tab = '\0';
		check_golden(line, tab + 1);
		count++;
	}
	fclose(list);
	assert_true(count > 80);
}

/* Files that cannot be in a source tree. */
static void test_hostile_files(void **state)
{
	(void)state;
	struct config config;
	size_t size = 1 << 20;
	char *text = malloc(size);
	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "[stokerd]\n", 10);
	assert_bad(text, size, "a.conf:2: the line is longer than 65536 bytes");
	free(text);
	assert_bad("[stokerd]\nnice = 1\0 2\n", 22, "a.conf:2: the line has a NUL byte");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(load(&config, file, NULL, NULL), CONFIG_E_BAD);
	assert_words(fault.text, "a.conf: it is not a regular file");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(load(&config, file, NULL, NULL), CONFIG_E_BAD);
	assert_words(fault.text, "a.conf: No such file or directory");
	assert_int_equal(load(&config, folder, NULL, NULL), CONFIG_E_BAD);
	assert_words(fault.text, "it is not a regular file");
	assert_int_equal(load(&config, "/dev/zero", NULL, NULL), CONFIG_E_BAD);
	assert_int_equal(load(&config, "/dev/null", NULL, NULL), 0);
	config_deinit(&config);
	setenv("STOKER_CONFIG", file, 1);
	char *none[] = {"stokerd", "--check", NULL};
	assert_int_equal(config_load(&config, 2, none, &fault), CONFIG_E_BAD);
}

static void test_precedence(void **state)
{
	(void)state;
	struct config config;
	char words[256];
	put_text(file, "[stokerd]\nworkers = 1\nfetchers = 11\nnice = 1\nmax-scans = 1\n");
	assert_int_equal(mkdir(drop_ins, 0700), 0);
	put_text(drop_in("20.conf"), "[stokerd]\nworkers = 20\nfetchers = 20\nnice = 2\n");
	put_text(drop_in("100.conf"), "[stokerd]\nworkers = 100\nfetchers = 100\n");
	put_text(drop_in("20.conf~"), "[stokerd]\nworkers = 5\n");
	put_text(drop_in(".hidden.conf"), "[stokerd]\nworkers = 6\n");
	setenv("STOKER_WORKERS", "30", 1);
	setenv("STOKER_NICE", "", 1); /* as if it were not there */
	assert_int_equal(load(&config, file, "--workers=40", NULL), 0);
	assert_int_equal(config.workers, 40);
	assert_int_equal(config.fetchers, 20); /* by bytes "100" < "20" */
	assert_int_equal(config.nice, 2);
	assert_int_equal(config.max_scans, 1);
	assert_prints(&config, "workers = 40  # flag --workers\n");
	snprintf(words, sizeof(words), "fetchers = 20  # %s:3\n", drop_in("20.conf"));
	assert_prints(&config, words);
	snprintf(words, sizeof(words), "max-scans = 1  # %s:5\n", file);
	assert_prints(&config, words);
	config_deinit(&config);
	config_deinit(&config);

	assert_int_equal(load(&config, file, NULL, NULL), 0);
	assert_prints(&config, "workers = 30  # env STOKER_WORKERS\n");
	config_deinit(&config);

	/* A wrong value is an error even if another source overrides it. */
	put_text(drop_in("20.conf"), "[stokerd]\nworkers = x\n");
	assert_int_equal(load(&config, file, "--workers=40", NULL), CONFIG_E_BAD);
	assert_words(fault.text, "20.conf:2: workers: 'x' is not a whole number");
}

static void test_flags(void **state)
{
	(void)state;
	static const struct {
		const char *one, *two, *words;
	} cases[] = {
		{"--worker=3", NULL, "there is no setting 'worker'; did you mean 'workers'?"},
		{"--workers", NULL, "--workers needs a value"},
		{"--workers=", NULL, "--workers: '' is not a whole number"},
		{"--workers", "-1", "--workers: '-1' is out of range: 0 to 1024"},
		{"-w", "3", "'-w' is not an option"},
		{"--", NULL, "'--' is not an option"},
		{"--=3", NULL, "'--=3' is not an option"},
		{"workers=3", NULL, "'workers=3' is not an option"},
		{"", NULL, "'' is not an option"},
		{"--nice=0", "--socket=x", "--socket: 'x' is not an absolute path"},
	};
	struct config config;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(load(&config, "/dev/null", cases[i].one, cases[i].two),
				 CONFIG_E_USAGE);
		assert_words(fault.text, cases[i].words);
	}
	char longest[5000];
	memset(longest, '-', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(load(&config, "/dev/null", longest, NULL), CONFIG_E_USAGE);
	assert_int_equal(load(&config, "/dev/null", "--workers=3", "--workers=4"), 0);
	assert_int_equal(config.workers, 4); /* the last one counts */
	config_deinit(&config);
	setenv("STOKER_NICE", "high", 1);
	assert_int_equal(load(&config, "/dev/null", NULL, NULL), CONFIG_E_BAD);
	assert_words(fault.text, "STOKER_NICE: 'high' is not a whole number");
}

/* Each option can be set from each source to the text that it prints. */
static void test_every_option(void **state)
{
	(void)state;
	struct config first, again;
	char text_of[200]; /* none is empty */
	snprintf(text_of, sizeof(text_of),
		 "[stokerd]\nindex-dir = /x\ncache-dir = /x/c\nmetrics-socket = "
		 "/x/m.sock\nmetrics-token = /x/t\ndataset-root = /x:0\n"
		 "stage-root = /z\n"
		 "dataset-root = /y\ncpus = %d\n",
		 sched_getcpu());
	put_text(file, text_of);
	assert_int_equal(load(&first, file, "--socket=/x/y.sock", "--socket-group=0"), 0);
	for (unsigned i = 0; i < option_count; i++) {
		char value[OPTION_TEXT_MAX], other[OPTION_TEXT_MAX], flag[OPTION_TEXT_MAX + 64];
		char name[64];
		/* stage-root asks for one. */
		const char *beside =
			strcmp(options[i].name, "cache-dir") ? "--cache-dir=/x/c" : NULL;
		option_format(&options[i], &first, value);
		snprintf(flag, sizeof(flag), "--%s=%s", options[i].name, value);
		assert_int_equal(load(&again, "/dev/null", flag, beside), 0);
		assert_string_equal(option_format(&options[i], &again, other), value);
		config_deinit(&again);

		snprintf(flag, sizeof(flag), "env %s", option_variable(&options[i], name));
		setenv(name, value, 1);
		assert_int_equal(load(&again, "/dev/null", beside, NULL), 0);
		assert_string_equal(option_format(&options[i], &again, other), value);
		assert_string_equal(again.origins[i], flag);
		config_deinit(&again);
		unsetenv(name);
	}
	/* The printed text is a configuration file. */
	char *text = printed(&first);
	put_text(file, text);
	free(text);
	assert_int_equal(load(&again, file, NULL, NULL), 0);
	for (unsigned i = 0; i < option_count; i++) {
		char one[OPTION_TEXT_MAX], two[OPTION_TEXT_MAX];
		assert_string_equal(option_format(&options[i], &first, one),
				    option_format(&options[i], &again, two));
	}
	config_deinit(&again);
	config_deinit(&first);
}

static void test_set(void **state)
{
	(void)state;
	struct config config;
	assert_int_equal(load(&config, "/dev/null", "--workers=3", NULL), 0);
	assert_int_equal(config_set(&config, "workers", "12", &fault), 0);
	assert_int_equal(config.workers, 12);
	assert_prints(&config, "workers = 12  # stokerctl set\n");
	assert_int_equal(config_set(&config, "log-level", "debug", &fault), 0);
	assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(config_set(&config, "workers", "2000", &fault), CONFIG_E_BAD);
	assert_words(fault.text, "workers: '2000' is out of range: 0 to 1024");
	assert_int_equal(config_set(&config, "nice", "1", &fault), CONFIG_E_BAD);
	assert_words(fault.text, "nice cannot be changed while the daemon runs");
	assert_int_equal(config_set(&config, "wokers", "1", &fault), CONFIG_E_BAD);
	assert_words(fault.text, "did you mean 'workers'?");
	assert_int_equal(config.workers, 12);
	assert_int_equal(config.nice, 5);
	config_deinit(&config);
}

static int lines_said(const char *flag)
{
	char path[PATH_MAX], *flags[] = {"stokerd", (char *)flag, NULL};
	struct config config;
	snprintf(path, sizeof(path), "%s/said", folder);
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	assert_non_null(freopen(path, "w", stdout));
	int result = config_load(&config, 2, flags, &fault);
	fflush(stdout);
	assert_int_not_equal(dup2(saved, STDOUT_FILENO), -1);
	close(saved);
	assert_int_equal(result, CONFIG_DONE);
	FILE *said = fopen(path, "r");
	int lines = 0;
	for (int byte = fgetc(said); byte != EOF; byte = fgetc(said))
		lines += byte == '\n';
	fclose(said);
	return lines;
}

static void test_said(void **state)
{
	(void)state;
	setenv("STOKER_CONFIG", "/dev/null", 1);
	int help = lines_said("--help");
	assert_int_equal(lines_said("-h"), help);
	assert_true(help > (int)option_count && help <= (int)option_count + 6);
	for (unsigned i = 0; i < option_count; i++) {
		char text[OPTION_TEXT_MAX];
		option_default(&options[i], text);
		assert_true(text[0] || options[i].unset); /* its default, in words */
	}
	assert_int_equal(lines_said("--version"), 1);
	assert_int_equal(lines_said("--check"), 0);
	assert_int_equal(lines_said("--print-config"), (int)option_count + 2);
	setenv("STOKER_WORKERS", "x", 1);
	assert_true(lines_said("--help") == help); /* also when all else is wrong */
}

/* FAULTS 86: another locale, another umask. */
static void test_locale(void **state)
{
	(void)state;
	struct config config;
	put_text(file, "[stokerd]\nlog-level = info\nring-memory = 1G\n");
	setlocale(LC_ALL, "tr_TR.UTF-8");
	mode_t mask = umask(0);
	int result = load(&config, file, NULL, NULL);
	umask(mask);
	setlocale(LC_ALL, "C");
	assert_int_equal(result, 0);
	assert_prints(&config, "ring-memory = 1G  #");
	config_deinit(&config);
}

/* As another user, in a process of its own: the exit code is what config_load() returned. */
static int load_as(uid_t user, const char *runtime)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct config config;
		char *flags[] = {"stokerd", "--config", "/dev/null", NULL};
		unsetenv("LISTEN_FDS");
		unsetenv("XDG_RUNTIME_DIR");
		if (runtime)
			setenv("XDG_RUNTIME_DIR", runtime, 1);
		if (setgid(user) || setuid(user))
			_exit(100);
		int result = config_load(&config, 3, flags, &fault);
		if (!result)
			config_deinit(&config);
		_exit(result);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_default_folder(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	const uid_t user = 54321;
	const char *path = "/tmp/stoker-54321";
	struct stat stat_;
	rmdir(path);
	assert_int_equal(load_as(user, NULL), 0);
	assert_int_equal(stat(path, &stat_), 0);
	assert_int_equal(stat_.st_mode & 07777, 0700);
	assert_int_equal(stat_.st_uid, user);
	assert_int_equal(load_as(user, NULL), 0); /* it may be there */
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(load_as(user, NULL), CONFIG_E_BAD); /* others may write */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0755), 0); /* somebody else's */
	assert_int_equal(load_as(user, NULL), CONFIG_E_BAD);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(symlink(folder, path), 0);
	assert_int_equal(load_as(user, NULL), CONFIG_E_BAD); /* leads elsewhere */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(load_as(user, folder), 0);
	snprintf(file, sizeof(file), "%s/stoker", folder);
	assert_int_equal(stat(file, &stat_), 0);
	assert_int_equal(stat_.st_uid, user);
}

static void test_machine(void **state)
{
	(void)state;
	uint64_t memory = machine_memory();
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	assert_true(memory > 0 && memory <= all);
	assert_true(machine_available() > 0 && machine_available() <= memory);
	assert_true(machine_processors() >= 1);
	struct config config;
	assert_int_equal(load(&config, "/dev/null", "--ring-memory=50%", NULL), 0);
	assert_true(config.ring_memory <= memory / 2 &&
		    config.ring_memory + (2 << 20) > memory / 2);
	config_deinit(&config);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(test_hostile_files), CASE(test_precedence),
		CASE(test_flags),	  CASE(test_every_option),
		CASE(test_set),		  CASE(test_said),
		CASE(test_locale),	  CASE(test_default_folder),
		CASE(test_machine),	  CASE(test_golden),
	};
	if (argc != 2) {
		fprintf(stderr, "usage: test_config tests/golden/config\n");
		return 2;
	}
	golden = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
