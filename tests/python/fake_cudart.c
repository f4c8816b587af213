/* SPDX-License-Identifier: MIT
 *
 * CUDA's runtime library, made of host memory: what the Python client uses of it. Copies are made
 * late, by a thread, in the order of each stream; a stream waits for events of others.
 *
 * It refuses what the real one refuses, and what would be wrong without being refused (a private
 * mapping, memory that is not pinned, memory that is unpinned while it is copied), and counts it.
 * Owns streams, events, pinned ranges and the thread. One lock guards all.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	E_VALUE = 1,
	E_MEMORY = 2,
	E_REGISTERED = 712,
	E_NOT_REGISTERED = 713,
	E_NOT_READY = 600,
	E_NOT_SUPPORTED = 801,
	READ_ONLY = 8,
	READ_ONLY_SUPPORTED = 113,
	STREAMS = 8,
	RANGES = 32,
	CALLS = 32
};

struct event {
	uint64_t recorded, done;
};

struct op {
	struct op *next;
	void *to;
	const void *from;
	size_t length;
	struct event *event;
	uint64_t number; /* of the record that it is, or waits for */
	bool waits;
};

struct stream {
	struct op *first, **last;
	bool used;
};

struct range {
	uintptr_t begin, length;
	bool allocated;
};

#pragma GCC visibility push(default)
/* What tests read and set, as 64-bit numbers by name. */
int64_t fake_read_only = 1, fake_late_us = 200, fake_held, fake_copies, fake_bytes, fake_registered,
	fake_allocated, fake_events, fake_registers, fake_waits, fake_wrong, fake_last_error,
	fake_under_way;

int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaHostRegister(void *address, size_t length, unsigned flags);
int cudaHostUnregister(void *address);
int cudaHostAlloc(void **address, size_t length, unsigned flags);
int cudaFreeHost(void *address);
int cudaMemcpyAsync(void *to, const void *from, size_t length, int kind, void *stream);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);
int cudaEventSynchronize(void *event);
int cudaGetLastError(void);
const char *cudaGetErrorString(int code);
void fake_fail(const char *call, int after, int times, int code);
int fake_calls(const char *call);
void fake_forget(int range);
#pragma GCC visibility pop

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct stream streams[STREAMS]; /* the first is the default one, NULL */
static struct range ranges[RANGES];
static struct call {
	char name[48];
	int calls, fail_at, fail_until, code;
} calls[CALLS];

static struct call *call_of(const char *name)
{
	for (struct call *call = calls;; call++) {
		if (call == &calls[CALLS])
			abort();
		if (!call->name[0])
			snprintf(call->name, sizeof(call->name), "%s", name);
		if (strcmp(call->name, name) == 0)
			return call;
	}
}

/* The calls of that name fail from the after-th from now on, that many times. */
void fake_fail(const char *name, int after, int times, int code)
{
	pthread_mutex_lock(&lock);
	struct call *call = call_of(name);
	call->fail_at = call->calls + after;
	call->fail_until = call->fail_at + times;
	call->code = code;
	pthread_mutex_unlock(&lock);
}

int fake_calls(const char *name)
{
	pthread_mutex_lock(&lock);
	int n = call_of(name)->calls;
	pthread_mutex_unlock(&lock);
	return n;
}

/* What a failed call has left. */
void fake_forget(int range)
{
	struct range *of = &ranges[range];
	pthread_mutex_lock(&lock);
	if (of->length > 0) {
		fake_registered -= !of->allocated;
		fake_allocated -= of->allocated;
	}
	of->length = 0;
	pthread_mutex_unlock(&lock);
}

static int left(int code)
{
	if (code != 0)
		fake_last_error = code;
	pthread_mutex_unlock(&lock);
	return code;
}

/* Takes the lock; an error that was asked for. */
static int entered(const char *name)
{
	pthread_mutex_lock(&lock);
	struct call *call = call_of(name);
	int n = call->calls++;
	return n >= call->fail_at && n < call->fail_until ? call->code : 0;
}

/* What no test expects: it is printed, too. */
static int wrong(const char *what, int code)
{
	fake_wrong++;
	fprintf(stderr, "fake_cudart: %s\n", what);
	return code;
}

