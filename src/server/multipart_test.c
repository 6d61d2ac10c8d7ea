/* multipart_test.c - parts out of bytes, whatever the pieces they come in. */
#include "base/unit.h"
#include "server/multipart.h"

#include <string.h>

static int begin (struct text name, struct text type, void *arg, struct error *err)
{
    struct str *s = arg;

    (void)err;
    str_addf (s, "<%.*s|%.*s>", (int)name.n, name.p, (int)type.n, type.p ? type.p : "");
    return 0;
}
static int data (struct text bytes, void *arg, struct error *err)
{
    (void)err;
    str_add_text (arg, bytes);
    return 0;
}
static int end (void *arg, struct error *err)
{
    (void)err;
    str_puts (arg, ";");
    return 0;
}
static const struct multipart_events events = { begin, data, end };

/* What came out, "!" for a failure, "~" at the end when it is not complete. */
static void run (struct str *out, const char *type, const char *in, size_t step)
{
    struct arena *a = arena_create ();
    struct multipart m;
    struct error err;
    size_t n = strlen (in);

    if (multipart_init (&m, a, text_of (type), &events, out, &err) < 0) {
        assert_int_equal (err.code, 400);
        str_puts (out, "!");
    } else {
        int rc = 0;

        for (size_t i = 0; i < n && rc == 0; i += step)
            rc = multipart_feed (&m, (struct text){ in + i, n - i < step ? n - i : step }, &err);
        str_puts (out, rc < 0 ? "!" : multipart_complete (&m) ? "" : "~");
    }
    arena_destroy (a);
}

static void check (const char *type, const char *in, const char *want)
{
    for (size_t step = 1; step < 40; step += 3) {
        cleanup_str struct str out = { 0 };

        run (&out, type, in, step);
        assert_string_equal (out.p ? out.p : "", want);
    }
}
#define T               "multipart/form-data; boundary=B"
#define FILE_HEAD(name) "Content-Disposition: form-data; name=\"" name "\"; filename=\"f\"\r\n\r\n"

static void test_parts (void **state)
{
    (void)state;
    check (T, "--B\r\n" FILE_HEAD ("/a/b") "hello\r\n--B--\r\n", "</a/b|>hello;");
    check (T, "--B\r\n" FILE_HEAD ("a") "\r\n--B--", "<a|>;");
    check (T, "--B\r\n" FILE_HEAD ("a") "1\r\n--B\r\n" FILE_HEAD ("b") "2\r\n--B--", "<a|>1;<b|>2;");
    check (T, "preamble\r\n--B\r\n" FILE_HEAD ("a") "1\r\n--B--epilogue", "<a|>1;");
    check (T,
           "--B\r\nContent-Type: image/png\r\ncontent-disposition: form-data; filename=x; "
           "name=a\r\n\r\nP\r\n--B--",
           "<a|image/png>P;");
    check (T, "--B--\r\n", "");
    check (T, "--B\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nskipped\r\n--B--", "");
}

static void test_near_boundaries (void **state)
{
    (void)state;
    check (T, "--B\r\n" FILE_HEAD ("a") "\r\n-\r\r\n--\r\n--C\r\n\r\n--B--", "<a|>\r\n-\r\r\n--\r\n--C\r\n;");
    check ("multipart/form-data; boundary=\"--a b\"", "----a b\r\n" FILE_HEAD ("x") "\r\n----a\r\n----a b--",
           "<x|>\r\n----a;");
}

static void test_names (void **state)
{
    (void)state;
    check (T, "--B\r\n" FILE_HEAD ("Golden%2Ftrains/a") "\r\n--B--", "<Golden%2Ftrains/a|>;");
    check (T, "--B\r\n" FILE_HEAD ("q%22uo\\\"te") "\r\n--B--", "<q%22uo\"te|>;");
    check (
        T,
        "--B\r\nContent-Disposition: form-data; name*=utf-8''%C3%A4%20b; filename*=utf-8''f\r\n\r\n\r\n--B--",
        "<\xc3\xa4 b|>;");
    check (T, "--B\r\nContent-Disposition: form-data; filename=\"name=x\"; name=\"y\"\r\n\r\n\r\n--B--",
           "<y|>;");
}

static void test_bad (void **state)
{
    (void)state;
    check ("application/json", "", "!");
    check ("multipart/form-data", "", "!");
    check ("multipart/form-data; boundary=", "", "!");
    check (T, "--Bx\r\n", "!");
    check (T, "--B\r\n\r\nno head", "!");
    check (T, "--B\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\n", "!");
    check (T, "--B\r\nContent-Type: a/b\r\n\r\n", "!");
    check (T, "--B\r\n" FILE_HEAD ("a") "cut of", "<a|>cut of~");
    check (T, "--B\r\n" FILE_HEAD ("a") "x\r\n--B", "<a|>x;~");
    check (T, "", "~");
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_parts),
                                        cmocka_unit_test (test_near_boundaries),
                                        cmocka_unit_test (test_names), cmocka_unit_test (test_bad) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
