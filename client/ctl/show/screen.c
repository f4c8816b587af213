/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "client/c/clock.h"

/* The alternate screen, without cursor and without line wrap. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define TOP_LEFT "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define LAST_LINE "\033[999;1H"

static struct {
	bool open;
	struct termios before;
	sigset_t mask; /* of signals, while it waits */
} screen;

/* -- opening and closing; also called by signal handlers ------------------------------------ */

static void screen_write(const char *sequence)
{
	ssize_t written = write(STDOUT_FILENO, sequence, strlen(sequence));
	(void)written; /* an error means that the terminal is closed */
}

static void screen_enter(void)
{
	(void)tcgetattr(STDIN_FILENO, &screen.before);
	struct termios keys = screen.before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	screen_write(ENTER);
}

static void screen_leave(void)
{
	screen_write(LEAVE);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

static void screen_catch(int number);

/* Restores the terminal, then lets the signal do its default. Only after a stop it returns. */
static void on_end_or_stop(int number)
{
	int error = errno;
	sigset_t held, only;
	sigemptyset(&only);
	sigaddset(&only, number);
	screen_leave();
	(void)signal(number, SIG_DFL);
	(void)raise(number); /* blocked in this handler: it acts when unblocked */
	(void)sigprocmask(SIG_UNBLOCK, &only, &held);
	(void)sigprocmask(SIG_SETMASK, &held, NULL);
	screen_catch(number);
	screen_enter();
	errno = error;
}

/* A signal that was ignored when the program started stays ignored. */
static void screen_catch(int number)
{
	struct sigaction before;
	const struct sigaction action = {.sa_handler = on_end_or_stop, .sa_flags = SA_RESTART};
	(void)sigaction(number, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		(void)sigaction(number, &action, NULL);
}

static const int ends_and_stops[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
#define SIGNALS (sizeof(ends_and_stops) / sizeof(*ends_and_stops))

static void on_resize(int number)
{
	(void)number; /* it only has to end the wait */
}

/* SIGWINCH is blocked except while waiting, so none is lost between drawing and waiting. */
static void screen_catch_resize(void)
{
	const struct sigaction action = {.sa_handler = on_resize};
	sigset_t resize;
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &resize, &screen.mask);
	(void)sigdelset(&screen.mask, SIGWINCH);
	(void)sigaction(SIGWINCH, &action, NULL);
}

bool screen_open(void)
{
	const char *terminal = getenv("TERM");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !terminal || !*terminal ||
	    strcmp(terminal, "dumb") == 0 || tcgetattr(STDIN_FILENO, &screen.before))
		return false;
	screen_catch_resize();
	for (size_t i = 0; i < SIGNALS; i++)
		screen_catch(ends_and_stops[i]);
	screen_enter();
	screen.open = true;
	return true;
}

void screen_close(void)
{
	if (!screen.open)
		return;
	screen_leave();
	screen.open = false;
	for (size_t i = 0; i < SIGNALS; i++)
		(void)signal(ends_and_stops[i], SIG_DFL);
}

/* -- drawing -------------------------------------------------------------------------------- */

static struct winsize screen_size(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row == 0 || size.ws_col == 0)
		return (struct winsize){.ws_row = 24, .ws_col = 80};
	return size;
}

/* One line, cut to `columns`; escape sequences after the cut are still written. */
static void line_draw(const char *line, size_t size, size_t columns)
{
	size_t column = 0;
	bool escape = false;
	fputs(CLEAR_LINE, stdout);
	for (size_t i = 0; i < size; i++) {
		escape = escape || line[i] == '\033';
		column += !escape && ((unsigned char)line[i] & 0xc0) != 0x80;
		if (escape || column <= columns)
			putchar(line[i]);
		escape = escape && line[i] != 'm';
	}
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

void screen_draw(const char *text, const char *last)
{
	struct winsize size = screen_size();
	size_t room = size.ws_row - 1u, lines = lines_of(text), shown = lines;
	if (lines > room)
		shown = room ? room - 1 : 0;
	fputs(TOP_LEFT, stdout);
	for (size_t i = 0; i < shown; i++) {
		size_t length = strcspn(text, "\n");
		line_draw(text, length, size.ws_col);
		putchar('\n');
		text += length + 1;
	}
	if (shown < lines)
		printf(CLEAR_LINE "%zu more", lines - shown);
	fputs(CLEAR_BELOW LAST_LINE, stdout);
	line_draw(last, strlen(last), size.ws_col);
	fflush(stdout);
}

/* -- keys ----------------------------------------------------------------------------------- */

static int key_read(void)
{
	unsigned char key;
	ssize_t size;
	do
		size = read(STDIN_FILENO, &key, 1);
	while (size < 0 && errno == EINTR);
	return size == 1 ? key : SCREEN_GONE;
}

int screen_wait(int64_t until_ms)
{
	struct pollfd keys = {screen.open ? STDIN_FILENO : -1, POLLIN, 0};
	int64_t left = until_ms - clock_ms();
	left = left < 0 ? 0 : left;
	const struct timespec timeout = {left / 1000, left % 1000 * 1000000};
	int r = ppoll(&keys, 1, &timeout, screen.open ? &screen.mask : NULL);
	return r > 0 ? key_read() : 0;
}