static struct range *range_of(uintptr_t begin, uintptr_t length)
{
	for (struct range *range = ranges; range < &ranges[RANGES]; range++)
		if (range->length > 0 && begin < range->begin + range->length &&
		    range->begin < begin + length)
			return range;
	return NULL;
}

static bool range_add(uintptr_t begin, size_t length, bool allocated)
{
	for (struct range *range = ranges; range < &ranges[RANGES]; range++)
		if (range->length == 0) {
			*range = (struct range){begin, length, allocated};
			return true;
		}
	return false;
}

static bool under_way(const struct range *range)
{
	for (struct stream *stream = streams; stream < &streams[STREAMS]; stream++)
		for (struct op *op = stream->first; op; op = op->next)
			if (op->length > 0 && (uintptr_t)op->from - range->begin < range->length)
				return true;
	return false;
}

/* Is all of it mapped, shared, and read-only? */
static bool is_shared(uintptr_t begin, uintptr_t length)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096], mode[5];
	uintptr_t first, end, at = begin;
	while (maps && at < begin + length && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &first, &end, mode) == 3 && first <= at &&
		    at < end) {
			if (strcmp(mode, "r--s") != 0)
				break;
			at = end;
		}
	if (maps)
		fclose(maps);
	return at >= begin + length;
}

static bool step(struct stream *stream)
{
	struct op *op = stream->first;
	if (!op || (op->waits && op->event->done < op->number))
		return false;
	if (op->length > 0) {
		memcpy(op->to, op->from, op->length);
		fake_copies++;
		fake_bytes += (int64_t)op->length;
	} else if (!op->waits) {
		op->event->done = op->number;
	}
	stream->first = op->next;
	if (!stream->first)
		stream->last = &stream->first;
	fake_under_way--;
	free(op);
	pthread_cond_broadcast(&changed);
	return true;
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		bool some = false;
		for (struct stream *stream = streams; stream < &streams[STREAMS]; stream++) {
			if (fake_held || !stream->first)
				continue;
			pthread_mutex_unlock(&lock);
			usleep((useconds_t)fake_late_us);
			pthread_mutex_lock(&lock);
			some = (!fake_held && step(stream)) || some;
		}
		if (!some) {
			pthread_mutex_unlock(&lock);
			usleep(200);
			pthread_mutex_lock(&lock);
		}
	}
	return NULL;
}

static int append(struct stream *stream, struct op op)
{
	static pthread_t thread;
	struct op *copy = malloc(sizeof(*copy));
	if (!copy)
		abort();
	*copy = op;
	if (!stream->last)
		stream->last = &stream->first;
	*stream->last = copy;
	stream->last = &copy->next;
	fake_under_way++;
	if (!thread && pthread_create(&thread, NULL, run, NULL) != 0)
		abort();
	return 0;
}

static struct stream *stream_of(void *stream)
{
	return stream ? stream : &streams[0];
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	int code = entered(__func__);
	if (code == 0 && (attribute != READ_ONLY_SUPPORTED || device != 0))
		code = wrong("another attribute or device", E_VALUE);
	if (code == 0)
		*value = (int)fake_read_only;
	return left(code);
}

int cudaHostRegister(void *address, size_t length, unsigned flags)
{
	uintptr_t begin = (uintptr_t)address, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	int code = entered(__func__);
	if (code != 0)
		return left(code);
	if (begin % page != 0 || length % page != 0 || length == 0)
		code = wrong("the range is not of whole pages", E_VALUE);
	else if (flags != READ_ONLY)
		code = wrong("not registered as read-only", E_VALUE);
	else if (!fake_read_only)
		code = wrong("this device registers no read-only memory", E_NOT_SUPPORTED);
	else if (range_of(begin, length))
		code = wrong("registered already", E_REGISTERED);
	else if (!is_shared(begin, length))
		code = wrong("not mapped, or not shared and read-only", E_VALUE);
	else if (!range_add(begin, length, false))
		code = E_MEMORY;
	fake_registered += code == 0;
	fake_registers += code == 0;
	return left(code);
}

int cudaHostUnregister(void *address)
{
	int code = entered(__func__);
	struct range *range = range_of((uintptr_t)address, 1);
	if (code != 0)
		return left(code);
	if (!range || range->allocated || range->begin != (uintptr_t)address)
		return left(wrong("not registered", E_NOT_REGISTERED));
	if (under_way(range))
		code = wrong("unregistered while it is copied", E_VALUE);
	if (!is_shared(range->begin, range->length))
		code = wrong("unmapped while it was registered", E_VALUE);
	range->length = 0;
	fake_registered--;
	return left(code);
}

