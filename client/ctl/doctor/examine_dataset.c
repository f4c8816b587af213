/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/examine_dataset.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/c/clock.h"
#include "client/c/path.h"
#include "client/c/stoker.h"
#include "client/ctl/show/values.h"

#define ORDER_SEED 0x646f63746f72u /* an order that no trainer uses by chance */
#define BATCH 8
#define BATCHES 16
#define TIMEOUT_MS 10000
#define SLOW_READ_MS 20 /* a disk with a moving head takes about 10 */

static bool is_in(const struct host_process *process, gid_t gid)
{
	for (size_t i = 0; i < process->n_groups; i++)
		if (process->groups[i] == gid)
			return true;
	return false;
}

static bool may(const struct host_process *process, const struct stat *stat, unsigned bits)
{
	unsigned mode = stat->st_mode;
	if (process->uid == 0)
		return true;
	if (process->uid == stat->st_uid)
		mode >>= 6;
	else if (is_in(process, stat->st_gid))
		mode >>= 3;
	return (mode & bits) == bits;
}

void examine_path(const struct host_process *process, const char *path, char *out)
{
	struct stat stat_;
	size_t size = strlen(path);
	for (size_t i = 1; i <= size; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		snprintf(out, PATH_MAX, "%.*s", (int)i, path);
		if (stat(out, &stat_))
			break;
		unsigned bits = S_ISDIR(stat_.st_mode) ? S_IXOTH : 0;
		if (i == size)
			bits |= S_IROTH;
		if (!may(process, &stat_, bits))
			return;
	}
	*out = '\0';
}

static void say_closed(struct findings *findings, const struct host_process *process,
		       const char *path, int error, const char *why)
{
	char closed[PATH_MAX], advice[PATH_MAX + 256];
	const struct passwd *user = process->pid ? getpwuid(process->uid) : NULL;
	*closed = '\0';
	if (process->pid)
		examine_path(process, path, closed);
	if (error == -EPERM)
		snprintf(advice, sizeof(advice),
			 "let its owner add it to dataset-root, in the daemon's configuration, or "
			 "use a daemon of your own");
	else if (*closed)
		snprintf(advice, sizeof(advice),
			 "the daemon runs as %s (uid %u), and %s is closed to it: chmod a+rX, or "
			 "add it to the group that may",
			 user ? user->pw_name : "another user", (unsigned)process->uid, closed);
	else
		snprintf(advice, sizeof(advice),
			 "give a folder with a folder for each class, a manifest, or an array; if "
			 "the path is right, the unit may hide it (ProtectHome=, a container's "
			 "mounts)");
	findings_add(findings, FINDING_FAIL, "dataset", advice, "%s", why);
}

/* The counters are of all readers: what is measured is the storage, not this reader. */
static void say_storage(struct findings *findings, const json_t *before, const json_t *after)
{
	double files = grown(before, after, COUNTER_SAMPLES_READ);
	double seconds = grown(before, after, COUNTER_FETCH_NS) * 1e-9;
	if (files <= 0 || seconds <= 0)
		return;
	double each_ms = 1e3 * seconds / files;
	bool slow = each_ms > SLOW_READ_MS;
	findings_add(findings, slow ? FINDING_WARN : FINDING_OK, "storage",
		     slow ? "more fetchers read more files at once: stokerctl set fetchers 16; or "
			    "a faster disk"
			  : NULL,
		     "%.0f files in %.2f ms each, %.0f MB/s for each fetcher (from the page cache, "
		     "if they were read before)",
		     files, each_ms, grown(before, after, COUNTER_BYTES_READ) / seconds / 1e6);
}

/* Some batches; the number of samples that are bad, or a negative errno. */
static int take(struct stoker *stoker)
{
	const struct stoker_batch *batch;
	int bad = 0;
	for (int i = 0; i < BATCHES; i++) {
		int r = stoker_next(stoker, &batch, TIMEOUT_MS);
		if (r == 0)
			break;
		if (r < 0 && r != -EBADMSG)
			return r;
		bad += r == -EBADMSG;
		if (r == 1 && stoker_release(stoker, batch) < 0)
			break;
	}
	return bad;
}

static int try_dataset(struct findings *findings, struct reached *reached, struct stoker *stoker,
		       const char *path)
{
	json_t *before = NULL, *after = NULL;
	int64_t begun = clock_ns();
	if (reached->status)
		(void)control_status(&reached->control, &before);
	int bad = take(stoker);
	double seconds = (double)(clock_ns() - begun) * 1e-9;
	if (reached->status)
		(void)control_status(&reached->control, &after);
	if (bad > 0)
		findings_add(findings, FINDING_WARN, "dataset", "stokerctl bad says which and why",
			     "%s: %d of the first %d batches have bad samples", path, bad, BATCHES);
	else if (bad == 0)
		findings_add(findings, FINDING_OK, "dataset", NULL,
			     "%s: %llu samples, readable; the first ones took %.2f s", path,
			     (unsigned long long)stoker_info(stoker)->samples, seconds);
	if (before && after && bad >= 0)
		say_storage(findings, before, after);
	json_decref(before);
	json_decref(after);
	return bad < 0 ? bad : 0;
}

void examine_dataset(struct findings *findings, struct reached *reached,
		     const struct host_process *process, const char *path, const char *kind)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	char whole[PATH_WHOLE_MAX];
	struct fault fault;
	if (path_whole(path, whole, &fault)) {
		findings_add(findings, FINDING_FAIL, "dataset", NULL, "%s", fault.text);
		return;
	}
	options.dataset = whole;
	options.dataset_kind = kind;
	options.transforms = "Resize((8, 8))";
	options.dtype = "uint8";
	options.batch_size = BATCH;
	options.order_seed = ORDER_SEED;
	options.epochs = 1;
	options.reconnect_ms = -1;
	struct stoker *stoker = stoker_new();
	int r = stoker ? stoker_connect(stoker, reached->data) : -ENOMEM;
	if (r == 0)
		r = stoker_attach(stoker, &options);
	if (r)
		say_closed(findings, process, whole, r,
			   stoker ? stoker_error(stoker) : "no memory");
	else if (try_dataset(findings, reached, stoker, whole))
		findings_add(findings, FINDING_FAIL, "dataset",
			     "stokerctl readers and the daemon's log say what is waited for", "%s",
			     stoker_error(stoker));
	stoker_free(stoker);
}
