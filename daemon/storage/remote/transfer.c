// SPDX-License-Identifier: MIT
#include "storage/remote/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "storage/remote/certificates.h"
#include "storage/remote/wiped_memory.h"

#define IDLE_MAX 256  /* connections that are kept; no more requests are under way than threads */
#define TRIES_FIRST 3 /* as long as the server never answered */
#define PAUSE_FIRST_MS 50
#define PAUSE_MOST_MS 5000
#define CONNECT_MS 10000
#define STEP_NS 50000000 /* of a pause, between looks at whether the daemon ends */
#define REDIRECTS_MAX 5
#define SECOND_NS UINT64_C(1000000000)

struct transfers {
	pthread_mutex_t lock;
	CURL *idle[IDLE_MAX];
	unsigned idle_count;
	atomic_bool answered; /* the server did, once */
	const char *ca_file;  /* of the environment; NULL: the system's */
};

/* One try of a request. */
struct attempt {
	const struct transfer_request *request;
	struct response response;
	struct buffer *buffer;
	bool begun;    /* the body has */
	bool too_long; /* it is larger than allowed */
	bool inside;   /* the host has an address of this machine or link */
	int error;     /* a negative errno */
	char words[CURL_ERROR_SIZE];
};

/* -- the end of the process ------------------------------------------------------------------- */

static struct {
	atomic_bool stopped;
	pthread_once_t once;
	_Atomic uint64_t requests, bytes, retries, failures;
} process = {.once = PTHREAD_ONCE_INIT};

static void process_begin(void)
{
	(void)curl_global_init_mem(CURL_GLOBAL_DEFAULT, wiped_malloc, wiped_free, wiped_realloc,
				   wiped_strdup, wiped_calloc);
}

struct storage_counts transfer_counts(void)
{
	return (struct storage_counts){atomic_load(&process.requests), atomic_load(&process.bytes),
				       atomic_load(&process.retries),
				       atomic_load(&process.failures)};
}

void transfer_stop(void)
{
	atomic_store(&process.stopped, true);
}

/* However the time of day is set meanwhile. False if the daemon ended. */
static bool pause_for(uint64_t ns)
{
	uint64_t until = clock_ns() + ns, now;
	while (!atomic_load(&process.stopped) && (now = clock_ns()) < until) {
		uint64_t step = until - now < STEP_NS ? until - now : STEP_NS;
		nanosleep(&(struct timespec){.tv_nsec = (long)step}, NULL);
	}
	return !atomic_load(&process.stopped);
}

/* -- connections ------------------------------------------------------------------------------ */

int transfers_new(struct transfers **out)
{
	struct transfers *transfers = calloc(1, sizeof(*transfers));
	if (!transfers)
		return -ENOMEM;
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
	transfers->ca_file = certificates_find(curl->cainfo, curl->capath);
	pthread_once(&process.once, process_begin);
	pthread_mutex_init(&transfers->lock, NULL); /* cannot fail on Linux */
	*out = transfers;
	return 0;
}

void transfers_free(struct transfers *transfers)
{
	if (!transfers)
		return;
	for (unsigned i = 0; i < transfers->idle_count; i++)
		curl_easy_cleanup(transfers->idle[i]);
	pthread_mutex_destroy(&transfers->lock);
	free(transfers);
}

/* The connection that was used last: the others may be closed by the server meanwhile. */
static CURL *transfers_take(struct transfers *transfers)
{
	CURL *curl = NULL;
	pthread_mutex_lock(&transfers->lock);
	if (transfers->idle_count)
		curl = transfers->idle[--transfers->idle_count];
	pthread_mutex_unlock(&transfers->lock);
	return curl ? curl : curl_easy_init();
}

static void transfers_give(struct transfers *transfers, CURL *curl)
{
	curl_easy_reset(curl); /* what was asked; the connection stays */
	pthread_mutex_lock(&transfers->lock);
	bool kept = transfers->idle_count < IDLE_MAX;
	if (kept)
		transfers->idle[transfers->idle_count++] = curl;
	pthread_mutex_unlock(&transfers->lock);
	if (!kept)
		curl_easy_cleanup(curl);
}

