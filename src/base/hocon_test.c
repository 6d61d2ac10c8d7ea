/* hocon_test.c - the configuration language: what it means, and how it refuses. */
#include "base/file.h"
#include "base/hocon.h"
#include "base/json.h"
#include "base/path.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *conf, *json;
} rows[] = {
    { "plain object", "a { b: 1, c = \"x\" }", "{\"a\":{\"b\":1,\"c\":\"x\"}}" },
    { "root braces", "{ \"a\": {\"b\": 1} }", "{\"a\":{\"b\":1}}" },
    { "comments", "# one\na = 1 // two\nb = 2 # three\n", "{\"a\":1,\"b\":2}" },
    { "no separators before brace", "a { b { c : true } }", "{\"a\":{\"b\":{\"c\":true}}}" },
    { "dotted keys", "a.b.c = 1\na.b.d = 2", "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}" },
    { "quoted dotted key", "\"a.b\" = 1", "{\"a.b\":1}" },
    { "object merge", "a { x: 1, y: 2 }\na { y: 3, z: 4 }", "{\"a\":{\"x\":1,\"y\":3,\"z\":4}}" },
    { "later scalar replaces object", "a { x: 1 }\na = 5", "{\"a\":5}" },
    { "null resets merge", "a { x: 1 }\na = null\na { y: 2 }", "{\"a\":{\"y\":2}}" },
    { "substitution", "a = 1\nb = ${a}", "{\"a\":1,\"b\":1}" },
    { "substitution in concatenation", "root = /data\npath = ${root}\"/cache\"",
      "{\"root\":\"/data\",\"path\":\"/data/cache\"}" },
    { "substitution unquoted concatenation", "root = /data\npath = ${root}/cache",
      "{\"root\":\"/data\",\"path\":\"/data/cache\"}" },
    { "substitution of object with override", "base { x: 1, y: 2 }\nd = ${base} { y: 9 }",
      "{\"base\":{\"x\":1,\"y\":2},\"d\":{\"x\":1,\"y\":9}}" },
    { "substitution later definition wins", "a = ${b}\nb = 1\nb = 2", "{\"a\":2,\"b\":2}" },
    { "env substitution", "h = ${HOCON_T_HOME}\"/x\"", "{\"h\":\"/home/ann/x\"}" },
    { "optional env missing", "h = \"d\"\nh = ${?HOCON_T_NONE}", "{\"h\":\"d\"}" },
    { "optional env present", "h = \"d\"\nh = ${?HOCON_T_HOME}", "{\"h\":\"/home/ann\"}" },
    { "env number stays text", "n = ${HOCON_T_N}", "{\"n\":\"3\"}" },
    { "list concatenation", "a = [1, 2]\nb = ${a} [3]", "{\"a\":[1,2],\"b\":[1,2,3]}" },
    { "list newline separators", "l = [\n 1\n 2,\n 3,\n]", "{\"l\":[1,2,3]}" },
    { "list of objects", "cred: [{host: a, user: u}, {host: b, user: v}]",
      "{\"cred\":[{\"host\":\"a\",\"user\":\"u\"},{\"host\":\"b\",\"user\":\"v\"}]}" },
    { "trailing comma in object", "a { x: 1, y: 2, }", "{\"a\":{\"x\":1,\"y\":2}}" },
    { "triple quotes", "s = \"\"\"line1\nline \"2\" \\n\"\"\"", "{\"s\":\"line1\\nline \\\"2\\\" \\\\n\"}" },
    { "escapes", "s = \"tab\\tnl\\nq\\\"u\\u00e9\"", "{\"s\":\"tab\\tnl\\nq\\\"u\\u00e9\"}" },
    { "unquoted with spaces", "s = hello big world", "{\"s\":\"hello big world\"}" },
    { "unquoted url", "u: https://files.example.com:8081/x", "{\"u\":\"https://files.example.com:8081/x\"}" },
    { "unquoted python bool", "a: True\nb: False\nc: true\nd: yes",
      "{\"a\":true,\"b\":false,\"c\":true,\"d\":\"yes\"}" },
    { "numbers", "i = 12\nn = -3\nf = 1.5\ne = 1e3\nz = 007",
      "{\"i\":12,\"n\":-3,\"f\":1.5,\"e\":1e3,\"z\":\"007\"}" },
    { "null and none", "a = null\nb = None", "{\"a\":null,\"b\":\"None\"}" },
    { "empty string and list", "a = \"\"\nb = []\nc = {}", "{\"a\":\"\",\"b\":[],\"c\":{}}" },
    { "key with dash and digits", "max-size_2 = 10\n10gb = 1", "{\"max-size_2\":10,\"10gb\":1}" },
    { "time and size values", "t1 = 30 days\nt2 = 10s\ns1 = 5 GB",
      "{\"t1\":\"30 days\",\"t2\":\"10s\",\"s1\":\"5 GB\"}" },
    { "star and at in quoted secret", "k = \"x!XT_G-#v*Y(h$A&D\"", "{\"k\":\"x!XT_G-#v*Y(h$A&D\"}" },
    { "dollar not substitution", "k = \"cost $5\"", "{\"k\":\"cost $5\"}" },
    { "brace in quotes", "k = \"a{b}c\"", "{\"k\":\"a{b}c\"}" },
    { "windows path", "p = \"C:\\\\Users\\\\ann\\\\clearml\"", "{\"p\":\"C:\\\\Users\\\\ann\\\\clearml\"}" },
    { "self reference append path", "path = \"/bin\"\npath = ${path}\":/usr/bin\"",
      "{\"path\":\"/bin:/usr/bin\"}" },
    { "nested override by dotted after block",
      "agent { pip { version: \"<20\" } }\nagent.pip.version = \"<24\"",
      "{\"agent\":{\"pip\":{\"version\":\"<24\"}}}" },
    { "key value equals plus object", "a = { b : 1 }", "{\"a\":{\"b\":1}}" },
    { "crlf", "a = 1\r\nb = \"x\"\r\n", "{\"a\":1,\"b\":\"x\"}" },
    { "unicode value", "name = \"Gr\303\266\303\237e \346\250\241\345\236\213\"",
      "{\"name\":\"Gr\\u00f6\\u00dfe \\u6a21\\u578b\"}" },
    { "hash inside quotes", "u = \"a#b\"", "{\"u\":\"a#b\"}" },
    { "slashes unquoted value", "p = ~/.clearml/venvs-builds", "{\"p\":\"~/.clearml/venvs-builds\"}" },
    /* beyond the shared table */
    { "append", "a = [1]\na += 2\na += {b: 3}", "{\"a\":[1,2,{\"b\":3}]}" },
    { "append to nothing", "a.b += x", "{\"a\":{\"b\":[\"x\"]}}" },
    { "look back twice", "a = 1\na = ${a}2\na = ${a}3", "{\"a\":\"123\"}" },
    { "sibling", "a { x: 1, y: ${a.x}, z: ${a.y}0 }", "{\"a\":{\"x\":1,\"y\":1,\"z\":\"10\"}}" },
    { "into a substituted object", "b { x: 1 }\na = ${b} { y: 2 }\nc = ${a.x}\nd = ${a.y}",
      "{\"b\":{\"x\":1},\"a\":{\"x\":1,\"y\":2},\"c\":1,\"d\":2}" },
    { "object merged over a substitution", "b { x: 1, o { p: 1 } }\na = ${b}\na { o { q: 2 } }\nc = ${a.o}",
      "{\"b\":{\"x\":1,\"o\":{\"p\":1}},\"a\":{\"x\":1,\"o\":{\"p\":1,\"q\":2}},\"c\":{\"p\":1,\"q\":2}}" },
    { "optional in text", "a = \"x\"${?HOCON_T_NONE}y", "{\"a\":\"xy\"}" },
    { "optional alone leaves the key out", "a = 1\nb = ${?HOCON_T_NONE}", "{\"a\":1}" },
    { "optional in a list", "a = [1, ${?HOCON_T_NONE}, 2]", "{\"a\":[1,2]}" },
    { "quoted is no substitution", "c = \"${HOME}\"", "{\"c\":\"${HOME}\"}" },
    { "joined with blanks", "d = ${HOCON_T_HOME}\"/x y\"", "{\"d\":\"/home/ann/x y\"}" },
    { "key with blanks", "a b . c = 1", "{\"a b\":{\"c\":1}}" },
    { "value on the next line behind =", "a =\n  5", "{\"a\":5}" },
    { "numbers joined are text", "v = 1 2", "{\"v\":\"1 2\"}" },
    { "version", "v = 22.3.1", "{\"v\":\"22.3.1\"}" },
    { "surrogates", "s = \"\\ud83d\\ude00\\ud83d\"", "{\"s\":\"\\ud83d\\ude00\\ufffd\"}" },
    { "backslash kept", "p = \"C:\\Users\"", "{\"p\":\"C:\\\\Users\"}" },
    { "word with odd bytes", "k = a?b!c@d*e&f\\g", "{\"k\":\"a?b!c@d*e&f\\\\g\"}" },
    { "byte order mark",
      "\xef\xbb\xbf"
      "a = 1",
      "{\"a\":1}" },
    { "nothing", " # only this\n", "{}" },
};

