// SPDX-License-Identifier: MIT
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/line.h"
#include "base/quote.h"
#include "config/flags.h"
#include "config/machine.h"
#include "config/option.h"
#include "config/preflight.h"
#include "config/roots.h"

#define LINE_LONGEST 4000 /* without its comment; inih keeps a line on the stack */

/* Origin of a value, the caller's to free. A list comes from where its values do. */
static char *config_origin(const struct config *config, const struct option *option,
			   const char *text, const char *origin)
{
	char *both;
	const char *before = config->origins[option_row(option)];
	if (!option_is_list(option) || !before || !*text || strcmp(before, "default") == 0)
		return strdup(origin);
	return asprintf(&both, "%s, %s", before, origin) < 0 ? NULL : both;
}

/* Set a value and remember where it came from; conditions as option_set(). */
static int config_put(struct config *config, const struct option *option, const char *text,
		      const char *origin, struct fault *fault)
{
	char *copy = config_origin(config, option, text, origin);
	if (!copy)
		return -ENOMEM;
	int result = option_set(option, config, text, fault);
	if (result) {
		free(copy);
		return result;
	}
	free(config->origins[option_row(option)]);
	config->origins[option_row(option)] = copy;
	return 0;
}

void config_deinit(struct config *config)
{
	free(config->socket);
	free(config->control_socket);
	free(config->metrics_socket);
	free(config->metrics_address);
	free(config->metrics_token);
	free(config->index_dir);
	free(config->cache_dir);
	free(config->cpus);
	roots_free(config->dataset_roots);
	roots_free(config->stage_roots);
	free(config->path);
	for (unsigned i = 0; i < CONFIG_OPTIONS; i++)
		free(config->origins[i]);
	*config = CONFIG_NULL;
}

/* -- a file ------------------------------------------------------------------------------- */

struct config_file {
	struct config *config;
	const char *path;
	struct line_reader lines;
	uint64_t seen[CONFIG_OPTIONS]; /* the line that set it; 0: none */
	uint64_t bad_line;	       /* of the fault; 0: none */
	int result;
	struct fault *fault;
};

/* Keep the first fault, because inih goes on after it. */
__attribute__((format(printf, 3, 4))) static void
config_file_fail(struct config_file *file, int result, const char *format, ...)
{
	struct quote quote;
	struct fault why;
	if (file->result)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(why.text, sizeof(why.text), format, args);
	va_end(args);
	file->result = result;
	file->bad_line = file->lines.line;
	fault_say(file->fault, 0, "%s:%llu: %s", quote_text(&quote, file->path),
		  (unsigned long long)file->lines.line, why.text);
}

/* Cut off a comment (# or ; at the start or behind a blank), and the blanks around the rest. */
static char *config_bare(char *line)
{
	for (char *at = line; *at; at++) {
		bool start = at == line || at[-1] == ' ' || at[-1] == '\t';
		if (start && (*at == '#' || *at == ';')) {
			*at = '\0';
			break;
		}
	}
	line += strspn(line, " \t");
	size_t size = strlen(line);
	while (size && (line[size - 1] == ' ' || line[size - 1] == '\t'))
		line[--size] = '\0';
	return line;
}

/* inih's reader: one line without comment and blanks. NULL at the end and after a fault. */
static char *config_file_line(char *out, int room, void *context)
{
	struct config_file *file = context;
	char *line;
	size_t size;
	int result = file->result ? 0 : line_next(&file->lines, &line, &size);
	if (result)
		config_file_fail(file, CONFIG_E_BAD, "%s", line_words(&file->lines, result));
	if (file->result || !line)
		return NULL;
	line = config_bare(line);
	if (strlen(line) + 2 > (size_t)room) {
		config_file_fail(file, CONFIG_E_BAD, "the line is longer than %d bytes",
				 LINE_LONGEST);
		return NULL;
	}
	strcpy(out, line);
	return out;
}

