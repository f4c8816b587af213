// SPDX-License-Identifier: MIT
#include "loop/os/slice.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the least that the kernel gives */

void slice_shorten(void)
{
	struct sched_attr attr;
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
	    attr.sched_policy != SCHED_NORMAL || attr.sched_nice < 0)
		return;
	attr.sched_runtime = SLICE_NS;
	attr.sched_flags = SCHED_FLAG_RESET_ON_FORK; /* new threads get the usual one */
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