/* -- what libcurl calls ----------------------------------------------------------------------- */

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct attempt *attempt = context;
	response_take(&attempt->response, line, size * count);
	return size * count;
}

static bool is_object(const struct response *response)
{
	return response->status == 200 || response->status == 206;
}

/* Make room for the body, of which the head was seen. */
static bool attempt_begin_body(struct attempt *attempt)
{
	const struct response *response = &attempt->response;
	uint64_t room = TRANSFER_ERROR_BYTES;
	if (is_object(response) && response->has_length)
		room = response->length;
	if (is_object(response) && room > attempt->request->max_bytes) {
		attempt->too_long = true;
		return false;
	}
	attempt->begun = true;
	attempt->buffer->size = 0;
	attempt->error = buffer_reserve(attempt->buffer, room);
	return !attempt->error;
}

/* Room for more than was announced. */
static bool attempt_grow(struct attempt *attempt, size_t size)
{
	struct buffer *buffer = attempt->buffer, larger = BUFFER_NULL;
	if (buffer->size + size > attempt->request->max_bytes) {
		attempt->too_long = true;
		attempt->response.length = buffer->size + size;
		return false;
	}
	attempt->error = buffer_reserve(&larger, 2 * (buffer->size + size));
	if (attempt->error)
		return false;
	if (buffer->size)
		memcpy(larger.data, buffer->data, buffer->size);
	larger.size = buffer->size;
	buffer_deinit(buffer);
	*buffer = larger;
	return true;
}

static size_t on_body(char *data, size_t unit, size_t count, void *context)
{
	struct attempt *attempt = context;
	struct buffer *buffer = attempt->buffer;
	size_t size = unit * count, taken = size;
	atomic_fetch_add_explicit(&process.bytes, size, memory_order_relaxed);
	if (!attempt->begun && !attempt_begin_body(attempt))
		return 0;
	if (!is_object(&attempt->response)) {
		size_t room = TRANSFER_ERROR_BYTES - buffer->size;
		taken = size < room ? size : room;
	} else if (buffer->size + size > buffer->capacity && !attempt_grow(attempt, size)) {
		return 0;
	}
	memcpy(buffer->data + buffer->size, data, taken);
	buffer->size += taken;
	return size;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t sent_total,
		       curl_off_t sent)
{
	(void)context, (void)total, (void)now, (void)sent_total, (void)sent;
	return atomic_load(&process.stopped);
}

static bool is_inside_v4(uint32_t address)
{
	return address >> 24 == 127 || address >> 24 == 0 || address >> 16 == 0xa9fe;
}

/* Is it an address of this machine or of its link? */
static bool is_inside(const struct curl_sockaddr *address)
{
	const struct sockaddr *any = &address->addr;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	if (any->sa_family == AF_INET) {
		memcpy(&v4, any, sizeof(v4));
		return is_inside_v4(ntohl(v4.sin_addr.s_addr));
	}
	if (any->sa_family != AF_INET6)
		return true;
	memcpy(&v6, any, sizeof(v6));
	if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
		uint32_t mapped;
		memcpy(&mapped, v6.sin6_addr.s6_addr + 12, sizeof(mapped));
		return is_inside_v4(ntohl(mapped));
	}
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) ||
	       IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

static curl_socket_t on_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct attempt *attempt = context;
	(void)purpose;
	if (attempt->request->outside_only && is_inside(address)) {
		attempt->inside = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* -- one try ---------------------------------------------------------------------------------- */

/* False: no memory. */
static bool add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);
	*list = longer ? longer : *list;
	return longer;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	char *line = wiped_header(name, value);
	bool added = line && add_line(list, line);
	wiped_free(line);
	return added;
}

