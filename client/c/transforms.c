/* SPDX-License-Identifier: MIT */
#include "client/c/transforms.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 12  /* of steps and lists in each other */
#define PAIRS_MAX 32  /* of one step */
#define NUMBER_MAX 64 /* characters */

/* Packers of the list of steps, and of each open step and list in it. The count of items is known
 * only at the end of each, so that its items are packed apart. */
struct parser {
	const char *what, *text, *at;
	bool named; /* all parameters have to be */
	struct packer *steps, *level[DEPTH_MAX];
	locale_t locale; /* "C": in others a number has a comma */
	struct transforms *out;
	struct fault *fault;
};

static int parser_fail(struct parser *parser, const char *at, const char *what)
{
	return fault_say(parser->fault, -EINVAL, "%s, column %d: %s", parser->what,
			 (int)(at - parser->text) + 1, what);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char skip_blanks(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\r\n");
	return *parser->at;
}

/* Skip `c` if it is next. */
static bool take(struct parser *parser, char c)
{
	if (skip_blanks(parser) != c)
		return false;
	parser->at++;
	return true;
}

static struct text take_word(struct parser *parser)
{
	skip_blanks(parser);
	struct text word = {parser->at, 0};
	while (is_word(*parser->at))
		parser->at++;
	word.size = (size_t)(parser->at - word.data);
	return word;
}

/* Count the characters of a number, [+-] digits [. digits] [e [+-] digits]; `*whole_out`: it has
 * digits only. */
static size_t number_length(const char *at, bool *whole_out)
{
	const char *begin = at;
	size_t digits, more = 0;
	at += *at == '-' || *at == '+';
	digits = strspn(at, "0123456789");
	at += digits;
	*whole_out = *at != '.' && *at != 'e' && *at != 'E';
	if (*at == '.') {
		more = strspn(++at, "0123456789");
		at += more;
	}
	if (digits + more == 0)
		return 0;
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '-' || *at == '+';
		digits = strspn(at, "0123456789");
		if (digits == 0)
			return 0;
		at += digits;
	}
	return (size_t)(at - begin);
}

static int parse_number(struct parser *parser, struct packer *packer)
{
	char digits[NUMBER_MAX + 1], *end;
	bool whole;
	const char *begin = parser->at;
	size_t size = number_length(begin, &whole);
	if (size == 0 || size > NUMBER_MAX || is_word(begin[size]) || begin[size] == '.')
		return parser_fail(parser, begin, "this is no number");
	memcpy(digits, begin, size);
	digits[size] = '\0';
	parser->at += size;
	errno = 0;
	if (whole && digits[0] == '-') {
		pack_int(packer, strtoll(digits, &end, 10));
	} else if (whole) {
		pack_uint(packer, strtoull(digits, &end, 10));
	} else {
		double number = strtod_l(digits, &end, parser->locale);
		if (!isfinite(number))
			return parser_fail(parser, begin, "this number is too large");
		pack_float(packer, number);
		return 0; /* one too small is 0, as it is in Python */
	}
	return errno ? parser_fail(parser, begin, "this number is too large") : 0;
}

static int parse_quoted(struct parser *parser, struct packer *packer)
{
	const char *begin = parser->at++;
	const char *end = strchr(parser->at, *begin);
	if (!end)
		return parser_fail(parser, begin, "this quote is not closed");
	pack_text(packer, (struct text){parser->at, (size_t)(end - parser->at)});
	parser->at = end + 1;
	return 0;
}

static void pack_word(struct packer *packer, struct text word)
{
	bool yes = text_equals(word, "True") || text_equals(word, "true");
	if (yes || text_equals(word, "False") || text_equals(word, "false"))
		pack_boolean(packer, yes);
	else if (text_equals(word, "None"))
		pack_nil(packer);
	else
		pack_text(packer, word);
}

/* Append `count` values packed in `items` to `packer` as a list. */
static int append_list(struct packer *packer, const struct packer *items, uint32_t count)
{
	struct text packed;
	int r = packer_bytes(items, &packed);
	if (r)
		return r;
	pack_list(packer, count);
	pack_packed(packer, packed);
	return 0;
}

static int parse_value(struct parser *parser, struct packer *packer, int depth);

/* An empty packer for what begins here. */
static int parser_open(struct parser *parser, const char *begin, int depth)
{
	if (depth == DEPTH_MAX)
		return parser_fail(parser, begin, "lists in lists in lists");
	if (!parser->level[depth] && packer_new(&parser->level[depth]) < 0)
		return -ENOMEM;
	packer_clear(parser->level[depth]);
	return 0;
}

