/* SPDX-License-Identifier: MIT */
#include "client/c/recover.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>

#include "client/c/clock.h"

/* Attach where the caller is, on this connection. 0, also if the last epoch is over. */
static int attach_again(struct stoker *stoker)
{
	struct message request, reply;
	int r = resume_attach(&stoker->resume, stoker->connection.memory, &request);
	if (r == RESUME_E_END)
		return stoker->end = 0;
	if (r)
		return fault_say(&stoker->fault, r, "out of memory");
	r = handle_ask_attach(stoker, &request, &reply);
	if (r)
		return r;
	stoker->attachment++;
	stoker->end = 1;
	return 0;
}

/* Try once to connect and to attach where the caller is. This closes the old connection; held
 * batches stay as they are, because a daemon that is stopping makes no samples any more. */
static int try_once(struct stoker *stoker)
{
	int r = handle_open(stoker);
	return r ? r : attach_again(stoker);
}

/* Sleep without the handle's lock. */
static void pause_ms(struct stoker *stoker, int ms)
{
	pthread_mutex_unlock(&stoker->lock);
	(void)poll(NULL, 0, ms);
	pthread_mutex_lock(&stoker->lock);
}

int recover_wait(struct stoker *stoker, int64_t until)
{
	struct resume *resume = &stoker->resume;
	for (bool last = false;; last = resume_over(resume, clock_ms())) {
		int64_t now = clock_ms(), next = resume->next;
		if (now >= next) {
			int r = try_once(stoker);
			if (r == 0) {
				resume_find(resume);
				stoker->info.info.reconnects++;
				return 0;
			}
			if (!resume_is_temporary(r))
				return r;
			resume_fail(resume);
		}
		if (last) {
			resume->next = 0; /* the next call tries at once */
			return fault_say(&stoker->fault, resume->lost,
					 "%s, and did not come back within %lld ms",
					 resume->why.text, (long long)resume->limit_ms);
		}
		if (until >= 0 && now >= until)
			return -EAGAIN;
		next = resume->next < resume->until ? resume->next : resume->until;
		next = until >= 0 && until < next ? until : next;
		if (next > now)
			pause_ms(stoker, (int)(next - now));
	}
}

/* Move to another place by DETACH and ATTACH. If the daemon refuses it, attach at the old one. */
static int move_to(struct stoker *stoker, uint64_t epoch, uint64_t position)
{
	struct resume *resume = &stoker->resume;
	const uint64_t was_epoch = resume->epoch, was_position = resume->position;
	struct message request = message_init(MESSAGE_DETACH), reply;
	request.detach.seq = connection_seq(&stoker->connection);
	int r = connection_ask(&stoker->connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS,
			       &reply, &stoker->fault);
	if (r)
		return r;
	resume->epoch = epoch;
	resume->position = position;
	r = attach_again(stoker);
	if (r == 0 || resume_is_temporary(r))
		return r;
	const struct fault why = stoker->fault;
	resume->epoch = was_epoch;
	resume->position = was_position;
	int back = attach_again(stoker);
	if (back == 0)
		stoker->fault = why;
	return back ? back : r;
}

int recover_seek(struct stoker *stoker, uint64_t epoch, uint64_t position)
{
	struct resume *resume = &stoker->resume;
	int r = 0;
	if (epoch > UINT32_MAX)
		return fault_say(&stoker->fault, -EINVAL, "there is no epoch %llu",
				 (unsigned long long)epoch);
	if (!resume->lost)
		r = move_to(stoker, epoch, position);
	if (r && resume_is_temporary(r) && resume_lose(resume, r, &stoker->fault))
		r = 0;
	if (r == 0) { /* stoker_next() attaches there if the daemon is away */
		resume->epoch = epoch;
		resume->position = position;
		handle_forget_stall(stoker);
		stoker->fault.text[0] = '\0';
	}
	return r;
}
