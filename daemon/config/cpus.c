// SPDX-License-Identifier: MIT
#include "config/cpus.h"

#include <errno.h>
#include <string.h>

#include "base/quote.h"

#define PROCESSORS_MAX (1u << 18) /* more than any kernel has */

static int cpus_init(struct cpus *cpus, unsigned processors)
{
	cpus->set = CPU_ALLOC(processors);
	cpus->bytes = CPU_ALLOC_SIZE(processors);
	if (!cpus->set)
		return -ENOMEM;
	CPU_ZERO_S(cpus->bytes, cpus->set);
	return 0;
}

void cpus_deinit(struct cpus *cpus)
{
	CPU_FREE(cpus->set);
	*cpus = CPUS_NULL;
}

int cpus_of_process(struct cpus *out)
{
	/* The kernel refuses a mask smaller than its own. */
	for (unsigned processors = 1024; processors <= PROCESSORS_MAX; processors *= 2) {
		int r = cpus_init(out, processors);
		if (r < 0)
			return r;
		if (sched_getaffinity(0, out->bytes, out->set) == 0)
			return 0;
		r = -errno;
		cpus_deinit(out);
		if (r != -EINVAL)
			return r;
	}
	return -EINVAL;
}

/* Take the number at the start of *text, and move *text behind it; -1: none, or too large. */
static long cpus_number(const char **text)
{
	long number = **text >= '0' && **text <= '9' ? 0 : -1;
	for (; **text >= '0' && **text <= '9'; ++*text)
		number = number < PROCESSORS_MAX ? number * 10 + **text - '0' : number;
	return number < PROCESSORS_MAX ? number : -1;
}

/* Add one entry, which ends at `end`: "3" or "0-3". */
static int cpus_add(struct cpus *cpus, const struct cpus *allowed, const char *text,
		    const char *end, struct fault *fault)
{
	struct quote quote;
	const char *at = text;
	long first = cpus_number(&at), last = first;
	quote_bytes(&quote, text, (size_t)(end - text));
	if (*at == '-') {
		at++;
		last = cpus_number(&at);
	}
	if (at != end || first < 0 || last < first)
		return fault_say(fault, CPUS_E_BAD,
				 "'%s' is neither a processor nor a range, such as 8 or 0-3",
				 quote.text);
	for (long i = first; i <= last; i++) {
		if (!CPU_ISSET_S((size_t)i, allowed->bytes, allowed->set))
			return fault_say(fault, CPUS_E_BAD,
					 "'%s': processor %ld does not exist, or this process may "
					 "not use it",
					 quote.text, i);
		CPU_SET_S((size_t)i, cpus->bytes, cpus->set);
	}
	return 0;
}

static int cpus_add_all(struct cpus *cpus, const struct cpus *allowed, const char *text,
			struct fault *fault)
{
	for (;;) {
		const char *end = strchrnul(text, ',');
		int r = cpus_add(cpus, allowed, text, end, fault);
		if (r || !*end)
			return r;
		text = end + 1;
	}
}

int cpus_parse(struct cpus *out, const char *text, struct fault *fault)
{
	struct cpus cpus, allowed;
	*out = CPUS_NULL;
	if (!text || !text[0])
		return 0;
	int r = cpus_of_process(&allowed);
	if (r < 0)
		return fault_say(
			fault, r == -ENOMEM ? r : CPUS_E_BAD,
			"cannot find out this process's processors: %s: give workers a number",
			strerror(-r));
	r = cpus_init(&cpus, PROCESSORS_MAX);
	if (r == 0)
		r = cpus_add_all(&cpus, &allowed, text, fault);
	cpus_deinit(&allowed);
	if (r)
		cpus_deinit(&cpus);
	else
		*out = cpus;
	return r;
}
