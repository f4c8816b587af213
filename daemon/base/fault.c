// SPDX-License-Identifier: MIT
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_say(struct fault *fault, int condition, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return condition;
}