static void config_file_set(struct config_file *file, const struct option *option,
			    const char *value)
{
	struct quote quote;
	struct fault why;
	char origin[QUOTE_MAX + 40];
	uint64_t *seen = &file->seen[option_row(option)];
	if (*seen && !option_is_list(option)) {
		config_file_fail(file, CONFIG_E_BAD, "%s is set already, in line %llu",
				 option->name, (unsigned long long)*seen);
		return;
	}
	*seen = file->lines.line;
	snprintf(origin, sizeof(origin), "%s:%llu", quote_text(&quote, file->path),
		 (unsigned long long)file->lines.line);
	int result = config_put(file->config, option, value, origin, &why);
	if (result)
		config_file_fail(file, result < 0 ? result : CONFIG_E_BAD, "%s: %s", option->name,
				 why.text);
}

/* inih's handler of one value. */
static int config_file_value(void *context, const char *section, const char *name,
			     const char *value)
{
	struct config_file *file = context;
	struct quote quote;
	struct fault why;
	const struct option *option = option_find(name, &why);
	if (strcmp(section, "stokerd") != 0 && section[0])
		config_file_fail(file, CONFIG_E_BAD,
				 "there is no section [%s]: put all settings into [stokerd]",
				 quote_text(&quote, section));
	else if (!section[0])
		config_file_fail(file, CONFIG_E_BAD,
				 "a value outside of a section: write [stokerd] above it");
	else if (!option)
		config_file_fail(file, CONFIG_E_BAD, "%s", why.text);
	else
		config_file_set(file, option, value ? value : "");
	return 1;
}

static int config_parse(struct config *config, int fd, const char *path, struct fault *fault)
{
	struct quote quote;
	struct config_file file = {.config = config, .path = path, .fault = fault};
	if (line_reader_init(&file.lines, fd, false, LINE_MAX_BYTES))
		return -ENOMEM;
	ini_max_line = LINE_LONGEST + 2;
	int line = ini_parse_stream(config_file_line, &file, config_file_value, &file);
	line_reader_deinit(&file.lines);
	if (line < 0)
		return -ENOMEM;
	if (line > 0 && (!file.result || (uint64_t)line < file.bad_line))
		return fault_say(fault, CONFIG_E_BAD,
				 "%s:%d: neither 'name = value' nor '[section]'",
				 quote_text(&quote, path), line);
	return file.result;
}

/* -- files -------------------------------------------------------------------------------- */

static bool config_is_readable(const struct stat *stat)
{
	bool null = S_ISCHR(stat->st_mode) && stat->st_rdev == makedev(1, 3);
	return S_ISREG(stat->st_mode) || null; /* --config /dev/null means no file */
}

/* `needed`: a missing file is an error. */
static int config_read(struct config *config, const char *path, bool needed, struct fault *fault)
{
	struct quote quote;
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && !needed && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return fault_say(fault, CONFIG_E_BAD, "cannot read %s: %s",
				 quote_text(&quote, path), strerror(errno));
	int result;
	if (fstat(fd, &stat) || !config_is_readable(&stat))
		result = fault_say(fault, CONFIG_E_BAD, "cannot read %s: it is not a regular file",
				   quote_text(&quote, path));
	else
		result = config_parse(config, fd, path, fault);
	close(fd);
	return result;
}

static int config_is_drop_in(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);
	return entry->d_name[0] != '.' && size > 5 &&
	       strcmp(entry->d_name + size - 5, ".conf") == 0;
}

