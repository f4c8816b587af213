// SPDX-License-Identifier: MIT
#include "transform/portable_math.h"

#include <stdint.h>
#include <string.h>

static const double ln2_high = 0x1.62e42feep-1; /* 32 bits: k times it is exact for |k| < 2^21 */
static const double ln2_low = 0x1.a39ef35793c76p-33;
static const double half_pi_high = 0x1.921fb544p+0;
static const double half_pi_low = 0x1.0b4611a626331p-34;

static double double_of_bits(uint64_t bits)
{
	double number;
	memcpy(&number, &bits, sizeof(number));
	return number;
}

static uint64_t bits_of_double(double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* exp(x) = 2^k exp(r), |r| <= ln(2) / 2: the series of exp is short there. */
double portable_exp(double x)
{
	double turns = x * 0x1.71547652b82fep+0; /* 1 / ln(2) */
	int k = (int)(turns + (turns < 0 ? -0.5 : 0.5));
	double r = (x - k * ln2_high) - k * ln2_low;
	double sum = 1.0;
	for (int i = 15; i > 0; i--)
		sum = 1.0 + sum * r / i;
	/* 2^k in two factors: each is normal for all k that |x| <= 700 gives. */
	int half = k / 2;
	return sum * double_of_bits((uint64_t)(1023 + half) << 52) *
	       double_of_bits((uint64_t)(1023 + k - half) << 52);
}

/* x = 2^k m, m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh((m - 1) / (m + 1)). */
double portable_log(double x)
{
	uint64_t bits = bits_of_double(x);
	int k = (int)(bits >> 52) - 1023;
	double m = double_of_bits((bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52);
	if (m > 0x1.6a09e667f3bcdp+0) {
		m *= 0.5;
		k++;
	}
	double s = (m - 1.0) / (m + 1.0), square = s * s;
	double tail = 0.0;
	for (int i = 25; i >= 3; i -= 2)
		tail = (tail + 1.0 / i) * square;
	return k * ln2_high + (2.0 * s + (2.0 * s * tail + k * ln2_low));
}

/* On |x| <= pi / 4. */
static double sine_series(double x)
{
	double square = x * x, tail = 0.0;
	for (int i = 18; i >= 2; i -= 2)
		tail = (1.0 + tail) * -square / (double)(i * (i + 1));
	return x + x * tail;
}

static double cosine_series(double x)
{
	double square = x * x, tail = 0.0;
	for (int i = 19; i >= 1; i -= 2)
		tail = (1.0 + tail) * -square / (double)(i * (i + 1));
	return 1.0 + tail;
}

/* sin(x + quarters * pi / 2), x brought to |x| <= pi / 4. */
static double sine_of(double x, int quarters)
{
	double turns = x * 0x1.45f306dc9c883p-1; /* 2 / pi */
	int k = (int)(turns + (turns < 0 ? -0.5 : 0.5));
	double r = (x - k * half_pi_high) - k * half_pi_low;
	switch ((unsigned)(k + quarters) & 3u) {
	case 0:
		return sine_series(r);
	case 1:
		return cosine_series(r);
	case 2:
		return -sine_series(r);
	default:
		return -cosine_series(r);
	}
}

double portable_sin(double x)
{
	return sine_of(x, 0);
}

double portable_cos(double x)
{
	return sine_of(x, 1);
}