static int parse_list(struct parser *parser, struct packer *packer, int depth)
{
	const char *begin = parser->at;
	char close = *begin == '(' ? ')' : ']';
	uint32_t count = 0;
	int r = parser_open(parser, begin, depth);
	if (r)
		return r;
	parser->at++;
	while (!take(parser, close)) {
		r = parse_value(parser, parser->level[depth], depth + 1);
		if (r)
			return r;
		count++;
		if (take(parser, ','))
			continue;
		if (take(parser, close))
			break;
		return parser_fail(parser, parser->at,
				   *parser->at ? "a comma, or the list's end, should be here"
					       : "the list is not closed");
	}
	return append_list(packer, parser->level[depth], count);
}

/* Pack a parameter without a name: its key is its number in the list. */
static int parse_positional(struct parser *parser, struct text *names, uint32_t count, int depth)
{
	char place[12];
	if (parser->named)
		return parser_fail(parser, parser->at,
				   "parameters are named, as in size=224 or p=0.5");
	if (count > 0 && names[count - 1].size > 0)
		return parser_fail(parser, parser->at,
				   "behind a parameter with a name all need one, as p=0.5");
	snprintf(place, sizeof(place), "%u", count);
	names[count] = (struct text){"", 0};
	pack_string(parser->level[depth], place);
	return parse_value(parser, parser->level[depth], depth + 1);
}

static int parse_pair(struct parser *parser, struct text *names, uint32_t count, int depth)
{
	const char *begin;
	skip_blanks(parser);
	begin = parser->at;
	struct text name = take_word(parser);
	if (name.size == 0 || is_digit(*name.data) || !take(parser, '=')) {
		parser->at = begin;
		return parse_positional(parser, names, count, depth);
	}
	for (uint32_t i = 0; i < count; i++)
		if (names[i].size == name.size && !memcmp(names[i].data, name.data, name.size))
			return parser_fail(parser, begin, "this parameter is there already");
	if (text_equals(name, "name"))
		return parser_fail(parser, begin, "no parameter is called name");
	names[count] = name;
	pack_text(parser->level[depth], name);
	return parse_value(parser, parser->level[depth], depth + 1);
}

static int parse_pairs(struct parser *parser, uint32_t *count_out, int depth)
{
	struct text names[PAIRS_MAX];
	uint32_t count = 0;
	while (!take(parser, ')')) {
		if (count == PAIRS_MAX)
			return parser_fail(parser, parser->at, "so many parameters");
		int r = parse_pair(parser, names, count, depth);
		if (r)
			return r;
		count++;
		if (take(parser, ','))
			continue;
		if (take(parser, ')'))
			break;
		return parser_fail(parser, parser->at,
				   *parser->at ? "a comma or ) should be here" : "a ) is missing");
	}
	*count_out = count;
	return 0;
}

/* A step behind its name, packed as a map: "Resize", and "(size=256)" if that is there. */
static int parse_map(struct parser *parser, struct packer *packer, struct text name, int depth)
{
	uint32_t count = 0;
	struct text packed;
	int r = parser_open(parser, name.data, depth);
	if (r == 0 && take(parser, '('))
		r = parse_pairs(parser, &count, depth);
	if (r)
		return r;
	r = packer_bytes(parser->level[depth], &packed);
	if (r)
		return r;
	pack_map(packer, count + 1);
	pack_string(packer, "name");
	pack_text(packer, name);
	pack_packed(packer, packed);
	return 0;
}

static int parse_value(struct parser *parser, struct packer *packer, int depth)
{
	char c = skip_blanks(parser);
	if (c == '(' || c == '[')
		return parse_list(parser, packer, depth);
	if (c == '\'' || c == '"')
		return parse_quoted(parser, packer);
	if (is_digit(c) || c == '-' || c == '+' || c == '.')
		return parse_number(parser, packer);
	struct text word = take_word(parser);
	if (word.size == 0)
		return parser_fail(parser, parser->at, "a value should be here");
	if (skip_blanks(parser) == '(')
		return parse_map(parser, packer, word, depth);
	pack_word(packer, word);
	return 0;
}