static const struct {
    const char *name, *conf, *text; /* text: what the error must say */
} bad[] = {
    { "unclosed brace", "\na { b = 1", "t.conf:2: '{' is never closed" },
    { "missing substitution", "b = 1\na = ${nope}", "t.conf:2: ${nope}: neither the configuration nor the" },
    { "cycle", "a = ${b}\nb = ${a}", "it means itself" },
    { "cycle of itself", "a = ${a}", "t.conf:1: ${a}: neither" },
    { "unterminated string", "a = \"abc", "t.conf:1: the string never ends" },
    { "unterminated triple", "a = \"\"\"abc\"\"", "never ends" },
    { "closing nothing", "a = 1 }", "t.conf:1: '}' closes nothing" },
    { "no value", "a =", "t.conf:1: a value is missing" },
    { "no separator", "a", "t.conf:1: the key 'a' has no value" },
    { "two equals", "a = b = c", "t.conf:1: '=' cannot stand here" },
    { "mixed kinds", "a = [1] x", "cannot be joined" },
    { "unclosed list", "a = [1, 2", "']' is missing" },
    { "wrong bracket", "a = [1}", "a value is missing" },
    { "empty key part", "a..b = 1", "a part of the key is empty" },
    { "open substitution", "a = ${b", "closing brace" },
    { "include in a text", "include \"x.conf\"", "include is not possible here" },
    { "growing",
      "a=xxxxxxxxxxxxxxxx\nb=${a}${a}${a}${a}\nc=${b}${b}${b}${b}\nd=${c}${c}${c}${c}\n"
      "e=${d}${d}${d}${d}\nf=${e}${e}${e}${e}\ng=${f}${f}${f}${f}\nh=${g}${g}${g}${g}\n"
      "i=${h}${h}${h}${h}\nj=${i}${i}${i}${i}\nk=${j}${j}${j}${j}\nl=${k}${k}${k}${k}",
      "grow" },
};

