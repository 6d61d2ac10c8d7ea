/* secrets.h - what must not travel inside a task by accident. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

bool secret_file (const char *name); /* .env, .env.*, *.pem, *.key, id_rsa ..., credentials of tools */
bool secret_token (const char *line,
                   size_t n); /* a known token form, or a long word with the entropy of a key */
