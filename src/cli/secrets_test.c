/* secrets_test.c - what counts as a secret, and what must not. */
#include "base/unit.h"
#include "cli/secrets.h"

#include <string.h>

static void test_files (void **state)
{
    static const char *const yes[] = { ".env",       ".env.prod", "server.pem",  "id_rsa",
                                       "id_ed25519", "tls.key",   "clearml.conf" };
    static const char *const no[] = { "train.py",        ".env.example", "id_rsa.pub",
                                      "environment.yml", "identity.py",  "keys.py" };

    (void)state;
    for (size_t i = 0; i < sizeof (yes) / sizeof (*yes); i++)
        assert_true (secret_file (yes[i]));
    for (size_t i = 0; i < sizeof (no) / sizeof (*no); i++)
        assert_false (secret_file (no[i]));
}

static void test_tokens (void **state)
{
    static const char *const yes[] = {
        "aws = 'AKIAIOSFODNN7EXAMPLE'",
        "secret_key: wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12x",
        "-----BEGIN RSA PRIVATE KEY-----",
        "token = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"",
    };
    static const char *const no[] = {
        "commit 4be2f1b90c6d0f1e2d3c4b5a69788796a5b4c3d2",
        "sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309",
        "\"integrity\": \"sha512-3yPj8Uu9gPq0eFz3u4B2m8J7o1oYqj0c9n1qZ0W8xgk2Q5yWqv3ZcQ8uJ7b2f1a0==\"",
        "from very_long_package.submodule.another_module import SomethingUsefulAndLong",
        "path = 'data/raw/images/train/batch_0001/very_long_file_name_here.png'",
        "ThisIsAVeryLongCamelCaseIdentifierWithoutDigitsInIt",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (yes) / sizeof (*yes); i++)
        assert_true (secret_token (yes[i], strlen (yes[i])));
    for (size_t i = 0; i < sizeof (no) / sizeof (*no); i++)
        assert_false (secret_token (no[i], strlen (no[i])));
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_files), cmocka_unit_test (test_tokens) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
