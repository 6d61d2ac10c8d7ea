/* secrets.c - see secrets.h. Known prefixes first; else words of 32 and more characters from the base64 alphabet with
 * lower case, upper case and digits mixed and at least 4.2 bits of Shannon entropy a character. Hex digests and the
 * integrity hashes of lock files are not tokens. */
#include "cli/secrets.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

bool secret_file (const char *name)
{
    static const char *const patterns[] = { ".env",
                                            ".env.*",
                                            "*.pem",
                                            "*.key",
                                            "*.p12",
                                            "*.pfx",
                                            "id_rsa*",
                                            "id_dsa*",
                                            "id_ecdsa*",
                                            "id_ed25519*",
                                            ".netrc",
                                            ".git-credentials",
                                            "credentials.json",
                                            ".pypirc",
                                            ".npmrc",
                                            "clearml.conf",
                                            "trains.conf" };
    static const char *const fine[] = { ".env.example", ".env.sample", ".env.template", "*.pub" };

    for (size_t i = 0; i < sizeof (fine) / sizeof (*fine); i++)
        if (!fnmatch (fine[i], name, 0))
            return false;
    for (size_t i = 0; i < sizeof (patterns) / sizeof (*patterns); i++)
        if (!fnmatch (patterns[i], name, 0))
            return true;
    return false;
}

static bool known (const char *p, size_t n)
{
    static const struct {
        const char *prefix;
        size_t least;
    } rows[] = { { "AKIA", 20 },  { "ASIA", 20 },        { "ghp_", 36 },   { "gho_", 36 },
                 { "ghs_", 36 },  { "github_pat_", 40 }, { "glpat-", 20 }, { "xoxb-", 24 },
                 { "xoxp-", 24 }, { "sk-", 40 },         { "hf_", 34 },    { "pypi-", 40 } };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++)
        if (n >= rows[i].least && !strncmp (p, rows[i].prefix, strlen (rows[i].prefix)))
            return true;
    return false;
}

static bool dense (const char *p, size_t n)
{
    int counts[256] = { 0 }, lower = 0, upper = 0, digit = 0;
    double bits = 0;

    for (size_t i = 0; i < n; i++) {
        counts[(unsigned char)p[i]]++;
        lower += islower ((unsigned char)p[i]) != 0;
        upper += isupper ((unsigned char)p[i]) != 0;
        digit += isdigit ((unsigned char)p[i]) != 0;
    }
    if (n < 32 || n > 512 || lower < 3 || upper < 3 || digit < 3)
        return false;
    for (int i = 0; i < 256; i++)
        if (counts[i])
            bits -= (double)counts[i] / (double)n * log2 ((double)counts[i] / (double)n);
    return bits >= 4.2;
}

bool secret_token (const char *line, size_t n)
{
    if (memmem (line, n, "-----BEGIN ", 11) && memmem (line, n, "PRIVATE KEY-----", 16))
        return true;
    for (size_t i = 0, from; i < n; i++) {
        for (from = i; i < n && (isalnum ((unsigned char)line[i]) || strchr ("+/_-", line[i])) && line[i];
             i++)
            ;
        if (i == from)
            continue;
        if (i - from > 7 && (!strncmp (line + from, "sha512-", 7) || !strncmp (line + from, "sha256-", 7)))
            continue;
        if (memchr (line + from, '/', i - from) && !memchr (line + from, '+', i - from) && i - from > 32 &&
            strspn (line + from, "abcdefghijklmnopqrstuvwxyz/_-.") > (i - from) / 2)
            continue; /* a path */
        if (known (line + from, i - from) || dense (line + from, i - from))
            return true;
    }
    return false;
}