static const char *environment (const char *name, void *arg)
{
    (void)arg;
    if (!strcmp (name, "HOCON_T_HOME"))
        return "/home/ann";
    return strcmp (name, "HOCON_T_N") ? NULL : "3";
}

static int read_text (struct arena *a, const char *conf, struct text *ret, struct error *err)
{
    struct hocon *h = hocon_create (a);

    hocon_set_environment (h, environment, NULL);
    if (hocon_add_text (h, "t.conf", text_of (conf), err) < 0)
        return -1;
    return hocon_resolve (h, ret, err);
}

static void test_rows (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        cleanup_arena struct arena *a = arena_create ();
        struct error err = { 0 };
        struct text t, checked;

        if (read_text (a, rows[i].conf, &t, &err) < 0)
            fail_msg ("%s: %s", rows[i].name, err.text);
        assert_int_equal (json_check (t, &checked, &err), 0);
        if (!text_is (t, rows[i].json))
            fail_msg ("%s: %.*s instead of %s", rows[i].name, (int)t.n, t.p, rows[i].json);
    }
}

static void test_bad (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++) {
        cleanup_arena struct arena *a = arena_create ();
        struct error err = { 0 };
        struct text t;

        if (!read_text (a, bad[i].conf, &t, &err))
            fail_msg ("%s: taken as %.*s", bad[i].name, (int)t.n, t.p);
        if (!strstr (err.text, bad[i].text))
            fail_msg ("%s: says '%s' instead of '%s'", bad[i].name, err.text, bad[i].text);
    }
}

