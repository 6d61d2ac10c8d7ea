/* advice.c - what a person can do who has no server, a wrong address or a wrong key: which file or variable says so, and
 * the configuration that `stoker up` left on this machine, if it did. */
#include "base/file.h"
#include "base/home.h"
#include "base/path.h"
#include "client/client.h"
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable (const char *first, const char *second)
{
    return getenv (first) ? first : getenv (second) ? second : NULL;
}

/* Where a setting was read, or would be. */
static const char *source_of (struct arena *a, const struct conf *conf, const char *key, const char *first,
                              const char *second)
{
    const char *var = variable (first, second), *file = NULL;

    if (var)
        return var;
    for (size_t i = 0; conf->files && conf->files[i]; i++)
        file = conf->files[i];
    return arena_printf (a, "%s in %s", key, file ? file : conf_path (a));
}

static const char *up_config (struct arena *a)
{
    char *path = path_join (a, home_data (a), "clearml.conf");

    return file_exists (path) ? path : NULL;
}

static const char *ways (struct arena *a, const char *file)
{
    const char *up = up_config (a);

    if (up && strcmp (up, file))
        return arena_printf (a, "'stoker up' left one here: export CLEARML_CONFIG_FILE=%s", up);
    return arena_printf (
        a, "'stoker init' writes %s; 'stoker up' starts a server here and says how to use it", file);
}

int client_no_server (const struct conf *conf, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    const char *file = conf->files && conf->files[0] ? conf->files[0] : NULL;

    if (file)
        return error_set (err, ENOENT, "no server is configured: %s names none (api.api_server). %s", file,
                          ways (a, file));
    return error_set (err, ENOENT, "no server is configured: there is no %s. %s", conf_path (a),
                      ways (a, conf_path (a)));
}

int client_no_key (const struct conf *conf, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    const char *file = conf_path (a);

    for (size_t i = 0; conf->files && conf->files[i]; i++)
        file = conf->files[i];
    return error_set (err, EINVAL,
                      "no credentials for %s: %s has no api.credentials. Run 'stoker init --force', or set "
                      "access_key and secret_key there",
                      conf->api.api_server, file);
}

int client_advise (const struct conf *conf, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    size_t used = strlen (err->text);

    if (client_refused (err, 401))
        snprintf (err->text + used, sizeof (err->text) - used,
                  ". The key is %s; 'stoker init --force' asks for another",
                  source_of (a, conf, "api.credentials", "CLEARML_API_ACCESS_KEY", "TRAINS_API_ACCESS_KEY"));
    else if (err->code == ECONNREFUSED || err->code == ETIMEDOUT)
        snprintf (err->text + used, sizeof (err->text) - used,
                  ". The address is %s; does the server run? 'stoker up' starts one on this machine",
                  source_of (a, conf, "api.api_server", "CLEARML_API_HOST", "TRAINS_API_HOST"));
    else
        snprintf (err->text + used, sizeof (err->text) - used, ". The address is %s",
                  source_of (a, conf, "api.api_server", "CLEARML_API_HOST", "TRAINS_API_HOST"));
    return -1;
}
