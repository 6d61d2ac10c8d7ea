/* http_parse_test.c - the grammar at the door: each row is fed whole, and byte by byte, and must give the same. */
#include "base/unit.h"
#include "io/http_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    struct http_parse parse;
    struct str body, log; /* log: "METHOD path body;" per message */
};

static int keep_body (struct http_parse *p, struct text part, void *arg)
{
    struct seen *s = arg;

    (void)p;
    str_add_text (&s->body, part);
    return 0;
}

static void message_note (struct seen *s)
{
    struct http_request *r = s->parse.request;

    str_addf (&s->log, "%s %.*s %s;", r->method_name, (int)r->path.n, r->path.p, s->body.p ? s->body.p : "");
    str_reset (&s->body);
    http_request_destroy (r);
    http_parse_next (&s->parse);
}

/* 0, or the status of the refusal */
static int feed_all (struct seen *s, struct text in, size_t step)
{
    size_t off = 0, used;
    bool again = false;

    while (off < in.n || again) {
        size_t n = in.n - off < step ? in.n - off : step;

        again = false;
        switch (http_parse_feed (&s->parse, (struct text){ in.p + off, n }, &used)) {
            case HTTP_PARSE_REFUSED:
                return s->parse.status;
            case HTTP_PARSE_DONE:
                message_note (s);
                break;
            case HTTP_PARSE_HEADERS:
                again = true;
                break;
            case HTTP_PARSE_MORE:
                assert_int_equal (used, n);
                break;
        }
        off += used;
    }
    return 0;
}

struct row {
    const char *in;
    int status;
    const char *log;
};

static void check_row (const struct row *row, const struct http_limits *limits, size_t step)
{
    struct seen s = { 0 };
    int status;

    http_parse_init (&s.parse, limits);
    s.parse.on_body = keep_body;
    s.parse.arg = &s;
    status = feed_all (&s, text_of (row->in), step);
    if (status != row->status || (row->log && strcmp (row->log, s.log.p ? s.log.p : "")))
        fail_msg ("step %zu: %s\n-> %d %s, wanted %d %s", step, row->in, status, s.log.p, row->status,
                  row->log);
    http_parse_done (&s.parse);
    str_done (&s.log);
    str_done (&s.body);
}

static void check_rows (const struct row *rows, size_t n, const struct http_limits *limits)
{
    for (size_t i = 0; i < n; i++) {
        check_row (&rows[i], limits, SIZE_MAX);
        check_row (&rows[i], limits, 1);
        check_row (&rows[i], limits, 7);
    }
}
#define CHECK(rows, limits) check_rows ((rows), sizeof (rows) / sizeof *(rows), (limits))
#define H                   "Host: h\r\n"