static void test_deep (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };
    struct error err = { 0 };
    struct text t;

    (void)state;
    for (int i = 0; i < 100000; i++)
        str_puts (&s, "a{");
    assert_int_equal (read_text (a, s.p, &t, &err), -1);
    assert_non_null (strstr (err.text, "nested too deep"));
    str_reset (&s);
    str_puts (&s, "a = ");
    for (int i = 0; i < 100000; i++)
        str_putc (&s, '[');
    assert_int_equal (read_text (a, s.p, &t, &err), -1);
}

static void put (struct arena *a, const char *folder, const char *name, const char *text)
{
    struct error err;

    assert_int_equal (file_write (path_join (a, folder, name), text_of (text), 0600, &err), 0);
}

static void test_files (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    char folder[] = "/tmp/hocon_testXXXXXX";
    struct hocon *h = hocon_create (a);
    struct error err = { 0 };
    struct text t;

    (void)state;
    assert_non_null (mkdtemp (folder));
    put (a, folder, "base.conf", "hello = world\nhello1 = ${hello}\nfrom_root = ${?top}\n");
    put (a, folder, "main.conf",
         "top = 1\nt = { include \"base.conf\"\n own = 2 }\ninclude \"missing.conf\"\n");
    put (a, folder, "loop.conf", "include \"loop.conf\"\n");
    put (a, folder, "required.conf", "\ninclude required(file(\"missing.conf\"))\n");
    put (a, folder, "subst.conf", "include required(file(\"${CONF_HOME}/base.conf\"))\n");
    assert_int_equal (hocon_add_file (h, path_join (a, folder, "main.conf"), &err), 0);
    hocon_set (h, "t.own", "three");
    assert_int_equal (hocon_set_value (h, "u.v", "U__V", TEXT ("[1, \"x\"]"), &err), 0);
    assert_int_equal (hocon_set_value (h, "u.w", "U__W", TEXT ("1 }"), &err), -1);
    assert_int_equal (hocon_resolve (h, &t, &err), 0);
    assert_string_equal (
        t.p, "{\"top\":1,\"t\":{\"hello\":\"world\",\"hello1\":\"world\",\"from_root\":1,\"own\":\"three\"},"
             "\"u\":{\"v\":[1,\"x\"]}}");
    h = hocon_create (a);
    assert_int_equal (hocon_add_file (h, path_join (a, folder, "loop.conf"), &err), -1);
    assert_non_null (strstr (err.text, "too many nested includes"));
    assert_int_equal (hocon_add_file (h, path_join (a, folder, "required.conf"), &err), -1);
    assert_non_null (strstr (err.text, "required.conf:2: include: "));
    assert_int_equal (hocon_add_file (h, path_join (a, folder, "subst.conf"), &err), -1);
    assert_non_null (strstr (err.text, "subst.conf:1: include does not replace"));
    assert_int_equal (folder_remove (folder, &err), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_rows),
        cmocka_unit_test (test_bad),
        cmocka_unit_test (test_deep),
        cmocka_unit_test (test_files),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