/* S3's checksum of no body, which the signature covers. */
#define NO_BODY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static bool attempt_sign(CURL *curl, const struct transfer_signer *signer,
			 struct curl_slist **headers)
{
	char provider[128];
	snprintf(provider, sizeof(provider), "aws:amz:%s:s3", signer->region);
	return add_header(headers, "x-amz-content-sha256", NO_BODY) &&
	       (!signer->token || add_header(headers, "x-amz-security-token", signer->token)) &&
	       curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_USERNAME, signer->key) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PASSWORD, signer->secret) == CURLE_OK;
}

/* The signature's headers, and those of the request. False: no memory, and without one of them the
 * server would refuse it for another reason. */
static bool attempt_headers(CURL *curl, const struct transfer_request *request,
			    struct curl_slist **headers)
{
	bool whole = !request->signer || attempt_sign(curl, request->signer, headers);
	for (const char *const *line = request->headers; whole && line && *line; line++)
		whole = add_line(headers, *line);
	return whole && curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers) == CURLE_OK;
}

/* Set up a request that is no GET, and asks for no object. */
static void attempt_ask_service(CURL *curl, const struct transfer_request *request)
{
	if (request->put || request->form) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->form ? request->form : "");
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, -1L);
	}
	if (request->put)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PUT");
	if (request->direct)
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
}

static void attempt_ask(CURL *curl, const struct transfer_request *request)
{
	const struct storage_range *range = &request->range;
	const uint64_t length = storage_range_length(*range, STORAGE_TO_END);
	char text[64];
	bool https = strncmp(request->url, "https", 5) == 0;
	curl_easy_setopt(curl, CURLOPT_URL, request->url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_NOBODY, request->head ? 1L : 0L);
	attempt_ask_service(curl, request);
	if (length != STORAGE_TO_END)
		snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, range->offset,
			 range->offset + length - 1);
	else
		snprintf(text, sizeof(text), "%" PRIu64 "-", range->offset);
	if (range->offset || length != STORAGE_TO_END)
		curl_easy_setopt(curl, CURLOPT_RANGE, text);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, https ? "https" : "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION,
			 request->follow && !request->signer ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
}

static void attempt_prepare(CURL *curl, struct attempt *attempt, const char *ca_file)
{
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, attempt);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, attempt);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, attempt);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, attempt->words);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "stoker/" STOKER_VERSION);
	curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	/* A connection has one request at a time, so there is nothing to multiplex. */
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	if (attempt->request->deadline_s)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)attempt->request->deadline_s);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)TRANSFER_STALL_S);
	if (ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file);
}

static CURLcode attempt_run(CURL *curl, struct attempt *attempt, const char *ca_file)
{
	attempt_ask(curl, attempt->request);
	attempt_prepare(curl, attempt, ca_file);
	struct curl_slist *headers = NULL;
	CURLcode code = attempt_headers(curl, attempt->request, &headers) ? curl_easy_perform(curl)
									  : CURLE_OUT_OF_MEMORY;
	curl_slist_free_all(headers);
	return code;
}

/* -- what came of it -------------------------------------------------------------------------- */

static bool is_certificate(CURLcode code)
{
	return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
	       code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_CERTPROBLEM;
}

/* Below systemd a unit may take the network away; then the words say what gives it back. */
static const char *unit_words(CURLcode code, long error)
{
	bool closed = error == EPERM || error == EACCES || error == ENETUNREACH ||
		      error == EAFNOSUPPORT || code == CURLE_COULDNT_RESOLVE_HOST;
	return closed && getenv("INVOCATION_ID")
		       ? "; the system's unit has no network unless its drop-in network.conf is "
			 "copied (share/doc/stoker/examples)"
		       : "";
}

