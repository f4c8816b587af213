/* SPDX-License-Identifier: MIT */
/*
 * Answers to LIST: one page of what there is, in the order of ids, as many items as fit into a
 * frame; `next` says where the following page begins. Loop thread; changes nothing but the tokens
 * of who watches.
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
/* Send the description of a stream, alone in its frame; of `owner` only those of this user (NULL:
 * of all). */
void listing_description(struct session *session, const struct message_list *list,
			 const uid_t *owner);
void listing_own(struct session *session, const struct message_list *list); /* its reader's row */
void listing_datasets(struct session *session, const struct message_list *list);
void listing_cache(struct session *session, const struct message_list *list);
void listing_memory(struct session *session, const struct message_list *list);
void listing_bad(struct session *session, const struct message_list *list);
void listing_metrics(struct session *session, const struct message_list *list); /* texts */
void listing_page(struct session *session, const struct message_list *list); /* a way to the page */
void listing_classes(struct session *session, const struct message_list *list,
		     const struct dataset *dataset);
void listing_paths(struct session *session, const struct message_list *list,
		   const struct dataset *dataset); /* from the sample `after` on */

#endif
