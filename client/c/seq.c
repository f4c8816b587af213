// SPDX-License-Identifier: MIT
#include "client/c/seq.h"

uint64_t seq_of(const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_HELLO:
		return message->hello.seq;
	case MESSAGE_WELCOME:
		return message->welcome.seq;
	case MESSAGE_ERROR:
		return message->error.seq;
	case MESSAGE_OK:
		return message->ok.seq;
	case MESSAGE_ATTACH:
		return message->attach.seq;
	case MESSAGE_ATTACHED:
		return message->attached.seq;
	case MESSAGE_DETACH:
		return message->detach.seq;
	case MESSAGE_PING:
		return message->ping.seq;
	case MESSAGE_STATUS:
		return message->status.seq;
	case MESSAGE_REPORT:
		return message->report.seq;
	case MESSAGE_LIST:
		return message->list.seq;
	case MESSAGE_LISTING:
		return message->listing.seq;
	case MESSAGE_SET:
		return message->set.seq;
	case MESSAGE_STOP:
		return message->stop.seq;
	case MESSAGE_RELOAD:
		return message->reload.seq;
	case MESSAGE_DROP:
		return message->drop.seq;
	case MESSAGE_PIN:
		return message->pin.seq;
	case MESSAGE_CREDENTIALS:
		return message->credentials.seq;
	default:
		return 0;
	}
}
