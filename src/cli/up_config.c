/* up_config.c - who owns the server that `stoker up` starts: the key, kept in DATA/clearml.conf, and a link that logs in. */
#include "base/file.h"
#include "base/json.h"
#include "cli/sdkconf.h"
#include "cli/up_room.h"
#include "client/client.h"
#include "conf/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void random_text (char *to, size_t n, const char *alphabet)
{
    unsigned char b[128];
    size_t m = strlen (alphabet), i = 0;

    while (i < n) {
        if (getrandom (b, sizeof (b), 0) != sizeof (b))
            abort ();
        for (size_t j = 0; j < sizeof (b) && i < n; j++)
            if (b[j] < 256 / m * m)
                to[i++] = alphabet[b[j] % m];
    }
    to[n] = 0;
}

int up_read_key (struct up *u, struct error *err)
{
    const struct conf *conf;

    if (!file_exists (u->config)) {
        random_text (u->access, 30, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        random_text (u->secret, 64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
        return 0;
    }
    if (conf_load (u->arena, u->config, &conf, err) < 0)
        return -1;
    if (!conf->api.access_key || !conf->api.secret_key ||
        strlen (conf->api.access_key) >= sizeof (u->access) ||
        strlen (conf->api.secret_key) >= sizeof (u->secret))
        return error_set (err, EINVAL, "%s: no api.credentials as stoker up writes them; move the file away",
                          u->config);
    strcpy (u->access, conf->api.access_key);
    strcpy (u->secret, conf->api.secret_key);
    return 0;
}

int up_write_config (struct up *u, struct error *err)
{
    cleanup_str struct str s = { 0 };

    str_addf (&s,
              "# Written by stoker up at each start: the server of %s.\n"
              "# Use it with: export CLEARML_CONFIG_FILE=%s\n"
              "api {\n"
              "    web_server: http://127.0.0.1:%d\n"
              "    api_server: http://127.0.0.1:%d\n"
              "    files_server: http://127.0.0.1:%d\n"
              "    credentials {\n        \"access_key\" = \"%s\"\n        \"secret_key\" = \"%s\"\n    }\n"
              "    http { max_req_size: 62914560 } # the SDK's own limit of a plot: 15 MB unless "
              "told\n}\n" SDK_SETTINGS,
              u->data, u->config, u->ports[0], u->ports[1], u->ports[2], u->access, u->secret);
    return file_write (u->config, str_text (&s), 0600, err);
}

/* A link with a one-time code that opens the page logged in, from the server that the configuration file names. */
int up_make_link (struct up *u, const char **ret, struct error *err)
{
    const struct conf *conf;
    struct client *client;
    struct text data;
    char *code = NULL;
    int rc;

    if (conf_load (u->arena, u->config, &conf, err) < 0 || client_create (conf, &client, err) < 0)
        return -1;
    rc = client_call (client, u->arena, "x_login.create", 2034, TEXT ("{}"), &data, err);
    client_destroy (client);
    if (rc == 0 && !(code = json_string (u->arena, json_get (data, "code"))))
        return error_set (err, EPROTO, "the server gave no login code");
    if (rc == 0)
        *ret = arena_printf (u->arena, "%s/login?code=%s", conf->api.web_server, code);
    return rc;
}
