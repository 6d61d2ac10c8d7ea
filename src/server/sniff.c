/* sniff.c - see sniff.h. HTML, SVG and XML are text that browsers run: they are never "plain text" here. */
#include "server/sniff.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *type;
    size_t at, n;
    const char *bytes;
} magics[] = {
    { "image/png", 0, 8, "\x89PNG\r\n\x1a\n" },
    { "image/jpeg", 0, 3, "\xff\xd8\xff" },
    { "image/gif", 0, 4, "GIF8" },
    { "image/webp", 8, 4, "WEBP" },
    { "image/bmp", 0, 2, "BM" },
    { "image/tiff", 0, 4, "II*\0" },
    { "image/tiff", 0, 4, "MM\0*" },
    { "image/x-icon", 0, 4, "\0\0\1\0" },
    { "image/avif", 4, 8, "ftypavif" },
    { "audio/wav", 8, 4, "WAVE" },
    { "audio/mpeg", 0, 3, "ID3" },
    { "audio/flac", 0, 4, "fLaC" },
    { "audio/ogg", 0, 4, "OggS" },
    { "video/x-msvideo", 8, 4, "AVI " },
    { "video/mp4", 4, 4, "ftyp" },
    { "video/webm", 0, 4, "\x1a\x45\xdf\xa3" },
};

static const struct {
    const char *end, *type;
    bool text;
} names[] = {
    { ".txt", "text/plain; charset=utf-8", true },
    { ".log", "text/plain; charset=utf-8", true },
    { ".csv", "text/csv; charset=utf-8", true },
    { ".tsv", "text/tab-separated-values; charset=utf-8", true },
    { ".md", "text/plain; charset=utf-8", true },
    { ".json", "application/json", true },
    { ".yaml", "text/plain; charset=utf-8", true },
    { ".yml", "text/plain; charset=utf-8", true },
    { ".html", "text/html; charset=utf-8", false },
    { ".htm", "text/html; charset=utf-8", false },
    { ".svg", "image/svg+xml", false },
    { ".xml", "application/xml", false },
    { ".pdf", "application/pdf", false },
    { ".zip", "application/zip", false },
    { ".gz", "application/octet-stream", false },
    { ".tgz", "application/octet-stream", false },
    { ".js", "text/javascript; charset=utf-8", false },
    { ".css", "text/css; charset=utf-8", false },
    { ".mp3", "audio/mpeg", false },
    { ".npy", "application/octet-stream", false },
};

static const char *type_by_name (const char *path, bool text_only)
{
    size_t n = strlen (path);

    for (size_t i = 0; i < sizeof (names) / sizeof (*names); i++) {
        size_t m = strlen (names[i].end);

        if (n > m && !strcasecmp (path + n - m, names[i].end) && (!text_only || names[i].text))
            return names[i].type;
    }
    return text_only ? "text/plain; charset=utf-8" : "application/octet-stream";
}

static bool plain_text (struct text t)
{
    size_t i = 0;

    if (t.n >= 3 && !memcmp (t.p, "\xef\xbb\xbf", 3))
        i = 3;
    while (i < t.n && strchr (" \t\r\n", t.p[i]) && t.p[i])
        i++;
    if (!t.n || (i < t.n && t.p[i] == '<')) /* empty is nothing; "<" may be a page */
        return false;
    for (i = 0; i < t.n; i++) {
        unsigned char c = (unsigned char)t.p[i];

        if ((c < 0x20 && !strchr ("\t\r\n\f\x1b\b", c)) || c == 0x7f || !c)
            return false;
    }
    return true;
}

static bool utf8 (struct text t)
{
    for (size_t i = 0; i < t.n;) {
        unsigned char c = (unsigned char)t.p[i++];
        int more = c < 0x80                ? 0
                   : c >= 0xc2 && c < 0xe0 ? 1
                   : c >= 0xe0 && c < 0xf0 ? 2
                   : c >= 0xf0 && c < 0xf5 ? 3
                                           : -1;

        if (more < 0)
            return false;
        for (; more && i < t.n;
             more--, i++) /* cut off at the end is fine: it is only the beginning of the file */
            if (((unsigned char)t.p[i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

const char *sniff_type (struct text first, const char *path)
{
    for (size_t i = 0; i < sizeof (magics) / sizeof (*magics); i++)
        if (first.n >= magics[i].at + magics[i].n &&
            !memcmp (first.p + magics[i].at, magics[i].bytes, magics[i].n))
            return magics[i].type;
    if (plain_text (first) && utf8 (first))
        return type_by_name (path, true);
    return type_by_name (path, false);
}

bool sniff_inline (const char *type)
{
    return (!strncmp (type, "image/", 6) && strcmp (type, "image/svg+xml")) || !strncmp (type, "audio/", 6) ||
           !strncmp (type, "video/", 6) || !strncmp (type, "text/plain", 10) ||
           !strncmp (type, "text/csv", 8) || !strncmp (type, "text/tab", 8) ||
           !strcmp (type, "application/json");
}
