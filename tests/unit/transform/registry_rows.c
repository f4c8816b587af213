// SPDX-License-Identifier: MIT
/*
 * Writes the registry of transforms for tests/style/protocol.py: a line a parameter, in the order
 * of their places, with transform, parameter, values, range of each number and default between
 * tabs; a line with its name alone for a transform without parameters.
 */
#include "transform/registry.h"

static void write_values(const struct parameter_row *row)
{
	if (row->type == PARAMETER_CHOICE) {
		const char *comma = "";
		for (unsigned i = 0; i < row->choices->count; i++) {
			if (!row->choices->names[i])
				continue;
			printf("%s`%s`", comma, row->choices->names[i]);
			comma = ", ";
		}
	} else {
		fputs(parameter_type_words(row->type), stdout);
	}
	fputs(row->optional ? ", or nil\t" : "\t", stdout);
}

/* A value as of the wire, not as of the canonical text, which is Python's. */
static void write_default(const struct parameter_row *row)
{
	bool flag = row->type == PARAMETER_BOOLEAN || row->type == PARAMETER_IGNORED;
	const char *quote = row->type == PARAMETER_CHOICE ? "`" : "";
	if (row->required)
		fputs("required", stdout);
	else if (flag)
		fputs(row->standard.number[0] != 0.0 ? "true" : "false", stdout);
	else if (row->standard.count == 0)
		fputs("nil", stdout);
	else {
		fputs(quote, stdout);
		parameter_write(stdout, row, &row->standard);
		fputs(quote, stdout);
	}
}

static void write_parameter(const char *transform, const struct parameter_row *row)
{
	printf("%s\t%s\t", transform, row->name);
	write_values(row);
	if (row->least < row->most)
		printf("%.10g to %.10g", row->least, row->most);
	putchar('\t');
	write_default(row);
	putchar('\n');
}

int main(void)
{
	for (unsigned i = 0; i < TRANSFORM_ROWS; i++) {
		const struct transform_row *row = transform_rows[i];
		if (!row->parameters[0].name)
			printf("%s\n", row->name);
		for (unsigned k = 0; k < TRANSFORM_PARAMETERS_MAX && row->parameters[k].name; k++)
			write_parameter(row->name, &row->parameters[k]);
	}
	return 0;
}
