/* SPDX-License-Identifier: MIT */
/* In place of libjbig, whose licence is the GPL, which libtiff's static library names. Nothing
 * calls this: stokerd refuses a TIFF that is packed so. */
#include <stdlib.h>

#define NOTHING(name)                                                                              \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
		abort();                                                                           \
	}

NOTHING(jbg_dec_free)
NOTHING(jbg_dec_getimage)
NOTHING(jbg_dec_getsize)
NOTHING(jbg_dec_in)
NOTHING(jbg_dec_init)
NOTHING(jbg_enc_free)
NOTHING(jbg_enc_init)
NOTHING(jbg_enc_out)
NOTHING(jbg_newlen)
NOTHING(jbg_strerror)
