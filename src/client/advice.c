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

/* Variables that come before the files. */
static const char *const server_variables[] = { "CLEARML_API_HOST", "TRAINS_API_HOST", NULL };
static const char *const key_variables[] = { "CLEARML_API_ACCESS_KEY", "TRAINS_API_ACCESS_KEY", NULL };
static const char *const secret_variables[] = { "CLEARML_API_SECRET_KEY", "TRAINS_API_SECRET_KEY", NULL };

static const char *set_one (const char *const *names)
{
    while (*names && !getenv (*names))
        names++;
    return *names;
}

/* Where a setting was read, or would be. */
static const char *source_of (struct arena *a, const struct conf *conf, const char *key,
                              const char *const *variables)
{
    const char *var = set_one (variables), *file = NULL;

    if (var)
        return var;
    for (size_t i = 0; conf->files && conf->files[i]; i++)
        file = conf->files[i];
    return arena_printf (a, "%s in %s", key, file ? file : conf_path (a));
}

/* Key and secret may come from two places. */
static const char *source_of_key (struct arena *a, const struct conf *conf)
{
    const char *key = source_of (a, conf, "api.credentials", key_variables),
               *secret = source_of (a, conf, "api.credentials", secret_variables);

    return strcmp (key, secret) ? arena_printf (a, "%s, the secret %s", key, secret) : key;
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
    const char *address = source_of (a, conf, "api.api_server", server_variables), *more = "";
    size_t used = strlen (err->text);

    if (client_refused (err, 401)) {
        snprintf (err->text + used, sizeof (err->text) - used,
                  ". The key is %s; 'stoker init --force' asks for another", source_of_key (a, conf));
        return -1;
    }
    if (err->code == ECONNREFUSED || err->code == ETIMEDOUT)
        more = "; does the server run? 'stoker up' starts one on this machine";
    else if (strstr (err->text, "wrong version number")) /* of OpenSSL, to an answer that is no TLS */
        more = "; the server seems to speak http there, not https";
    else if (strstr (err->text, ": the server answered ")) /* something else than an envelope */
        more = "; is that the API of a ClearML server?";
    snprintf (err->text + used, sizeof (err->text) - used, ". The address is %s%s", address, more);
    return -1;
}
