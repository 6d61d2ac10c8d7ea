/* conf_test.c - which source of a setting wins, kinds, errors that name the setting, masking. */
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/unit.h"
#include "conf/conf.h"
#include "conf/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/conf_testXXXXXX";

static int start (void **state)
{
    (void)state;
    clearenv ();
    if (!mkdtemp (folder))
        return -1;
    setenv ("HOME", folder, 1);
    return 0;
}

static int stop (void **state)
{
    struct error err;

    (void)state;
    return folder_remove (folder, &err);
}

static void put (struct arena *a, const char *name, const char *text)
{
    struct error err;

    assert_int_equal (file_write (path_join (a, folder, name), text_of (text), 0600, &err), 0);
}

static const struct conf *load (struct arena *a, const char *file)
{
    const struct conf *c;
    struct error err = { 0 };

    if (conf_load (a, file, &c, &err) < 0)
        fail_msg ("%s", err.text);
    return c;
}

static void test_precedence (void **state)
{
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    assert_null (load (a, NULL)->api.api_server);
    assert_int_equal (load (a, NULL)->api.retries, 240); /* default */
    put (a, "trains.conf", "api { api_server: \"http://trains:8008\", web_server: \"http://trains:8080\" }");
    assert_string_equal (load (a, NULL)->api.api_server, "http://trains:8008");
    put (a, "clearml.conf", "api.api_server: \"http://clearml:8008\"\nagent.worker_id: file\n");
    assert_string_equal (load (a, NULL)->api.api_server, "http://clearml:8008");
    assert_string_equal (load (a, NULL)->api.web_server, "http://trains:8080"); /* merged */
    put (a, "own.conf", "api.host: \"http://own:8008\"");
    setenv ("TRAINS_CONFIG_FILE", path_join (a, folder, "own.conf"), 1);
    assert_string_equal (load (a, NULL)->api.api_server, "http://own:8008"); /* only that file; older key */
    assert_null (load (a, NULL)->api.web_server);
    setenv ("CLEARML_CONFIG_FILE", "~/clearml.conf", 1);
    assert_string_equal (load (a, NULL)->api.api_server, "http://clearml:8008");
    assert_string_equal (load (a, path_join (a, folder, "own.conf"))->api.api_server, "http://own:8008");
    setenv ("CLEARML_AGENT__AGENT__WORKER_ID", "\"over:ride\"", 1);
    assert_string_equal (load (a, NULL)->agent.worker_id, "over:ride");
    setenv ("TRAINS_WORKER_ID", "old", 1);
    assert_string_equal (load (a, NULL)->agent.worker_id, "old");
    setenv ("CLEARML_WORKER_ID", "new", 1);
    assert_string_equal (load (a, NULL)->agent.worker_id, "new");
    clearenv ();
    setenv ("HOME", folder, 1);
}

static void test_kinds (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    const struct conf *c;

    (void)state;
    put (a, "clearml.conf",
         "api { verify_certificate: false, http { retries { total: 3 } } }\n"
         "agent { cpu_only: \"yes\", task_ping_interval_sec: 0.5, venvs_cache { path: ~/v }, vcs_cache { "
         "path: \"\" }\n"
         "  package_manager { type: \"\", extra_index_url: \"http://one\", extra_pip_install_flags: [\"-v\", "
         "23] }\n"
         "  git { extra_credentials: [{host: h, user: u, pass: SECRET5}] }\n"
         "  uptime: [\"0-7 SUN\"], git_pass: SECRET1 }\n"
         "environment { K: v1 }\nsdk.aws.s3 { key: SECRET2, secret: SECRET3, region: eu, bucket: "
         "${environment.K} }\n");
    setenv ("CLEARML__agent__default_docker__image", "python:3.12", 1);
    setenv ("CLEARML__sdk__development__worker__report_period_sec", "7", 1);
    setenv ("CLEARML_AGENT__SDK__METRICS__PLOT_MAX_NUM_DIGITS", "5", 1);
    setenv ("CLEARML_WORKER_TAGS", "a 'b c' \"d\"e", 1);
    setenv ("CLEARML_API_SECRET_KEY", "SECRET4", 1);
    c = load (a, NULL);
    assert_string_equal (c->api.verify_certificate, "false");
    assert_int_equal (c->api.retries, 3);
    assert_true (c->agent.cpu_only);
    assert_true (c->agent.ping_sec == 0.5);
    assert_string_equal (c->agent.venvs_cache, path_join (a, folder, "v"));
    assert_string_equal (c->agent.package_manager, "pip"); /* "" is the default */
    assert_int_equal (c->agent.extra_index_url.n, 1);
    assert_string_equal (c->agent.extra_index_url.v[0], "http://one");
    assert_int_equal (c->agent.extra_pip_install_flags.n, 2);
    assert_string_equal (c->agent.extra_pip_install_flags.v[1], "23");
    assert_int_equal (json_count (c->agent.uptime), 1);
    assert_int_equal (c->agent.tags.n, 3);
    assert_string_equal (c->agent.tags.v[1], "b c");
    assert_string_equal (c->agent.tags.v[2], "de");
    assert_true (text_is (conf_get (c, "environment.K"), "\"v1\""));
    assert_true (text_is (conf_get (c, "sdk.aws.s3.bucket"), "\"v1\""));
    assert_true (text_is (conf_get (c, "agent.default_docker.image"), "\"python:3.12\""));
    assert_true (text_is (conf_get (c, "sdk.development.worker.report_period_sec"), "7"));
    assert_true (text_is (conf_get (c, "sdk.metrics.plot_max_num_digits"), "5"));
    assert_null (conf_get (c, "no.such.key").p);

    struct str shown = { .arena = a };
    conf_show (c, &shown);
    assert_null (strstr (shown.p, "SECRET"));
    assert_non_null (strstr (shown.p, "agent.git_pass = \"****\"\n"));
    assert_non_null (strstr (shown.p, "sdk.aws.s3.region = \"eu\"\n"));
    assert_non_null (strstr (shown.p, "api.http.retries.total = 3\n"));
    clearenv ();
    setenv ("HOME", folder, 1);
}

