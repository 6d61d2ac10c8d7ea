/* console_test.c - terminal behaviour, also when every byte arrives alone. */
#include "base/unit.h"
#include "run/console.h"

#include <stdio.h>
#include <string.h>

static void collect (void *arg, struct text line, int64_t now)
{
    (void)now;
    struct str *s = arg;
    str_add_text (s, line);
    str_puts (s, "|");
}

static void shows (const char *in, size_t n, const char *want)
{
    for (size_t piece = 1; piece <= n; piece += piece < 4 ? 1 : n) {
        cleanup_str struct str out = { 0 };
        struct console *c = console_create (10000, collect, &out);
        for (size_t i = 0; i < n; i += piece)
            console_feed (c, in + i, n - i < piece ? n - i : piece, 1000);
        console_finish (c, 1000);
        console_destroy (c);
        assert_string_equal (out.p ? out.p : "", want);
    }
}
#define SHOWS(in, want) shows (in, sizeof in - 1, want)

static void lines (void **state)
{
    (void)state;
    SHOWS ("one\ntwo\n", "one|two|");
    SHOWS ("a\n\nb", "a||b|");
    SHOWS ("no newline", "no newline|");
    SHOWS ("dos\r\nunix\n", "dos|unix|");
    SHOWS ("tab\there\n", "tab\there|");
    SHOWS ("nul\0 and bell\a\n", "nul and bell|");
}

static void redrawing (void **state)
{
    (void)state;
    SHOWS ("\r 1%\r 50%\r100%\n", "100%|");
    SHOWS ("12345\rab\n", "ab345|");
    SHOWS ("long text\rab       \n", "ab|");
    SHOWS ("long text\r\033[Kab\n", "ab|");
    SHOWS ("abc\b\bX\n", "aXc|");
    SHOWS ("abc\033[2DX\n", "aXc|");
    SHOWS ("abc\033[1GX\n", "Xbc|");
    SHOWS ("abc\033[1K\n", "   |");
    SHOWS ("bar\rfoo", "foo|");
    SHOWS ("\b\b\ba\n", "a|");
}

static void escapes (void **state)
{
    (void)state;
    SHOWS ("\033[31mred\033[0m plain\n", "\033[31mred\033[0m plain|");
    SHOWS ("\033[1m\033[31mbold red\033[m\n", "\033[1m\033[31mbold red\033[0m|");
    SHOWS ("\033[31mred\nstill\033[0m\n", "\033[31mred\033[0m|\033[31mstill\033[0m|");
    SHOWS ("\033]0;title\atext\n", "text|");
    SHOWS ("\033]8;;http://x\033\\link\n", "link|");
    SHOWS ("\033[2J\033[?25lx\033[10;20Hy\n", "xy|");
    SHOWS ("\033(Bx\n", "x|");
    SHOWS ("\033[0m\n", "|");
    SHOWS ("cut\033[3\nnext\n", "cut|next|");
}

static void utf8 (void **state)
{
    (void)state;
    SHOWS ("gr\303\274n \342\202\254 \360\237\230\200\n", "gr\303\274n \342\202\254 \360\237\230\200|");
    SHOWS ("bad \374 byte\n", "bad \357\277\275 byte|");
    SHOWS ("\355\240\200\n", "\357\277\275\357\277\275\357\277\275|");
    SHOWS ("\300\257\n", "\357\277\275\357\277\275|");
    SHOWS ("cut \342\202", "cut \357\277\275|");
    SHOWS ("cut \342\202\n", "cut \357\277\275|");
    SHOWS ("\303\274bc\rX\n", "Xbc|");
}

static void long_lines_are_cut (void **state)
{
    (void)state;
    cleanup_str struct str in = { 0 }, out = { 0 };
    for (int i = 0; i < 20000; i++)
        str_putc (&in, 'x');
    str_putc (&in, '\n');
    struct console *c = console_create (0, collect, &out);
    console_feed (c, in.p, in.n, 1);
    console_destroy (c);
    assert_int_equal (out.n, 20000 + 3); /* 8192 + 8192 + 3616 */
    assert_int_equal (out.p[8192], '|');
}

static void a_long_bar_is_shown_now_and_then (void **state)
{
    (void)state;
    cleanup_str struct str out = { 0 };
    struct console *c = console_create (10000, collect, &out);
    for (int i = 0; i <= 100; i++) {
        char bar[16];
        int n = snprintf (bar, sizeof bar, "\r%d%%", i);
        console_feed (c, bar, (size_t)n, 1000 + i * 250);
    }
    console_feed (c, "\n", 1, 27000);
    console_destroy (c);
    assert_string_equal (out.p, "40%|80%|100%|");
}

static void a_clock_that_is_put_back_holds_nothing_up (void **state)
{
    (void)state;
    cleanup_str struct str out = { 0 };
    struct console *c = console_create (10000, collect, &out);
    console_feed (c, "\r1%\r2%", 6, 5000000);
    console_feed (c, "\r3%", 3, 1000);
    console_feed (c, "\r4%", 3, 12000);
    console_feed (c, "\n", 1, 13000);
    console_destroy (c);
    assert_string_equal (out.p, "2%|3%|4%|");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (lines),
        cmocka_unit_test (redrawing),
        cmocka_unit_test (escapes),
        cmocka_unit_test (utf8),
        cmocka_unit_test (long_lines_are_cut),
        cmocka_unit_test (a_long_bar_is_shown_now_and_then),
        cmocka_unit_test (a_clock_that_is_put_back_holds_nothing_up),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
