/* SPDX-License-Identifier: MIT */
#include "client/c/fault.h"

#include <stdarg.h>
#include <stdio.h>

void fault_make_plain(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
			at[0] = at[1] = '?';
		else if (*at < 0x20 || *at == 0x7f)
			*at = '?';
	}
}

int fault_say(struct fault *fault, int result, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	fault_make_plain(fault->text);
	fault->code = 0;
	return result;
}
