/* SPDX-License-Identifier: MIT */
/*
 * Answers to LIST: a page of items in the order of their ids, as many as fit into a frame; `next`
 * says where the following page begins. Loop thread; changes nothing but the tokens of those who
 * watch.
 */
#ifndef STOKER_LOOP_PROTOCOL_LISTING_H
#define STOKER_LOOP_PROTOCOL_LISTING_H

#include <sys/types.h>

struct dataset;
struct message_list;
struct session;

void listing_streams(struct session *session, const struct message_list *list);
void listing_readers(struct session *session, const struct message_list *list);
void listing_producers(struct session *session, const struct message_list *list);
/* Send the description of one stream, alone in its frame. `owner`: only if it is a stream of this
 * user; NULL: of any. */
void listing_description(struct session *session, const struct message_list *list,
			 const uid_t *owner);
void listing_own(struct session *session,
		 const struct message_list *list); /* the row of the session's own reader */
void listing_datasets(struct session *session, const struct message_list *list);
void listing_cache(struct session *session, const struct message_list *list);
void listing_memory(struct session *session, const struct message_list *list);
void listing_bad(struct session *session, const struct message_list *list);
void listing_metrics(struct session *session,
		     const struct message_list *list);			     /* as lines of text */
void listing_page(struct session *session, const struct message_list *list); /* port and token */
void listing_classes(struct session *session, const struct message_list *list,
		     const struct dataset *dataset);
void listing_paths(struct session *session, const struct message_list *list,
		   const struct dataset *dataset); /* of samples from `after` on */

#endif
