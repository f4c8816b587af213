/* SPDX-License-Identifier: MIT */
#include "client/ctl/watch.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

extern char **environ;

int watch_metrics(struct control *control, json_t **values_out)
{
	json_t *parts, *part, *text = json_string("");
	size_t i;
	int r = control_list(control, "metrics", &parts);
	if (r) {
		json_decref(text);
		return r;
	}
	json_array_foreach(parts, i, part)
	{
		json_t *whole =
			json_sprintf("%s%s", json_string_value(text), json_string_value(part));
		json_decref(text);
		text = whole;
	}
	json_decref(parts);
	*values_out = json_pack("{so}", "metrics", text);
	return *values_out ? 0 : fault_say(&control->fault, -ENOMEM, "out of memory");
}

/* As they are for a program; labels have names of datasets, which a terminal may obey. */
void watch_metrics_print(FILE *file, const json_t *values)
{
	const char *text = json_string_value(json_object_get(values, "metrics"));
	if (!isatty(fileno(file))) {
		fputs(text, file);
		return;
	}
	while (*text) {
		size_t size = strcspn(text, "\n");
		char *line = strndup(text, size);
		if (line)
			fault_make_plain(line);
		fprintf(file, "%s\n", line ? line : "");
		free(line);
		text += size + (text[size] == '\n');
	}
}

int watch_page(struct control *control, json_t **values_out)
{
	json_t *items;
	int r = control_list(control, "page", &items);
	if (r)
		return r;
	const json_t *item = json_array_get(items, 0);
	const char *address = json_string_value(json_object_get(item, ROW_KEY(page, address)));
	const char *socket = json_string_value(json_object_get(item, ROW_KEY(page, socket)));
	const char *token = json_string_value(json_object_get(item, ROW_KEY(page, token)));
	if (!address || !socket || !token)
		r = fault_say(&control->fault, -EPROTO, "a LISTING without address or token");
	else if (!*address && !*socket)
		r = fault_say(&control->fault, -ENOTSUP,
			      "this daemon serves no page: start it with --metrics-port 9736, or "
			      "with --metrics-socket PATH for ssh -L 9736:PATH");
	else if (!(*values_out =
			   json_pack("{so so so}", "url",
				     *address ? json_sprintf("http://%s/#token=%s", address, token)
					      : json_null(),
				     "socket", json_string(socket), "token", json_string(token))))
		r = fault_say(&control->fault, -ENOMEM, "out of memory");
	json_decref(items);
	return r;
}

/* Without a desktop there is nothing to open; a failure is not worth a word: the URL is shown. */
static void open_browser(const char *url)
{
	char *const arguments[] = {(char[]){"xdg-open"}, (char *)(uintptr_t)url, NULL};
	pid_t pid;
	if (!isatty(STDOUT_FILENO) || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")))
		return;
	(void)posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ);
}

void watch_page_print(FILE *file, const json_t *values)
{
	char url[1024], socket[512], token[256];
	unit_write(json_object_get(values, "url"), UNIT_NONE, url, sizeof(url));
	unit_write(json_object_get(values, "socket"), UNIT_NONE, socket, sizeof(socket));
	unit_write(json_object_get(values, "token"), UNIT_NONE, token, sizeof(token));
	if (json_is_string(json_object_get(values, "url"))) {
		fprintf(file, "%s\n", url);
		fflush(file);
		open_browser(url);
		return;
	}
	fprintf(file,
		"the page is on a Unix socket: ssh -L 9736:%s THIS-MACHINE, then open\n"
		"http://localhost:9736/#token=%s\n",
		socket, token);
}
