/* sortkey.h - orderings that bytes do not have, made into blobs that compare as bytes (memcmp): natural number
 * order ("2" before "11", "0.25" before "0.5") and letters regardless of case. Stored beside the value and indexed. */
#pragma once
#include "base/str.h"
#include "base/text.h"

/* Appends the key of v: values that are numbers as a whole come first, by size; all others after them, runs of
 * digits by size, letters without case, then (equal so far) by their bytes. At most 512 bytes of v are looked at. */
void sortkey_add (struct str *s, struct text v);
