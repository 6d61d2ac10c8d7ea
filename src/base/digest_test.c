/* digest_test.c - known answers (RFC 4648, RFC 4231, FIPS 180) and what base64 refuses. */
#include "base/digest.h"
#include "base/unit.h"

static void hashes (void **state)
{
    unsigned char raw[32], streamed[32];
    char hex[65];
    struct digest_stream *d = digest_stream_create ();

    (void)state;
    digest_sha256_hex (TEXT ("abc"), hex);
    assert_string_equal (hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_md5_hex (TEXT (""), hex);
    assert_string_equal (hex, "d41d8cd98f00b204e9800998ecf8427e");
    digest_hmac_sha256 (TEXT ("Jefe"), TEXT ("what do ya want for nothing?"), raw);
    digest_hex (raw, 32, hex);
    assert_string_equal (hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    digest_stream_add (d, "a", 1);
    digest_stream_add (d, "bc", 2);
    digest_stream_done (d, streamed);
    digest_sha256 (TEXT ("abc"), raw);
    assert_true (digest_equal (raw, streamed, 32));
    streamed[31] ^= 1;
    assert_false (digest_equal (raw, streamed, 32));
}

static void base64 (void **state)
{
    static const char *const rows[][3] = { { "", "", "" },
                                           { "f", "Zg==", "Zg" },
                                           { "fo", "Zm8=", "Zm8" },
                                           { "foo", "Zm9v", "Zm9v" },
                                           { "\xff\xfe?", "//4/", "__4_" } };
    static const char *const bad[] = { "A", "Zg=", "Zg===", "Z g=", "Zm9v!", "Zm9vY", "Zm8==" };
    struct arena *a = arena_create ();
    struct error err;
    struct text t;

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct str s = { .arena = a }, u = { .arena = a };

        digest_base64 (&s, rows[i][0], strlen (rows[i][0]));
        digest_base64url (&u, rows[i][0], strlen (rows[i][0]));
        assert_true (text_is (str_text (&s), rows[i][1]) && text_is (str_text (&u), rows[i][2]));
        for (int k = 1; k < 3; k++) {
            assert_int_equal (digest_base64_decode (a, text_of (rows[i][k]), &t, &err), 0);
            assert_true (text_is (t, rows[i][0]));
        }
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++)
        if (digest_base64_decode (a, text_of (bad[i]), &t, &err) == 0)
            fail_msg ("taken: %s", bad[i]);
    arena_destroy (a);
}

static void scrypt (void **state)
{
    unsigned char one[32], two[32], three[32];
    struct error err;

    (void)state;
    assert_int_equal (digest_scrypt (TEXT ("pass"), TEXT ("salt"), one, &err), 0);
    assert_int_equal (digest_scrypt (TEXT ("pass"), TEXT ("salt"), two, &err), 0);
    assert_int_equal (digest_scrypt (TEXT ("pass"), TEXT ("other"), three, &err), 0);
    assert_memory_equal (one, two, 32);
    assert_memory_not_equal (one, three, 32);
}

static void random_bytes (void **state)
{
    unsigned char one[32] = { 0 }, two[32] = { 0 };

    (void)state;
    digest_random (one, 32);
    digest_random (two, 32);
    assert_memory_not_equal (one, two, 32);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (hashes), cmocka_unit_test (base64),
                                        cmocka_unit_test (scrypt), cmocka_unit_test (random_bytes) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