/* By bytes; alphasort() depends on the locale. */
static int config_by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int config_read_drop_ins(struct config *config, struct fault *fault)
{
	struct quote quote;
	char *folder, *path;
	struct dirent **entries;
	int result = 0;
	if (asprintf(&folder, "%s.d", config->path) < 0)
		return -ENOMEM;
	int count = scandir(folder, &entries, config_is_drop_in, config_by_bytes);
	if (count < 0 && errno == ENOMEM)
		result = -ENOMEM;
	else if (count < 0 && errno != ENOENT && errno != ENOTDIR)
		result = fault_say(fault, CONFIG_E_BAD, "cannot read %s: %s",
				   quote_text(&quote, folder), strerror(errno));
	for (int i = 0; i < count; i++) {
		if (!result && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
			result = -ENOMEM;
		} else if (!result) {
			result = config_read(config, path, true, fault);
			free(path);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	free(folder);
	return result;
}

/* -- environment and command line --------------------------------------------------------- */

static int config_read_environment(struct config *config, struct fault *fault)
{
	for (unsigned i = 0; i < option_count; i++) {
		struct fault why;
		char name[64], origin[80];
		const char *value = getenv(option_variable(&options[i], name));
		if (!value || !value[0])
			continue;
		snprintf(origin, sizeof(origin), "env %s", name);
		int result = config_put(config, &options[i], value, origin, &why);
		if (result)
			return result < 0
				       ? result
				       : fault_say(fault, CONFIG_E_BAD, "%s: %s", name, why.text);
	}
	return 0;
}

static int config_apply_flags(struct config *config, const struct flags *flags, struct fault *fault)
{
	for (unsigned i = 0; i < flags->count; i++) {
		struct fault why;
		char origin[80];
		const struct flag *flag = &flags->given[i];
		snprintf(origin, sizeof(origin), "flag --%s", flag->option->name);
		int result = config_put(config, flag->option, flag->value, origin, &why);
		if (result)
			return result < 0 ? result
					  : fault_say(fault, CONFIG_E_USAGE, "--%s: %s",
						      flag->option->name, why.text);
	}
	return 0;
}

/* -- all of it ---------------------------------------------------------------------------- */

static int config_apply_defaults(struct config *config, struct fault *fault)
{
	for (unsigned i = 0; i < option_count; i++) {
		struct fault why;
		char text[OPTION_TEXT_MAX];
		option_default(&options[i], text);
		if (!text[0] && options[i].type == OPTION_SOCKET)
			continue; /* config_place_control() sets it */
		int result = config_put(config, &options[i], text, "default", &why);
		if (result)
			return result < 0 ? result
					  : fault_say(fault, CONFIG_E_BAD,
						      "the default of %s is not possible on this "
						      "machine (%s): set it",
						      options[i].name, why.text);
	}
	return 0;
}

/* Without an option the control socket is beside the other one. */
static int config_place_control(struct config *config, struct fault *fault)
{
	struct fault why;
	char path[OPTION_TEXT_MAX];
	const struct option *option = option_find("control-socket", &why);
	if (config->control_socket && strcmp(config->control_socket, config->socket) == 0)
		return fault_say(fault, CONFIG_E_BAD,
				 "control-socket is the socket of the trainers, %s: it needs "
				 "another path",
				 config->socket);
	if (config->metrics_socket &&
	    (strcmp(config->metrics_socket, config->socket) == 0 ||
	     (config->control_socket &&
	      strcmp(config->metrics_socket, config->control_socket) == 0)))
		return fault_say(fault, CONFIG_E_BAD,
				 "metrics-socket is another socket, too, %s: it needs its own path",
				 config->metrics_socket);
	if (config->control_socket)
		return 0;
	int folder = (int)(strrchr(config->socket, '/') - config->socket);
	snprintf(path, sizeof(path), "%.*s/control.sock", folder, config->socket);
	int result = config_put(config, option, path, "default: beside the socket", &why);
	if (result > 0)
		return fault_say(fault, CONFIG_E_BAD, "control-socket: %s: set it", why.text);
	return result;
}

static int config_read_all(struct config *config, const struct flags *flags, struct fault *fault)
{
	char initial[OPTION_TEXT_MAX];
	const char *variable = getenv("STOKER_CONFIG");
	const char *path = flags->config	     ? flags->config
			   : variable && variable[0] ? variable
						     : NULL;
	machine_config(initial, sizeof(initial));
	config->path = strdup(path ? path : initial);
	if (!config->path)
		return -ENOMEM;
	int result = config_apply_defaults(config, fault);
	if (!result)
		result = config_read(config, config->path, path != NULL, fault);
	if (!result)
		result = config_read_drop_ins(config, fault);
	if (!result)
		result = config_read_environment(config, fault);
	if (!result)
		result = config_apply_flags(config, flags, fault);
	if (!result)
		result = config_place_control(config, fault);
	return result ? result : preflight_check_cache(config, fault) ? CONFIG_E_BAD : 0;
}

void config_print(const struct config *config, FILE *file)
{
	char text[OPTION_TEXT_MAX];
	fprintf(file, "# %s and %s.d/*.conf\n[stokerd]\n", config->path, config->path);
	for (unsigned i = 0; i < option_count; i++) {
		char *rest = text, *value;
		option_format(&options[i], config, text);
		while ((value = strsep(&rest, "\n"))) /* of a list a line for each */
			fprintf(file, "%s = %s  # %s\n", options[i].name, value,
				config->origins[i]);
	}
}

static void config_print_help(void)
{
	char text[OPTION_TEXT_MAX];
	printf("stokerd: decodes and augments images once for all training processes\n");
	for (unsigned i = 0; i < option_count; i++) {
		option_default(&options[i], text);
		int used = printf("  --%s %s", options[i].name, options[i].argument);
		printf("%*s%s%s [%s]\n", used < 30 ? 30 - used : 1, "", options[i].help,
		       options[i].live ? " *" : "", text[0] ? text : options[i].unset);
	}
	machine_config(text, sizeof(text));
	printf("  --config FILE               configuration: FILE and FILE.d/*.conf [%s]\n", text);
	printf("  --check, --print-config     check it; print it with its origins; also --version, "
	       "--help\n"
	       "A flag overrides STOKER_WORKERS=4 in the environment, and that 'workers = 4' "
	       "below [stokerd].\nSIZE: 64K, 2G; of memory also 25%%. TIME: 10s, 500ms. MODE: "
	       "octal.\n*: can be changed while it runs: stokerctl set workers 8. More: man "
	       "stokerd.\n");
}

/* --check and --print-config end here; a daemon that starts needs its socket's folder. */
static int config_finish(const struct config *config, enum flags_action action, struct fault *fault)
{
	bool placed = !option_is_default("socket", config);
	if (action == FLAGS_CHECK)
		return preflight_check(config, !placed, fault) ? CONFIG_E_BAD : CONFIG_DONE;
	if (action == FLAGS_PRINT) {
		config_print(config, stdout);
		return CONFIG_DONE;
	}
	/* systemd made the folder of a socket that it passes. */
	if (!placed && !getenv("LISTEN_FDS") && machine_make_folder(config->socket, fault))
		return CONFIG_E_BAD;
	return 0;
}

int config_load(struct config *out, int argc, char **argv, struct fault *fault)
{
	struct config config = CONFIG_NULL;
	struct flags flags = {0};
	int result = flags_take(&flags, argc, argv, fault);
	if (result)
		return result;
	if (flags.action == FLAGS_HELP) {
		config_print_help();
		return CONFIG_DONE;
	}
	if (flags.action == FLAGS_VERSION) {
		printf("stokerd %s\n", STOKER_VERSION);
		return CONFIG_DONE;
	}
	result = config_read_all(&config, &flags, fault);
	if (!result)
		result = config_finish(&config, flags.action, fault);
	if (result) {
		config_deinit(&config);
		return result < 0 ? fault_say(fault, result, "out of memory") : result;
	}
	config.argc = argc;
	config.argv = argv;
	*out = config;
	return 0;
}

int config_reload(struct config *out, const struct config *config, struct fault *fault)
{
	struct config fresh = {.argc = config->argc, .argv = config->argv};
	struct flags flags = {0};
	int result = flags_take(&flags, config->argc, config->argv, fault);
	if (!result)
		result = config_read_all(&fresh, &flags, fault);
	if (result) {
		config_deinit(&fresh);
		return result < 0 ? fault_say(fault, result, "out of memory") : CONFIG_E_BAD;
	}
	*out = fresh;
	return 0;
}

int config_set(struct config *config, const char *name, const char *value, struct fault *fault)
{
	struct fault why;
	const struct option *option = option_find(name, fault);
	if (!option)
		return CONFIG_E_BAD;
	if (!option->live)
		return fault_say(fault, CONFIG_E_BAD,
				 "%s cannot be changed while the daemon runs: set it in the "
				 "configuration and restart",
				 option->name);
	if (option_is_list(option))
		return fault_say(fault, CONFIG_E_BAD,
				 "%s is a list: write it into the configuration, then stokerctl "
				 "reload",
				 option->name);
	int result = config_put(config, option, value, CONFIG_SET, &why);
	if (!result && preflight_check_cache(config, &why)) {
		config->cache_decoded_size = 0; /* as it was: see there */
		result = CONFIG_E_BAD;
	}
	if (result > 0)
		return fault_say(fault, CONFIG_E_BAD, "%s: %s", option->name, why.text);
	return result;
}
