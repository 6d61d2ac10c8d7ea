/* conf.h - the configuration: files, environment and defaults become one typed struct, read once and passed down
 * const. The settings are the lines of config.def.
 *
 * Who wins, low to high: defaults; ~/trains.conf; ~/clearml.conf (or only the file that is named by the caller, by
 * CLEARML_CONFIG_FILE or TRAINS_CONFIG_FILE); CLEARML_AGENT__SECTION__KEY and CLEARML__section__key variables (their
 * value is a value of the file's language); the variable of the setting's line. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct conf_list {
    const char *const *v; /* NULL-terminated when n > 0 */
    size_t n;
};

#define CONF_TYPE_TEXT   const char *
#define CONF_TYPE_PATH   const char *
#define CONF_TYPE_SECRET const char *
#define CONF_TYPE_BOOL   bool
#define CONF_TYPE_INT    int64_t
#define CONF_TYPE_FLOAT  double
#define CONF_TYPE_LIST   struct conf_list
#define CONF_TYPE_JSON   struct text

struct conf {
    struct conf_api {
#define API(kind, field, ...) CONF_TYPE_##kind field;
#include "conf/config.def"
    } api;
    struct conf_agent {
#define AGENT(kind, field, ...) CONF_TYPE_##kind field;
#include "conf/config.def"
    } agent;
    struct conf_server {
#define SERVER(kind, field, ...) CONF_TYPE_##kind field;
#include "conf/config.def"
    } server;
    struct text all;          /* what the files and the CLEARML_AGENT__ variables say: one JSON object */
    const char *const *files; /* those that were read, NULL-terminated */
};

/* Read all of it. `file` NULL: the files found as above (none at all is fine); named but missing: an error. The
 * result lives in the arena. Errors name file and line, or the setting and where its value came from. */
int conf_load (struct arena *a, const char *file, const struct conf **ret, struct error *err) warn_unused;

/* Any key of the files by its dotted path, the absent text when it is not there: for sections without a line of
 * their own, such as `environment { }`. */
struct text conf_get (const struct conf *c, const char *dotted);

/* Where a client's configuration is written by `init`: the file named by the environment, else ~/clearml.conf. */
char *conf_path (struct arena *a);

/* All settings with their values as text of the file's language, secrets masked; files' other keys below. */
void conf_show (const struct conf *c, struct str *out);

/* True when a key's name says that its value is a secret (password, token, secret key). */
bool conf_key_is_secret (const char *dotted);
