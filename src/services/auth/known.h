/* known.h - tokens whose signature was found right, and whom they name: a client sends the same token with every call.
 * Only what never changes of a token is kept; end and revocation are for the caller to ask each time. Thread safe. */
#pragma once
#include "services/call.h"

struct known;
struct known *known_create (void);
void known_destroy (struct known *k);

/* Whom this very token names; false when it is not remembered. Texts live in the arena. */
bool known_find (struct known *k, struct arena *a, struct text token, struct identity *ret);
void known_add (struct known *k, struct text token, const struct identity *who);
