/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/examine_machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define MIB ((uint64_t)1 << 20)
#define SHM_LEAST (64 * MIB) /* a ring by path of some batches of 224 x 224 */
#define FILES_A_READER 3     /* socket, process, ring */
#define FILES_BESIDE 64
#define STEAL_MOST 0.05

static uint64_t setting(const struct machine *machine, const char *name)
{
	return (uint64_t)whole_of(machine->status, name);
}

static const char *bytes(uint64_t number, char out[32])
{
	json_t *value = json_integer((json_int_t)number);
	unit_write(value, UNIT_BYTES, out, 32);
	json_decref(value);
	return out;
}

void examine_shm(struct findings *findings, const struct machine *machine)
{
	char path[PATH_MAX], all[32], left[32];
	struct statvfs shm;
	snprintf(path, sizeof(path), "%s/dev/shm", machine->root);
	if (statvfs(path, &shm)) {
		findings_add(findings, FINDING_WARN, "shm",
			     "mount a tmpfs there; clients that cannot receive descriptors need it",
			     "/dev/shm: %s", strerror(errno));
		return;
	}
	uint64_t size = (uint64_t)shm.f_blocks * shm.f_frsize;
	uint64_t room = (uint64_t)shm.f_bavail * shm.f_frsize;
	bool small = room < SHM_LEAST;
	findings_add(findings, small ? FINDING_WARN : FINDING_OK, "shm",
		     small ? "rings by path do not fit: mount -o remount,size=1G /dev/shm, or "
			     "docker run --shm-size=1g; rings by descriptor do not need it"
			   : NULL,
		     "/dev/shm has %s free of %s", bytes(room, left), bytes(size, all));
}

/* Memory that the daemon may take, by its settings. */
static uint64_t budgets(const struct machine *machine)
{
	return setting(machine, ROW_KEY(status, ring_memory)) +
	       setting(machine, ROW_KEY(status, dataset_memory)) +
	       setting(machine, ROW_KEY(status, index_memory)) +
	       setting(machine, ROW_KEY(status, cache_memory));
}

void examine_memory(struct findings *findings, const struct machine *machine)
{
	char one[32], two[32];
	pid_t pid = machine->process->pid ? machine->process->pid : getpid();
	uint64_t total = host_memory(machine->root, "MemTotal"), most = budgets(machine);
	uint64_t limit = host_memory_limit(machine->root, pid);
	bool limited = limit < total;
	if (limited)
		total = limit;
	if (most > total)
		findings_add(findings, FINDING_FAIL, "memory",
			     limited ? "raise MemoryMax= (--memory of a container), or lower "
				       "ring-memory, dataset-memory, index-memory or cache-memory"
				     : "lower ring-memory, dataset-memory, index-memory or "
				       "cache-memory",
			     "the budgets are %s, but %s %s: the kernel may kill the daemon",
			     bytes(most, one),
			     limited ? "its control group may have only" : "the machine has only",
			     bytes(total, two));
	else
		findings_add(findings, FINDING_OK, "memory", NULL, "%s%s%s%s", bytes(total, two),
			     limited ? " by the control group" : "",
			     machine->status ? "; the budgets are " : "",
			     machine->status ? bytes(most, one) : "");
}

void examine_descriptors(struct findings *findings, const struct machine *machine)
{
	uint64_t has = machine->process->files_max;
	uint64_t wanted =
		FILES_A_READER * setting(machine, ROW_KEY(status, max_connections)) + FILES_BESIDE;
	uint64_t now = FILES_A_READER * setting(machine, counter_facts[COUNTER_CONNECTIONS].name) +
		       FILES_BESIDE;
	if (!machine->process->pid || !has)
		return;
	findings_add(findings,
		     has < now	    ? FINDING_FAIL
		     : has < wanted ? FINDING_WARN
				    : FINDING_OK,
		     "descriptors",
		     has < wanted
			     ? "LimitNOFILE=65536 in the unit, or ulimit -Hn before it starts; "
			       "or a lower max-connections"
			     : NULL,
		     "the daemon may have %llu files open; %llu connections need %llu",
		     (unsigned long long)has,
		     (unsigned long long)setting(machine, ROW_KEY(status, max_connections)),
		     (unsigned long long)wanted);
}

