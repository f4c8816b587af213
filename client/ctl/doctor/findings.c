/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "client/c/fault.h"
#include "client/ctl/json.h"
#include "client/ctl/show/unit.h"

#define TEXT_MAX 2048

static const char *const levels[] = {"ok", "warn", "fail"};
static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m"};

int findings_init(struct findings *findings)
{
	*findings = (struct findings){.list = json_array()};
	return findings->list ? 0 : -ENOMEM;
}

void findings_deinit(struct findings *findings)
{
	json_decref(findings->list);
	findings->list = NULL;
}

static json_t *text_json(const char *text)
{
	return text ? json_of_text((struct text){text, strlen(text)}) : json_null();
}

void findings_add(struct findings *findings, enum finding_level level, const char *check,
		  const char *advice, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (level > findings->worst)
		findings->worst = level;
	(void)json_array_append_new(
		findings->list, json_pack("{sssssoso}", "check", check, "level", levels[level],
					  "text", text_json(text), "advice", text_json(advice)));
}

static enum finding_level level_of(const json_t *finding)
{
	const char *name = json_string_value(json_object_get(finding, "level"));
	enum finding_level level = FINDING_OK;
	while (level < FINDING_FAIL && strcmp(levels[level], name) != 0)
		level++;
	return level;
}

static void print_one(FILE *file, const json_t *finding, bool bold)
{
	char text[TEXT_MAX * 4];
	enum finding_level level = level_of(finding);
	unit_write(json_object_get(finding, "text"), UNIT_NONE, text, sizeof(text));
	fprintf(file, "%s%-4s%s  %-11s  %s\n", bold ? colours[level] : "", levels[level],
		bold ? "\033[0m" : "", json_string_value(json_object_get(finding, "check")), text);
	unit_write(json_object_get(finding, "advice"), UNIT_NONE, text, sizeof(text));
	if (!json_is_null(json_object_get(finding, "advice")))
		fprintf(file, "%19s%s\n", "-> ", text);
}

void findings_print(FILE *file, const struct findings *findings, bool bold)
{
	unsigned counts[3] = {0};
	const json_t *finding;
	size_t i;
	json_array_foreach(findings->list, i, finding)
	{
		print_one(file, finding, bold);
		counts[level_of(finding)]++;
	}
	fprintf(file, "%u ok, %u warn, %u fail\n", counts[FINDING_OK], counts[FINDING_WARN],
		counts[FINDING_FAIL]);
}

json_t *findings_json(const struct findings *findings)
{
	return json_pack("{sOss}", "checks", findings->list, "worst", levels[findings->worst]);
}
