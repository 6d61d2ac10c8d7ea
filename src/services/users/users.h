/* users.h - the door of the users service: people as references of other objects. */
#pragma once
#include "store/query.h"

extern const struct query_entity users_entity;
extern const struct query_entity companies_entity; /* id and name */