int cudaHostAlloc(void **address, size_t length, unsigned flags)
{
	int code = entered(__func__);
	if (code != 0)
		return left(code);
	*address = flags == 0 ? mmap(NULL, length, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			      : MAP_FAILED;
	if (*address == MAP_FAILED || !range_add((uintptr_t)*address, length, true))
		return left(E_MEMORY);
	fake_allocated++;
	return left(0);
}

int cudaFreeHost(void *address)
{
	int code = entered(__func__);
	struct range *range = range_of((uintptr_t)address, 1);
	if (code != 0)
		return left(code);
	if (!range || !range->allocated || range->begin != (uintptr_t)address)
		return left(wrong("not allocated", E_VALUE));
	if (under_way(range))
		code = wrong("freed while it is copied", E_VALUE);
	munmap(address, range->length);
	range->length = 0;
	fake_allocated--;
	return left(code);
}

/* kind: 1 to the device, 2 from it. */
int cudaMemcpyAsync(void *to, const void *from, size_t length, int kind, void *stream)
{
	int code = entered(kind == 1 ? __func__ : "read");
	if (code != 0)
		return left(code);
	uintptr_t begin = (uintptr_t)from;
	struct range *range = range_of(begin, length);
	if (kind == 1 &&
	    (!range || begin < range->begin || begin + length > range->begin + range->length))
		return left(wrong("copied from memory that is not pinned", E_VALUE));
	if (length > 0)
		append(stream_of(stream), (struct op){.to = to, .from = from, .length = length});
	return left(0);
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
	(void)flags;
	int code = entered(__func__);
	*stream = NULL;
	for (int i = 1; code == 0 && !*stream && i < STREAMS; i++)
		if (!streams[i].used) {
			streams[i].used = true;
			*stream = &streams[i];
		}
	return left(*stream ? code : E_MEMORY);
}

static void drain(struct stream *stream)
{
	while (stream->first)
		pthread_cond_wait(&changed, &lock);
}

int cudaStreamDestroy(void *stream)
{
	int code = entered(__func__);
	drain(stream_of(stream));
	stream_of(stream)->used = false;
	return left(code);
}

int cudaStreamSynchronize(void *stream)
{
	int code = entered(__func__);
	if (code == 0)
		drain(stream_of(stream));
	return left(code);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	(void)flags;
	int code = entered(__func__);
	struct event *of = event;
	if (code == 0)
		append(stream_of(stream),
		       (struct op){.event = of, .number = of->recorded, .waits = true});
	fake_waits += code == 0;
	return left(code);
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
	int code = entered(__func__);
	if (code == 0 && flags != 3)
		code = wrong("an event that spins or measures", E_VALUE);
	if (code == 0 && !(*event = calloc(1, sizeof(struct event))))
		code = E_MEMORY;
	fake_events += code == 0;
	return left(code);
}

/* Its memory stays: an operation may still refer to it, as to a real one. */
int cudaEventDestroy(void *event)
{
	(void)event;
	int code = entered(__func__);
	fake_events -= code == 0;
	return left(code);
}

int cudaEventRecord(void *event, void *stream)
{
	int code = entered(__func__);
	struct event *of = event;
	if (code == 0)
		append(stream_of(stream), (struct op){.event = of, .number = ++of->recorded});
	return left(code);
}

int cudaEventQuery(void *event)
{
	int code = entered(__func__);
	struct event *of = event;
	if (code == 0 && of->done < of->recorded)
		code = E_NOT_READY;
	return left(code);
}

int cudaEventSynchronize(void *event)
{
	int code = entered(__func__);
	struct event *of = event;
	while (code == 0 && of->done < of->recorded)
		pthread_cond_wait(&changed, &lock);
	return left(code);
}

int cudaGetLastError(void)
{
	pthread_mutex_lock(&lock);
	int code = (int)fake_last_error;
	fake_last_error = 0;
	pthread_mutex_unlock(&lock);
	return code;
}

const char *cudaGetErrorString(int code)
{
	return code == E_MEMORY	 ? "out of memory"
	       : code == E_VALUE ? "invalid argument"
				 : "made up";
}
