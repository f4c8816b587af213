/* SPDX-License-Identifier: MIT */
/* Parsing of transforms: the result, and the column of a mistake. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/transforms.h"
#include "tests/unit/test.h"

/* A tree as a line: maps as {name: ...}, texts in quotes, floats with a point. */
static void say(FILE *file, const struct value *value)
{
	const char *comma = "";
	switch (value_kind(value)) {
	case VALUE_NIL:
		fputs("nil", file);
		break;
	case VALUE_BOOLEAN:
		fputs(value_boolean(value) ? "yes" : "no", file);
		break;
	case VALUE_UINT:
		fprintf(file, "%" PRIu64, value_uint(value));
		break;
	case VALUE_INT:
		fprintf(file, "%" PRId64, value_sint(value));
		break;
	case VALUE_FLOAT:
		fprintf(file, "%.17gf", value_float(value));
		break;
	case VALUE_TEXT:
		fprintf(file, "'%.*s'", (int)value_text(value).size, value_text(value).data);
		break;
	case VALUE_LIST:
		fputc('[', file);
		for (uint32_t i = 0; i < value_count(value); i++, comma = ",") {
			fputs(comma, file);
			say(file, value_item(value, i));
		}
		fputc(']', file);
		break;
	case VALUE_MAP:
		fputc('{', file);
		for (uint32_t i = 0; i < value_count(value); i++, comma = ",") {
			const struct text key = value_key(value, i);
			fprintf(file, "%s%.*s:", comma, (int)key.size, key.data);
			say(file, value_at(value, i));
		}
		fputc('}', file);
		break;
	}
}

typedef int parse(struct transforms *out, const char *text, struct fault *fault);

static void becomes_by(parse *parse, const char *text, const char *expected)
{
	struct transforms transforms = TRANSFORMS_NULL;
	struct fault fault = FAULT_NULL;
	struct unpacker *unpacker;
	const struct value *list;
	const char *why;
	char *said = NULL;
	size_t size;
	if (parse(&transforms, text, &fault))
		fail_msg("%s: %s", text, fault.text);
	assert_int_equal(unpacker_new(&unpacker), 0);
	assert_int_equal(unpack(unpacker, (const uint8_t *)transforms.packed.data,
				transforms.packed.size, &list, &why),
			 0);
	FILE *file = open_memstream(&said, &size);
	say(file, list);
	fprintf(file, "%s%s%s%s", transforms.dtype, transforms.layout,
		transforms.draft ? "draft" : "", transforms.resize);
	fclose(file);
	assert_string_equal(said, expected);
	free(said);
	unpacker_free(unpacker);
	transforms_deinit(&transforms);
}

static void becomes(const char *text, const char *expected)
{
	becomes_by(transforms_parse, text, expected);
}

static void fails_by(parse *parse, const char *text, const char *words)
{
	struct transforms transforms = TRANSFORMS_NULL;
	struct fault fault = FAULT_NULL;
	assert_int_equal(parse(&transforms, text, &fault), -EINVAL);
	if (!strstr(fault.text, words))
		fail_msg("%s: '%s' does not say '%s'", text, fault.text, words);
	assert_null(transforms.packer);
}

static void fails(const char *text, const char *words)
{
	fails_by(transforms_parse, text, words);
}

static void test_what_it_becomes(void **state)
{
	(void)state;
	becomes(NULL, "[]");
	becomes(" \n\t ", "[]");
	becomes("ToTensor", "[{name:'ToTensor'}]");
	becomes("ToTensor()", "[{name:'ToTensor'}]");
	becomes("Resize(size=256)|CenterCrop( size = ( 224 , 112, ) )",
		"[{name:'Resize',size:256},{name:'CenterCrop',size:[224,112]}]");
	becomes("Normalize(mean=[0.485, .5, 1.], std=(1e-1, 2E+1, -3))",
		"[{name:'Normalize',mean:[0.48499999999999999f,0.5f,1f],"
		"std:[0.10000000000000001f,20f,-3]}]");
	becomes("A(a=True, b=False, c=None, d=true, e=bilinear, f='x y|)', g=\"'\")",
		"[{name:'A',a:yes,b:no,c:nil,d:yes,e:'bilinear',f:'x y|)',g:'''}]");
	becomes("RandomApply(transforms=[Pad(padding=(1, 2)), RandomChoice(transforms=[A(), "
		"B(a=[3])], p=None)], p=0.5)|C",
		"[{name:'RandomApply',transforms:[{name:'Pad',padding:[1,2]},{name:'RandomChoice',"
		"transforms:[{name:'A'},{name:'B',a:[3]}],p:nil}],p:0.5f},{name:'C'}]");
	becomes("A(a=18446744073709551615, b=-9223372036854775808, c=+7, d=1e-400, e=[], "
		"f=[[1],[]])",
		"[{name:'A',a:18446744073709551615,b:-9223372036854775808,c:7,d:0f,e:[],f:[[1],[]]}"
		"]");
}

