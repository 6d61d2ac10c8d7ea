/* port_owner.h - who holds a TCP port of this machine, for an error message that helps. */
#pragma once
#include "base/str.h"

/* Adds " (held by python3, process 1234)" when it can be found out, nothing otherwise. */
void port_owner_describe (struct str *s, int port);
