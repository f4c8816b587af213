/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/report.h"

#include <string.h>

#include "client/ctl/show/unit.h"
#include "proto/counter.h"

#define VALUE_MAX 256

/* Shown in the first line. */
static const char *const headline[] = {"version", "state", "pid", "uptime_s", "socket"};

static const struct {
	const char *title;
	const char *names[20];
} sections[] = {
	{"readers",
	 {"readers", "streams", "rings", "ring_bytes", "ring_bytes_kept", "ring_memory",
	  "slots_leased", "readers_total", "forks_total", "forks_refused_total", "merges_total",
	  "max_readers_per_user", "ring_memory_per_user", "lease_timeout_s"}},
	{"producers",
	 {"producers", "producers_lost_total", "produced_total", "produced_failed_total"}},
	{"work",
	 {"workers",
	  "workers_auto",
	  "fetchers",
	  "fetchers_auto",
	  "processors",
	  "kernels",
	  "processor",
	  "queued",
	  "queued_per_user",
	  "samples_made_total",
	  "samples_decoded_total",
	  "samples_read_total",
	  "bytes_read_total",
	  "decodes_shared_total",
	  "samples_delivered_total",
	  "batches_delivered_total",
	  "samples_cancelled_total",
	  "work_ns_total",
	  "transform_ns_total",
	  "fetch_ns_total"}},
	{"network",
	 {"remote_requests_total", "remote_bytes_total", "remote_retries_total",
	  "remote_failures_total"}},
	{"index",
	 {"index_dir", "index_dir_fault", "index_dir_off", "index_dir_refused", "index_dir_full",
	  "index_bytes", "index_memory", "index_built_total", "index_used_total",
	  "index_full_total", "index_progressive_total", "index_arithmetic_total",
	  "index_restarts_total", "index_scans_total", "index_odd_total", "index_damaged_total",
	  "index_stale_total"}},
	{"cache",
	 {"dataset_memory", "cache_bytes", "cache_memory", "cache_limit", "cache_pictures",
	  "cache_hits_total", "cache_fills_total", "cache_files", "cache_file_hits_total",
	  "cache_replaced_total", "cache_full_total"}},
	{"cache on disk",
	 {"cache_decoded_size", "cache_decoded_bytes", "cache_decoded_pictures",
	  "cache_decoded_hits_total", "cache_decoded_fills_total", "cache_decoded_replaced_total",
	  "cache_decoded_damaged_total", "cache_decoded_speed"}},
	{"stage",
	 {"cache_dir", "cache_dir_fault", "cache_dir_off", "cache_dir_refused", "cache_dir_full",
	  "stage_bytes", "cache_size", "stage_pinned", "stage_objects", "stage_hits_total",
	  "stage_hit_bytes_total", "stage_fetched_bytes_total", "stage_replaced_total",
	  "stage_full_total", "stage_damaged_total", "stage_failed_total"}},
	{"trouble",
	 {"samples_bad_total", "samples_substituted_total", "files_changed_total", "stuck_reads",
	  "stuck_tasks", "protocol_errors_total", "bad_releases_total", "timeouts_total",
	  "leases_expired_total", "overruns_total", "connections_refused_total",
	  "log_dropped_total", "reloads_total", "reload_failed"}},
	{"connections",
	 {"connections", "max_connections", "connections_total", "descriptors_in_flight",
	  "upgrades"}},
};
#define SECTIONS (sizeof(sections) / sizeof(*sections))
#define NAMES (sizeof(sections->names) / sizeof(*sections->names))

/* The unit and the meaning of a value; none of one that this version does not know. */
static void find_facts(const char *name, enum unit *unit_out, const char **help_out)
{
	const struct row_column *column = row_find(ROW_STATUS, name);
	*unit_out = column ? column->unit : UNIT_NONE;
	*help_out = column ? column->help : "";
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (strcmp(counter_facts[i].name, name) != 0)
			continue;
		*unit_out = counter_facts[i].unit;
		*help_out = counter_facts[i].help;
	}
}

static bool in_headline(const char *name)
{
	for (size_t i = 0; i < sizeof(headline) / sizeof(*headline); i++)
		if (strcmp(headline[i], name) == 0)
			return true;
	return false;
}

static bool in_section(const char *name)
{
	for (size_t s = 0; s < SECTIONS; s++)
		for (size_t i = 0; i < NAMES && sections[s].names[i]; i++)
			if (strcmp(sections[s].names[i], name) == 0)
				return true;
	return false;
}

static void print_title(FILE *file, const char *title, bool bold)
{
	fprintf(file, "\n%s%s%s\n", bold ? "\033[1m" : "", title, bold ? "\033[0m" : "");
}

static void print_value(FILE *file, const char *name, const json_t *value)
{
	char text[VALUE_MAX];
	const char *help;
	enum unit unit;
	find_facts(name, &unit, &help);
	unit_write(value, unit, text, sizeof(text));
	fprintf(file, "  %-26s %12s%s%s\n", name, text, *help ? "   " : "", help);
}

void report_print_headline(FILE *file, const json_t *values, bool bold)
{
	char text[5][VALUE_MAX];
	for (int i = 0; i < 5; i++)
		unit_write(json_object_get(values, headline[i]), i == 3 ? UNIT_SECONDS : UNIT_NONE,
			   text[i], VALUE_MAX);
	fprintf(file, "%sstokerd %s%s, %s for %s, pid %s, %s\n", bold ? "\033[1m" : "", text[0],
		bold ? "\033[0m" : "", text[1], text[3], text[2], text[4]);
}

static void print_others(FILE *file, json_t *values, bool bold)
{
	const char *key;
	const json_t *value;
	bool titled = false;
	json_object_foreach(values, key, value)
	{
		if (in_headline(key) || in_section(key))
			continue;
		if (!titled)
			print_title(file, "others", bold);
		titled = true;
		print_value(file, key, value);
	}
}

void report_print(FILE *file, json_t *values, bool bold)
{
	report_print_headline(file, values, bold);
	for (size_t s = 0; s < SECTIONS; s++) {
		bool titled = false;
		for (size_t i = 0; i < NAMES && sections[s].names[i]; i++) {
			const char *name = sections[s].names[i];
			const json_t *value = json_object_get(values, name);
			if (!value)
				continue;
			if (!titled)
				print_title(file, sections[s].title, bold);
			titled = true;
			print_value(file, name, value);
		}
	}
	print_others(file, values, bold);
}