/* The text that `stokerctl streams` shows can be parsed. */
static void test_a_canonical_text(void **state)
{
	(void)state;
	becomes("Resize(size=256, max_size=None)|uint8|NHWC",
		"[{name:'Resize',size:256,max_size:nil}]uint8NHWC");
	becomes("float32|NCHW", "[]float32NCHW");
	becomes("Resize(size=256)|uint8|NHWC|draft", "[{name:'Resize',size:256}]uint8NHWCdraft");
	becomes("Resize(size=256)|uint8|NHWC|draft|pillow-13",
		"[{name:'Resize',size:256}]uint8NHWCdraftpillow-13");
	becomes("Resize(size=3) | pillow-12", "[{name:'Resize',size:3}]pillow-12");
	fails("uint8|Resize(size=3)", "column 7: a transform behind");
	fails("pillow-12|Resize(size=3)", "column 11: a transform behind");
	becomes("pillow-11", "[{name:'pillow-11'}]"); /* the daemon knows no such transform */
}

static void test_parameters_by_place(void **state)
{
	(void)state;
	becomes("Resize( 256,bicubic, antialias=True) | RandomApply([Pad((1, 2))], 0.5)",
		"[{name:'Resize',0:256,1:'bicubic',antialias:yes},"
		"{name:'RandomApply',0:[{name:'Pad',0:[1,2]}],1:0.5f}]");
}

static void test_mistakes(void **state)
{
	(void)state;
	fails("Resize(size=224, bilinear)", "column 18: behind a parameter with a name");
	fails("Resize(size=256", "column 16: a ) is missing");
	fails("Resize(size=256) CenterCrop(size=2)", "column 18: a | should be here");
	fails("Resize(size=256)|", "column 18: the name of a transform");
	fails("|Resize", "column 1: the name");
	fails("Resize(size=)", "column 13: a value");
	fails("Resize(size=[1 2])", "column 16: a comma");
	fails("Resize(size=[1,", "column 16: a value");
	fails("Resize(size=[1", "the list is not closed");
	fails("Resize(size=(1])", "column 15: a comma");
	fails("Resize(size=1, size=2)", "column 16: this parameter is there already");
	fails("Resize(name=1)", "column 8: no parameter");
	fails("Resize(a='x)", "column 10: this quote is not closed");
	fails("Resize(a=1x)", "column 10: this is no number");
	fails("Resize(a=0x10)", "column 10: this is no number");
	fails("Resize(a=1.2.3)", "column 10: this is no number");
	fails("Resize(a=-)", "column 10: this is no number");
	fails("Resize(a=1e)", "column 10: this is no number");
	fails("Resize(a=1e999)", "column 10: this number is too large");
	fails("Resize(a=18446744073709551616)", "column 10: this number is too large");
	fails("Resize(a=-9223372036854775809)", "column 10: this number is too large");
	fails("Resize(a=[[[[[[[[[[[[1]]]]]]]]]]]])", "lists in lists");
	fails("A(a=[B(b=1, b=2)])", "column 13: this parameter is there already");
	fails("A(a=[B(b=1)", "the list is not closed");
	fails("A(a=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=B(b=1", "lists in lists");
	fails("9(a=1)", "column 1: the name");
	fails("Resize(size=1);", "column 15: a |");
	fails("\x01", "column 1:");
}

static void test_a_sampler(void **state)
{
	(void)state;
	becomes_by(transforms_parse_sampler,
		   " weighted(weights_by_class=[1, 0.5], num_samples=90) ",
		   "{name:'weighted',weights_by_class:[1,0.5f],num_samples:90}");
	becomes_by(transforms_parse_sampler, "balanced", "{name:'balanced'}");
	becomes_by(transforms_parse_sampler, "split(validation_split=0.2, subset='training')",
		   "{name:'split',validation_split:0.20000000000000001f,subset:'training'}");
	fails_by(transforms_parse_sampler, NULL, "sampler, column 1: the name of a sampler");
	fails_by(transforms_parse_sampler, " ", "sampler, column 2: the name of a sampler");
	fails_by(transforms_parse_sampler, "9()", "sampler, column 1: the name of a sampler");
	fails_by(transforms_parse_sampler, "a(b=1) | c", "sampler, column 8: a sampler should end");
	fails_by(transforms_parse_sampler, "a|uint8", "sampler, column 2: a sampler should end");
	fails_by(transforms_parse_sampler, "subset([1, 2])", "sampler, column 8: parameters are");
	fails_by(transforms_parse_sampler, "subset(indices=[1, 2]", "sampler, column 22: a ) is");
}

/* Memory is bounded for any text: depth, parameters and length are limited. */
static void test_bounds(void **state)
{
	(void)state;
	char *text = malloc(TRANSFORMS_TEXT_MAX + 2);
	memset(text, '[', TRANSFORMS_TEXT_MAX + 1);
	text[TRANSFORMS_TEXT_MAX + 1] = '\0';
	fails(text, "more than");
	text[TRANSFORMS_TEXT_MAX] = '\0';
	memcpy(text, "A(a=", 4);
	fails(text, "lists in lists");
	char *at = text + sprintf(text, "A(");
	for (int i = 0; i < 40; i++)
		at += sprintf(at, "p%d=1,", i);
	fails(text, "so many parameters");
	free(text);
}

/* FAULTS 86: the locale may write 0,5. */
static void test_a_locale_with_commas(void **state)
{
	(void)state;
	const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "tr_TR.UTF-8"};
	const char *name = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !name; i++)
		name = setlocale(LC_ALL, names[i]);
	if (!name)
		skip();
	becomes("A(p=0.5)", "[{name:'A',p:0.5f}]");
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_becomes),
		cmocka_unit_test(test_a_canonical_text),
		cmocka_unit_test(test_parameters_by_place),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_a_sampler),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_a_locale_with_commas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