static void test_good (void **state)
{
    static const struct row rows[] = {
        { "GET / HTTP/1.1\r\n" H "\r\n", 0, "GET / ;" },
        { "GET /a?b=1 HTTP/1.1\r\n" H "\r\nPOST /c HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nxyz", 0,
          "GET /a ;POST /c xyz;" },
        { "GET /a HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\n{}\r\nGET /b HTTP/1.1\r\n" H "\r\n", 0,
          "GET /a {};GET /b ;" },
        { "POST /c HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
          0, "POST /c abcde;" },
        { "POST /c HTTP/1.1\r\n" H
          "Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nT: v\r\n\r\nGET /x HTTP/1.1\r\n" H "\r\n",
          0, "POST /c a;GET /x ;" },
        { "GET http://h/p/q?x HTTP/1.1\r\n" H "\r\n", 0, "GET /p/q ;" },
        { "GET http://h HTTP/1.1\r\n" H "\r\n", 0, "GET / ;" },
        { "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0, "OPTIONS * ;" },
        { "GET / HTTP/1.1\r\n" H "Empty:\r\nOther: x\r\n\r\n", 0, "GET / ;" },
        { "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET /2 HTTP/1.1\r\n" H "\r\n", 0,
          "GET / ;GET /2 ;" },
        { "GET / HTTP/1.1\r\n" H "Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", 0,
          "GET / ;" },
        { "POST / HTTP/1.1\r\n" H "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nok",
          0, "POST / ok;" },
    };

    (void)state;
    CHECK (rows, &http_limits_default);
}

static void test_smuggling (void **state)
{
    static const struct row rows[] = {
        { "GET / HTTP/1.1\r\n\r\n", 400, "" },          /* no Host */
        { "GET / HTTP/1.1\r\n" H H "\r\n", 400, "" },   /* two */
        { "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "" }, /* empty */
        { "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n", 400, "" }, /* folded */
        { "GET / HTTP/1.1\r\n" H "A:\r\n\tc\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400, "" },        /* blank before the first header */
        { "GET / HTTP/1.1\n" H "\n", 400, "" },                   /* LF alone */
        { "GET / HTTP/1.1\r\n" H "A: b\rC: d\r\n\r\n", 400, "" }, /* CR alone */
        { "GET / HTTP/1.1\r\n" H "A: b\nTransfer-Encoding: chunked\r\n\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\na", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\na", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\na", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999999\r\n\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551615\r\n\r\n", 413, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length : 1\r\n\r\na", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
          "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", 400,
          "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 501, "" },
        { "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nz\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\n" H "A\0B: c\r\n\r\n", 0, "" }, /* the C string ends at the NUL: see test_nul */
        { "GET /#x HTTP/1.1\r\n" H "\r\n", 400, "" },
        { "GET x HTTP/1.1\r\n" H "\r\n", 400, "" },
        { "GET  / HTTP/1.1\r\n" H "\r\n", 400, "" },
        { "GET / HTTP/1.1 \r\n" H "\r\n", 400, "" },
        { "GET / HTTP/2.0\r\n" H "\r\n", 505, "" },
        { "GET /\r\n\r\n", 505, "" },
        { "CONNECT h:1 HTTP/1.1\r\n" H "\r\n", 405, "" },
        { "TRACE / HTTP/1.1\r\n" H "\r\n", 405, "" },
        { "BREW / HTTP/1.1\r\n" H "\r\n", 400, "" },
        { "GET / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n", 417, "" },
        { "GET / HTTP/1.1\r\n" H "Bad Name: x\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\n" H ": x\r\n\r\n", 400, "" },
        { "\x16\x03\x01\x02", 400, "" }, /* a TLS client */
    };

    (void)state;
    CHECK (rows, &http_limits_default);
}

static void test_nul (void **state)
{
    static const char in[] = "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n";
    struct seen s = { 0 };

    (void)state;
    http_parse_init (&s.parse, &http_limits_default);
    assert_int_equal (feed_all (&s, (struct text){ in, sizeof (in) - 1 }, 1), 400);
    http_parse_done (&s.parse);
}

static void test_limits (void **state)
{
    static const struct http_limits small = { .head_bytes = 100, .target_bytes = 20, .headers = 3 };
    static const struct row rows[] = {
        { "GET /4567890123456789012 HTTP/1.1\r\n" H "\r\n", 0, "GET /4567890123456789012 ;" },
        { "GET /45678901234567890123 HTTP/1.1\r\n" H "\r\n", 414, "" },
        { "GET / HTTP/1.1\r\n" H "A: b\r\nC: d\r\n\r\n", 0, "GET / ;" },
        { "GET / HTTP/1.1\r\n" H "A: b\r\nC: d\r\nE: f\r\n\r\n", 431, "" },
        { "GET / HTTP/1.1\r\n" H
          "A: 01234567890123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
          431, "" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n"
          "T: 01234567890123456789012345678901234567890123456789\r\n\r\n",
          431, "" },
    };

    (void)state;
    CHECK (rows, &small);
}

static void test_headers (void **state)
{
    static const char in[] =
        "GET /p HTTP/1.1\r\nHost: h:1\r\nX-Empty:\r\nX-Blank:  two words \t\r\n"
        "Cookie: a=1; clearml_token_basic=first; b\r\nCookie: clearml_token_basic=\"second\"\r\n\r\n";
    struct http_parse p;
    size_t used;

    (void)state;
    for (size_t step = 1; step < sizeof (in); step += 5) {
        enum http_parse_result rc = HTTP_PARSE_MORE;

        http_parse_init (&p, &http_limits_default);
        for (size_t off = 0; rc == HTTP_PARSE_MORE; off += used) {
            size_t left = sizeof (in) - 1 - off;

            rc = http_parse_feed (&p, (struct text){ in + off, left < step ? left : step }, &used);
        }
        assert_int_equal (rc, HTTP_PARSE_HEADERS);
        assert_true (text_is (http_header (p.request, "host"), "h:1"));
        assert_true (text_is (http_header (p.request, "x-empty"), ""));
        assert_true (text_is (http_header (p.request, "x-blank"), "two words"));
        assert_null (http_header (p.request, "x-none").p);
        assert_true (text_is (http_cookie (p.request, "a"), "1"));
        assert_true (text_is (http_cookie (p.request, "clearml_token_basic"), "second"));
        assert_null (http_cookie (p.request, "b").p);
        assert_true (p.request->keep_alive);
        http_parse_done (&p);
    }
}

static void test_unescape (void **state)
{
    struct arena *a = arena_create ();

    (void)state;
    assert_true (text_is (http_unescape (a, TEXT ("a%20b%2Fc+d"), false), "a b/c+d"));
    assert_true (text_is (http_unescape (a, TEXT ("a+b%2b"), true), "a b+"));
    assert_null (http_unescape (a, TEXT ("a%2"), false).p);
    assert_null (http_unescape (a, TEXT ("a%zz"), false).p);
    assert_null (http_unescape (a, TEXT ("a%00"), false).p);
    arena_destroy (a);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_good),   cmocka_unit_test (test_smuggling), cmocka_unit_test (test_nul),
        cmocka_unit_test (test_limits), cmocka_unit_test (test_headers),   cmocka_unit_test (test_unescape),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
