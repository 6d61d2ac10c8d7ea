/* utf8.h - the encoding of all our text: one letter read, one written, letters counted. Surrogates, long forms and what
 * lies above U+10FFFF are no letters. */
#pragma once
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* The letter at p, of n > 0 bytes: its length and, unless ret_cp is NULL, its code point; 0 when it is none. */
size_t utf8_take (const char *p, size_t n, uint32_t *ret_cp);
/* Write a letter; its length, at most 4. */
size_t utf8_put (char *out, uint32_t cp);
/* Letters in a text, as Python counts them; a byte that is no UTF-8 may count as one or none. */
size_t utf8_letters (struct text t);