static void examine_kernels(struct findings *findings, const struct machine *machine)
{
	const char *used = text_of(machine->status, ROW_KEY(status, kernels));
	const char *best = text_of(machine->status, ROW_KEY(status, processor));
	if (!*used || !*best)
		return;
	bool same = strcmp(used, best) == 0;
	findings_add(findings, same ? FINDING_OK : FINDING_WARN, "kernels",
		     same ? NULL : "take STOKER_CPU out of the daemon's environment",
		     same ? "the inner loops use %s"
			  : "the inner loops use %s, though the processor has %s",
		     used, best);
}

void examine_processors(struct findings *findings, const struct machine *machine)
{
	char advice[160];
	double processors = machine->process->processors;
	double quota = host_quota(machine->root, machine->process->pid);
	uint64_t workers = setting(machine, counter_facts[COUNTER_WORKERS].name);
	if (!machine->status)
		return;
	examine_kernels(findings, machine);
	bool limited = quota > 0 && (processors <= 0 || quota < processors);
	if (limited)
		processors = quota;
	if (processors <= 0)
		processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
	bool many = (double)workers > processors + 0.99;
	snprintf(advice, sizeof(advice), "stokerctl set workers %.0f%s",
		 processors < 1 ? 1 : processors,
		 limited ? ", or raise CPUQuota= (--cpus of a container)" : "");
	findings_add(findings, many ? FINDING_WARN : FINDING_OK, "processors", many ? advice : NULL,
		     "%llu workers on %g processors%s", (unsigned long long)workers, processors,
		     limited ? " (the quota of its control group)" : "");
}

static const char *const unit_folders[] = {"/etc/systemd/system", "/run/systemd/system",
					   "/usr/local/lib/systemd/system",
					   "/usr/lib/systemd/system", "/lib/systemd/system"};

/* Masked: a link to /dev/null. */
static bool is_masked(const char *root)
{
	char path[PATH_MAX], target[16];
	snprintf(path, sizeof(path), "%s%s/stokerd.service", root, unit_folders[0]);
	ssize_t size = readlink(path, target, sizeof(target));
	return size == 9 && memcmp(target, "/dev/null", 9) == 0;
}

void examine_units(struct findings *findings, const struct machine *machine)
{
	const char *root = machine->root;
	bool installed = false;
	for (size_t i = 0; i < sizeof(unit_folders) / sizeof(*unit_folders); i++)
		installed |= host_has(root, "%s/stokerd.socket", unit_folders[i]);
	bool enabled = host_has(root, "%s/sockets.target.wants/stokerd.socket", unit_folders[0]);
	if (is_masked(root))
		findings_add(findings, FINDING_WARN, "units", "systemctl unmask stokerd.service",
			     "stokerd.service is masked");
	else if (!installed)
		findings_add(findings, FINDING_OK, "units", NULL,
			     "not installed as a unit of the system");
	else if (!enabled)
		findings_add(findings, machine->status ? FINDING_OK : FINDING_WARN, "units",
			     machine->status ? NULL
					     : "systemctl enable --now stokerd.socket "
					       "stokerd-control.socket",
			     "stokerd.socket is installed and not enabled");
	else
		findings_add(findings, FINDING_OK, "units", NULL, "stokerd.socket is enabled");
}

void examine_steal(struct findings *findings, struct host_times before, struct host_times after)
{
	uint64_t all = after.all - before.all, steal = after.steal - before.steal;
	double share = all ? (double)steal / (double)all : 0;
	bool much = share > STEAL_MOST;
	findings_add(findings, much ? FINDING_WARN : FINDING_OK, "steal",
		     much ? "other virtual machines take this one's processors: fewer workers will "
			    "not help, a larger or a dedicated machine will"
			  : NULL,
		     "%.1f %% of the processors' time went to other machines", 100 * share);
}