static int attempt_say(CURL *curl, const struct attempt *attempt, CURLcode code,
		       struct fault *fault)
{
	const char *words = attempt->words[0] ? attempt->words : curl_easy_strerror(code);
	long error = 0;
	if (code == CURLE_OUT_OF_MEMORY || attempt->error)
		return -ENOMEM;
	if (attempt->too_long)
		return TRANSFER_E_LIMIT;
	if (attempt->inside)
		return fault_say(fault, TRANSFER_E_FAILED,
				 "its host is this machine or on its link, which is read for the "
				 "daemon's own user only, unless the rule names the address");
	if (atomic_load(&process.stopped))
		return fault_say(fault, TRANSFER_E_FAILED, "the daemon is about to stop");
	if (is_certificate(code))
		return fault_say(fault, TRANSFER_E_FAILED,
				 "the server's certificate is not trusted: %s (CURL_CA_BUNDLE in "
				 "its environment names a file with your own authority)",
				 words);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return fault_say(fault, TRANSFER_E_FAILED, "the server is silent: %s", words);
	(void)curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
	return fault_say(fault, TRANSFER_E_FAILED, "%s%s", words, unit_words(code, error));
}

/* May another try help? */
static bool is_passing(const struct attempt *attempt, CURLcode code)
{
	unsigned status = attempt->response.status;
	if (code == CURLE_OK)
		return status == 408 || status == 429 || (status >= 500 && status != 501);
	return !attempt->too_long && !attempt->inside && !attempt->error && !is_certificate(code) &&
	       code != CURLE_OUT_OF_MEMORY && code != CURLE_TOO_MANY_REDIRECTS &&
	       code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_URL_MALFORMAT;
}

/* Before the next try: doubled each time, half of it at random. */
static uint64_t pause_ns(unsigned tries, const struct response *response)
{
	uint64_t ms = tries < 8 ? (uint64_t)PAUSE_FIRST_MS << (tries - 1) : PAUSE_MOST_MS;
	ms = ms < PAUSE_MOST_MS ? ms : PAUSE_MOST_MS;
	uint64_t ns = ms * 1000000, draw = clock_ns() * UINT64_C(0x9E3779B97F4A7C15) >> 32;
	uint64_t asked = response->retry_after < TRANSFER_DEADLINE_S ? response->retry_after
								     : TRANSFER_DEADLINE_S;
	return ns / 2 + draw % (ns / 2) + asked * SECOND_NS;
}

/* The body is there and belongs to what was asked for; then the answer is the caller's. */
static CURLcode attempt_check(struct attempt *attempt, CURLcode code)
{
	const struct response *response = &attempt->response;
	if (code == CURLE_OK && !attempt->begun)
		attempt->buffer->size = 0;
	if (code == CURLE_OK && !attempt->request->head && is_object(response) &&
	    response->has_length && attempt->buffer->size < response->length)
		return CURLE_PARTIAL_FILE;
	return code;
}

int transfer_run(struct transfers *transfers, const struct transfer_request *request,
		 struct buffer *buffer, struct response *response_out, struct fault *fault)
{
	uint64_t end = clock_ns() + TRANSFER_DEADLINE_S * SECOND_NS;
	CURL *curl = transfers_take(transfers);
	if (!curl)
		return -ENOMEM;
	for (unsigned tries = 1;; tries++) {
		struct attempt attempt = {.request = request, .buffer = buffer};
		atomic_fetch_add_explicit(&process.requests, 1, memory_order_relaxed);
		CURLcode code = attempt_run(curl, &attempt, transfers->ca_file);
		code = attempt_check(&attempt, code);
		if (code == CURLE_OK && !request->deadline_s && !is_passing(&attempt, code))
			atomic_store(&transfers->answered, true);
		uint64_t pause = pause_ns(tries, &attempt.response);
		bool patient = !request->deadline_s &&
			       (atomic_load(&transfers->answered) || tries < TRIES_FIRST);
		if (is_passing(&attempt, code) && patient && clock_ns() + pause < end &&
		    pause_for(pause)) {
			atomic_fetch_add_explicit(&process.retries, 1, memory_order_relaxed);
			curl_easy_reset(curl);
			continue;
		}
		int result = code ? attempt_say(curl, &attempt, code, fault) : 0;
		if (code || !is_object(&attempt.response))
			atomic_fetch_add_explicit(&process.failures, 1, memory_order_relaxed);
		*response_out = attempt.response;
		transfers_give(transfers, curl);
		return result;
	}
}
