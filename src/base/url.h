/* url.h - what an address of a file on a file server means. */
#pragma once
#include "base/arena.h"

/* The path of a web address, decoded and without leading slashes; "/files/" is how the pages' port spells the file server:
 * "http://a:8081/a%20b?x#y", "https://b/files/a%20b" -> "a b". NULL: no web address, or nothing behind the host. */
char *url_path (struct arena *a, const char *url);
