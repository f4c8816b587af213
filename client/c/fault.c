/* SPDX-License-Identifier: MIT */
#include "client/c/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_say(struct fault *fault, int result, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	fault->code = 0;
	return result;
}