static void test_errors (void **state)
{
    static const struct {
        const char *conf, *text;
    } rows[] = {
        { "agent.task_ping_interval_sec: soon", "agent.task_ping_interval_sec = 'soon' is not a number" },
        { "agent.cpu_only: perhaps", "agent.cpu_only = 'perhaps' is not true or false" },
        { "agent.worker_id: [1]", "agent.worker_id = '[1]' is not a single value" },
        { "a = ${NOPE_T}", "clearml.conf:1: ${NOPE_T}: neither" },
        { "a {", "clearml.conf:1: '{' is never closed" },
    };
    cleanup_arena struct arena *a = arena_create ();
    const struct conf *c;
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        put (a, "clearml.conf", rows[i].conf);
        assert_int_equal (conf_load (a, NULL, &c, &err), -1);
        if (!strstr (err.text, rows[i].text))
            fail_msg ("%s", err.text);
    }
    assert_int_equal (conf_load (a, "/nonexistent.conf", &c, &err), -1);
    assert_non_null (strstr (err.text, "/nonexistent.conf"));
    put (a, "clearml.conf", "");
    setenv ("CLEARML_CPU_ONLY", "maybe", 1);
    assert_int_equal (conf_load (a, NULL, &c, &err), -1);
    assert_string_equal (err.text, "CLEARML_CPU_ONLY: agent.cpu_only = 'maybe' is not true or false");
    unsetenv ("CLEARML_CPU_ONLY");
}

/* Secrets inside of values: what a container is given, where packages come from. */
static void test_secrets_in_values (void **state)
{
    static const struct {
        const char *in, *want;
    } rows[] = {
        { "[\"--env=AWS_SECRET_ACCESS_KEY=k1\"]", "[\"--env=AWS_SECRET_ACCESS_KEY=****\"]" },
        { "[\"-eAWS_SECRET_ACCESS_KEY=k1\"]", "[\"-eAWS_SECRET_ACCESS_KEY=****\"]" },
        { "[\"-e\", \"AWS_SECRET_ACCESS_KEY=k1\"]", "[\"-e\", \"AWS_SECRET_ACCESS_KEY=****\"]" },
        { "[\"-e\",\"A=b\",\"-e\",\"OPENAI_API_KEY=sk \\\"x\"]",
          "[\"-e\",\"A=b\",\"-e\",\"OPENAI_API_KEY=****\"]" },
        { "\"--network host --token abc --gpus all\"", "\"--network host --token ****\"" },
        { "[\"--password\",\"abc\",\"--shm-size\",\"8g\"]",
          "[\"--password\",\"****\",\"--shm-size\",\"8g\"]" },
        { "\"https://user:p%40ss@host:1/x@y\"", "\"https://user:****@host:1/x@y\"" },
        { "\"https://user:p@ss@host/x\"", "\"https://user:****@host/x\"" },
        { "\"https://tok@host/x https://u:t@h2\"", "\"https://****@host/x https://u:****@h2\"" },
        { "\"https://host/x?sas_token=abc\"", "\"https://host/x?sas_token=****\"" },
        { "\"https://host/a@b\"", "\"https://host/a@b\"" },
        { "\"--no-pass-through PATH=/x:/y EPOCHS=3\"", "\"--no-pass-through PATH=/x:/y EPOCHS=3\"" },
        { "[1,true,null,\"\",\"a \\\\\"]", "[1,true,null,\"\",\"a \\\\\"]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        cleanup_str struct str out = { 0 };

        shown_put (&out, text_of (rows[i].in));
        assert_string_equal (out.p, rows[i].want);
    }
}

static void test_secret_names (void **state)
{
    (void)state;
    assert_true (conf_key_is_secret ("api.credentials.secret_key"));
    assert_true (conf_key_is_secret ("agent.git_pass"));
    assert_true (conf_key_is_secret ("sdk.aws.s3.key"));
    assert_false (conf_key_is_secret ("api.auth.request_token_expiration_sec"));
    assert_true (conf_key_is_secret ("environment.OPENAI_API_KEY"));
    assert_false (conf_key_is_secret ("agent.worker_id"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_precedence),
        cmocka_unit_test (test_kinds),
        cmocka_unit_test (test_errors),
        cmocka_unit_test (test_secret_names),
        cmocka_unit_test (test_secrets_in_values),
    };
    return cmocka_run_group_tests (tests, start, stop);
}
