/* query_functions.c - SQL functions of each connection: regular expressions (PCRE2, with limits on the work one match
 * may take), sort keys, paths of files. A compiled pattern stays with its statement as long as the pattern does not change. */
#include "base/sortkey.h"
#include "base/url.h"
#include "store/query_parts.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <sqlite3.h>

enum { PATTERN_MAX = 4096, MATCH_LIMIT = 200000, DEPTH_LIMIT = 1000 };

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

static void pattern_destroy (void *p)
{
    struct pattern *pt = p;
    if (!pt)
        return;
    pcre2_match_context_free (pt->limits);
    pcre2_match_data_free (pt->data);
    pcre2_code_free (pt->code);
    free (pt);
}

static pcre2_code *pattern_compile (const char *text, size_t n, uint32_t flags, struct error *err)
{
    int code = 0;
    size_t at = 0;
    PCRE2_UCHAR words[160] = "too long";
    if (n > PATTERN_MAX) {
        error_set (err, QUERY_ERR_REGEX, "Malformed regular expression: longer than %d bytes", PATTERN_MAX);
        return NULL;
    }
    flags |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    pcre2_code *c = pcre2_compile ((PCRE2_SPTR)text, n, flags, &code, &at, NULL);
    if (!c) {
        pcre2_get_error_message (code, words, sizeof words);
        error_set (err, QUERY_ERR_REGEX, "Malformed regular expression: %s at offset %zu of '%.*s'",
                   (char *)words, at, (int)n, text);
    }
    return c;
}

static struct pattern *pattern_create (const char *text, size_t n, uint32_t flags, struct error *err)
{
    pcre2_code *code = pattern_compile (text, n, flags, err);
    struct pattern *p = code ? calloc (1, sizeof *p) : NULL;
    if (!p) {
        pcre2_code_free (code);
        return NULL;
    }
    p->code = code;
    pcre2_jit_compile (code, PCRE2_JIT_COMPLETE); /* without it matching only takes longer */
    p->data = pcre2_match_data_create_from_pattern (code, NULL);
    p->limits = pcre2_match_context_create (NULL);
    pcre2_set_match_limit (p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit (p->limits, DEPTH_LIMIT);
    return p;
}

int query_pattern_check (const char *pattern, struct error *err)
{
    pcre2_code *c = pattern_compile (pattern, strlen (pattern), 0, err);
    pcre2_code_free (c);
    return c ? 0 : -1;
}

/* pattern_find (pattern, text): the user data is the compile flags */
static void pattern_find (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    uint32_t flags = (uint32_t)(uintptr_t)sqlite3_user_data (ctx);
    if (sqlite3_value_type (v[0]) == SQLITE_NULL || sqlite3_value_type (v[1]) == SQLITE_NULL) {
        sqlite3_result_int (ctx, 0);
        return;
    }
    struct pattern *p = sqlite3_get_auxdata (ctx, 0);
    if (!p) {
        struct error err = { 0 };
        p = pattern_create ((const char *)sqlite3_value_text (v[0]), (size_t)sqlite3_value_bytes (v[0]),
                            flags, &err);
        if (!p) {
            sqlite3_result_error (ctx, err.text, -1);
            return;
        }
        sqlite3_set_auxdata (ctx, 0, p, pattern_destroy);
        p = sqlite3_get_auxdata (ctx, 0);
        if (!p) {
            sqlite3_result_error_nomem (ctx);
            return;
        }
    }
    const unsigned char *text = sqlite3_value_text (v[1]);
    int rc = pcre2_match (p->code, text, (size_t)sqlite3_value_bytes (v[1]), 0, 0, p->data, p->limits);
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        sqlite3_result_error (ctx, QUERY_TOO_MUCH, -1);
        return;
    }
    sqlite3_result_int (ctx, rc >= 0);
}

static void sortkey (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    if (sqlite3_value_type (v[0]) == SQLITE_NULL)
        return;
    const char *text = (const char *)sqlite3_value_text (v[0]);
    cleanup_str struct str key = { 0 };
    sortkey_add (&key, (struct text){ text, (size_t)sqlite3_value_bytes (v[0]) });
    sqlite3_result_blob (ctx, key.p, (int)key.n, SQLITE_TRANSIENT);
}

/* file_path (uri): NULL when it is no web address */
static void file_path (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    cleanup_arena struct arena *a = arena_create ();
    const char *path = url_path (a, (const char *)sqlite3_value_text (v[0]));
    if (path)
        sqlite3_result_text (ctx, path, -1, SQLITE_TRANSIENT);
}

int query_register (void *sqlite, struct error *err)
{
    enum { HOW = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };
    static const struct {
        const char *name;
        int args;
        uintptr_t data;
        void (*fn) (sqlite3_context *, int, sqlite3_value **);
    } table[] = {
        { "pattern_find", 2, 0, pattern_find },
        { "pattern_find_i", 2, PCRE2_CASELESS, pattern_find },
        { "sortkey", 1, 0, sortkey },
        { "file_path", 1, 0, file_path },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (sqlite3_create_function (sqlite, table[i].name, table[i].args, HOW, (void *)table[i].data,
                                     table[i].fn, NULL, NULL))
            return error_set (err, 0, "register %s: %s", table[i].name, sqlite3_errmsg (sqlite));
    return 0;
}
