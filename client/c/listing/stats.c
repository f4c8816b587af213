/* SPDX-License-Identifier: MIT */
#include "client/c/listing/stats.h"

#include <stddef.h>
#include <string.h>

#include "proto/row.h"

/* Columns of the row that are numbers, and where they go; one that is left out stays as it is. */
static void read_numbers(struct stoker_stats *out, const struct value *row)
{
#define WHOLE(member)                                                                              \
	{                                                                                          \
		ROW_KEY(reader, member), &out->member                                              \
	}
	const struct {
		const char *key;
		uint64_t *to;
	} whole[] = {WHOLE(reader),    WHOLE(stream), WHOLE(epoch),    WHOLE(position),
		     WHOLE(delivered), WHOLE(leased), WHOLE(waits_for)};
	const struct {
		const char *key;
		double *to;
	} reals[] = {WHOLE(age_s),	   WHOLE(images_per_second),
		     WHOLE(trainer_s),	   WHOLE(storage_s),
		     WHOLE(decode_s),	   WHOLE(slot_s),
		     WHOLE(share_trainer), WHOLE(share_storage),
		     WHOLE(share_decode),  WHOLE(share_slot),
		     WHOLE(waited)};
#undef WHOLE
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		*whole[i].to = value_uint(value_get(row, whole[i].key));
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		(void)value_number(value_get(row, reals[i].key), reals[i].to);
}

static void read_text(char *out, size_t capacity, const struct value *row, const char *key)
{
	text_copy(out, capacity, value_text(value_get(row, key)));
	fault_make_plain(out);
}

int stats_ask(struct stats *out, struct connection *connection, struct fault *fault)
{
	struct message request = message_init(MESSAGE_LIST), reply;
	request.list.seq = connection_seq(connection);
	request.list.what = (struct text){"reader", strlen("reader")};
	int r = connection_ask_beside(connection, &request, MESSAGE_LISTING, CONNECTION_QUIET_MS,
				      &reply, fault);
	if (r)
		return r;
	const struct value *items = reply.listing.items.value, *row = value_item(items, 0);
	if (value_kind(items) != VALUE_LIST || value_count(items) != 1 ||
	    value_kind(row) != VALUE_MAP)
		return connection_broken(connection, fault, "statistics that are not a map");
	*out = (struct stats){.stats = {.waited = -1}};
	read_numbers(&out->stats, row);
	read_text(out->state, sizeof(out->state), row, ROW_KEY(reader, state));
	read_text(out->limited_by, sizeof(out->limited_by), row, ROW_KEY(reader, limited_by));
	out->stats.state = out->state;
	out->stats.limited_by = out->limited_by;
	return 0;
}
