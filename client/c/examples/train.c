/* SPDX-License-Identifier: MIT */
/*
 * A training loop that can be killed at any time: two epochs, whose batches another thread uses.
 *
 *     train DATASET STATE [BATCHES [STEP_MS]]
 *
 * After each batch it writes to the file STATE where to go on, and begins there if there is such a
 * file. A batch with a bad sample is left out. The daemon may be killed and started again. It stops
 * after BATCHES (0: at the end); a step takes STEP_MS.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stoker.h>
#include <string.h>
#include <unistd.h>

#define EPOCHS 2
#define TOKEN_MAX 65536

/* A batch that the reading thread hands to the training one. */
struct step {
	const struct stoker_batch *batch; /* NULL: it was the last */
	char *token;			  /* where to go on once it is used */
};
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct step step;
	int full;
} box = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL, NULL}, 0};
static const char *state;
static unsigned step_ms;

static void hand_over(struct step step)
{
	pthread_mutex_lock(&box.mutex);
	while (box.full)
		pthread_cond_wait(&box.changed, &box.mutex);
	box.step = step;
	box.full = 1;
	pthread_cond_broadcast(&box.changed);
	pthread_mutex_unlock(&box.mutex);
}

static struct step take_over(void)
{
	pthread_mutex_lock(&box.mutex);
	while (!box.full)
		pthread_cond_wait(&box.changed, &box.mutex);
	struct step step = box.step;
	box.full = 0;
	pthread_cond_broadcast(&box.changed);
	pthread_mutex_unlock(&box.mutex);
	return step;
}

/* Print the sums of a batch's pixels, labels and weights, if it has any. */
static void learn(const char *what, const struct stoker_batch *batch)
{
	struct stoker_array image;
	uint64_t pixels = 0;
	int64_t labels = 0;
	double weights = 0;
	stoker_batch_array(batch, "image", &image);
	for (uint32_t r = 0; r < batch->n_runs; r++) {
		const struct stoker_run *run = &batch->run[r];
		const uint8_t *bytes = run->images;
		const int64_t *label = run->labels;
		const float *weight = stoker_field(batch, r, "weight");
		for (size_t i = 0; i < run->count * image.bytes; i++)
			pixels += bytes[i];
		for (uint32_t i = 0; i < run->count; i++) {
			labels += label[i];
			weights += weight ? (double)weight[i] : 0;
		}
	}
	printf("%s %llu %llu %u %llu %lld %g\n", what, (unsigned long long)batch->epoch,
	       (unsigned long long)batch->position, batch->count, (unsigned long long)pixels,
	       (long long)labels, weights);
	fflush(stdout);
}

/* Write a file that is whole at any time, even if the program is killed here. */
static void save(const char *token)
{
	char next[4096];
	snprintf(next, sizeof(next), "%s.next", state);
	FILE *file = fopen(next, "we");
	if (!file || fputs(token, file) < 0 || fclose(file) != 0 || rename(next, state) != 0)
		err(1, "%s", state);
}

static void *train(void *argument)
{
	struct stoker *stoker = argument;
	struct step step;
	while ((step = take_over()).batch) {
		learn("batch", step.batch);
		stoker_release(stoker, step.batch); /* in any thread */
		usleep(step_ms * 1000);
		save(step.token);
		free(step.token);
	}
	return NULL;
}

/* Take this many batches (0: all of both epochs). The first one is held until the end. */
static void read_batches(struct stoker *stoker, uint64_t batches)
{
	const struct stoker_batch *kept = NULL, *batch;
	for (uint64_t n = 0; !batches || n < batches;) {
		int r = stoker_next(stoker, &batch, -1);
		if (r == -EBADMSG) {
			printf("left out: %s\n", stoker_error(stoker));
			continue;
		}
		if (r < 0)
			errx(1, "%s", stoker_error(stoker));
		if (batch->epoch >= EPOCHS) {
			stoker_release(stoker, batch);
			break;
		}
		n++;
		if (!kept) {
			kept = batch;
			learn("first", batch);
			save(stoker_token(stoker));
		} else {
			hand_over((struct step){batch, strdup(stoker_token(stoker))});
		}
	}
	hand_over((struct step){NULL, NULL});
	if (kept) {
		learn("kept", kept);
		stoker_release(stoker, kept);
	}
}

int main(int argc, char **argv)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	struct stoker *stoker = stoker_new();
	struct stoker_array field;
	static char token[TOKEN_MAX];
	pthread_t trainer;
	if (argc < 3)
		errx(64, "usage: train DATASET STATE [BATCHES [STEP_MS]]");
	state = argv[2];
	step_ms = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	options.dataset = argv[1];
	options.transforms = "RandomResizedCrop(32) | RandomHorizontalFlip()";
	options.dtype = STOKER_DTYPE_UINT8;
	options.batch_size = 8;
	options.inflight = 4; /* one kept, one in use, one handed over, one to come */
	FILE *file = fopen(state, "re");
	if (file && fread(token, 1, sizeof(token) - 1, file) > 0)
		options.token = token;
	if (file)
		fclose(file);
	if (stoker_connect(stoker, NULL) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
	for (uint32_t i = 0; stoker_array(stoker, i, &field) == 0; i++)
		printf("field %s %s\n", field.name, field.dtype);
	pthread_create(&trainer, NULL, train, stoker);
	read_batches(stoker, argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
	pthread_join(trainer, NULL);
	printf("reconnects %llu\n", (unsigned long long)stoker_info(stoker)->reconnects);
	stoker_free(stoker);
	return 0;
}
