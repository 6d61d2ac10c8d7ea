/* migrate.h - bring a data folder to the version this program knows, or refuse it in words. */
#pragma once
#include "store/store.h"

/* Applies the migrations of sql/migrations not yet applied, each in a transaction of its own. Refuses a file of
 * another program, one that a newer stoker wrote, and one whose migration of the same number has another name. */
int migrate (struct db *db, const char *folder, struct error *err) warn_unused;