/* "float32", "NCHW", "draft" and "pillow-13" at the end of a canonical text are no transforms. */
static bool take_output(struct transforms *out, struct text word)
{
	static const char *const dtypes[] = {"uint8", "uint16", "float16", "bfloat16", "float32"};
	char *at = NULL;
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (text_equals(word, dtypes[i]))
			at = out->dtype;
	if (text_equals(word, "NCHW") || text_equals(word, "NHWC"))
		at = out->layout;
	if (text_equals(word, "draft"))
		return out->draft = true;
	if (text_equals(word, "pillow-12") || text_equals(word, "pillow-13"))
		at = out->resize;
	if (at) {
		memcpy(at, word.data, word.size);
		at[word.size] = '\0';
	}
	return at;
}

static int parse_step(struct parser *parser, uint32_t *steps)
{
	skip_blanks(parser);
	const char *begin = parser->at;
	struct text name = take_word(parser);
	if (text_equals(name, "pillow") &&
	    *parser->at == '-') { /* a word with a number behind it */
		parser->at++;
		name.size += 1 + take_word(parser).size;
	}
	const struct transforms *out = parser->out;
	bool last = out->dtype[0] || out->layout[0] || out->draft || out->resize[0];
	if (name.size == 0 || is_digit(*name.data))
		return parser_fail(parser, begin, "the name of a transform should be here");
	if (skip_blanks(parser) != '(' && take_output(parser->out, name))
		return 0;
	if (last)
		return parser_fail(parser, begin, "a transform behind dtype or layout");
	int r = parse_map(parser, parser->steps, name, 0);
	if (r)
		return r;
	++*steps;
	return 0;
}

static int parse_steps(struct parser *parser)
{
	uint32_t steps = 0;
	if (skip_blanks(parser) != '\0') {
		do {
			int r = parse_step(parser, &steps);
			if (r)
				return r;
		} while (take(parser, '|'));
		if (skip_blanks(parser) != '\0')
			return parser_fail(parser, parser->at,
					   "a | should be here, between two transforms");
	}
	return append_list(parser->out->packer, parser->steps, steps);
}

/* A sampler is a step, and the only one. */
static int parse_sampler(struct parser *parser)
{
	skip_blanks(parser);
	const char *begin = parser->at;
	struct text name = take_word(parser);
	if (name.size == 0 || is_digit(*name.data))
		return parser_fail(parser, begin, "the name of a sampler should be here");
	parser->named = true;
	int r = parse_map(parser, parser->out->packer, name, 0);
	if (r == 0 && skip_blanks(parser) != '\0')
		r = parser_fail(parser, parser->at, "a sampler should end here");
	return r;
}

static int parser_run(struct parser *parser, int (*parse)(struct parser *parser))
{
	struct transforms *out = parser->out;
	if (packer_new(&out->packer) < 0 || packer_new(&parser->steps) < 0)
		return -ENOMEM;
	parser->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!parser->locale)
		return -ENOMEM;
	int r = parse(parser);
	return r ? r : packer_bytes(out->packer, &out->packed);
}

static int parse_text(struct transforms *out, const char *what, const char *text,
		      int (*parse)(struct parser *parser), struct fault *fault)
{
	struct transforms transforms = TRANSFORMS_NULL;
	struct parser parser = {.what = what, .out = &transforms, .fault = fault};
	parser.text = parser.at = text ? text : "";
	if (strnlen(parser.text, TRANSFORMS_TEXT_MAX + 1) > TRANSFORMS_TEXT_MAX)
		return fault_say(fault, -EINVAL, "%s: more than %d characters", what,
				 TRANSFORMS_TEXT_MAX);
	int r = parser_run(&parser, parse);
	if (parser.locale)
		freelocale(parser.locale);
	packer_free(parser.steps);
	for (int i = 0; i < DEPTH_MAX; i++)
		packer_free(parser.level[i]);
	if (r == -ENOMEM)
		fault_say(fault, r, "out of memory");
	if (r)
		transforms_deinit(&transforms);
	else
		*out = transforms;
	return r;
}

int transforms_parse(struct transforms *out, const char *text, struct fault *fault)
{
	return parse_text(out, "transforms", text, parse_steps, fault);
}

int transforms_parse_sampler(struct transforms *out, const char *text, struct fault *fault)
{
	return parse_text(out, "sampler", text, parse_sampler, fault);
}

void transforms_deinit(struct transforms *transforms)
{
	packer_free(transforms->packer);
	*transforms = TRANSFORMS_NULL;
}
