/* gpu_list.c - see gpu_list.h. In: a list, and what the driver says of this machine. Out: the list device by device; words
 * for who named one that is not here. */
#include "io/gpu_list.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { INDEX_MAX = 1024, SHOWN_MAX = 16, UUID_PREFIX = 4 /* "GPU-", "MIG-" */ };

/* One word of a list. */
struct device {
    const char *p;
    size_t n;
    int from, to; /* a number or a range of them; -1: a UUID */
    int mig;      /* of 0:1; -1 = the whole GPU */
};

static bool is_uuid (const char *p, size_t n)
{
    return n > UUID_PREFIX && (!strncmp (p, "GPU-", UUID_PREFIX) || !strncmp (p, "MIG-", UUID_PREFIX));
}

/* The next number of *at, -1 when there is none or it is too large. */
static int take_number (const char **at)
{
    int v = 0;

    if (**at < '0' || **at > '9')
        return -1;
    for (; **at >= '0' && **at <= '9'; ++*at)
        v = v < INDEX_MAX ? v * 10 + (**at - '0') : INDEX_MAX;
    return v < INDEX_MAX ? v : -1;
}

/* The next word of *at, which moves behind it; false: it can be no device (ret->p and n say which). */
static bool take_device (const char **at, struct device *ret)
{
    const char *p = *at += strspn (*at, " "), *end = p + strcspn (p, ","), *next = *end ? end + 1 : end;

    while (end > p && end[-1] == ' ')
        end--;
    *ret = (struct device){ .p = p, .n = (size_t)(end - p), .from = -1, .to = -1, .mig = -1 };
    *at = next;
    if (is_uuid (ret->p, ret->n))
        return true;
    ret->from = ret->to = take_number (&p);
    if (ret->from < 0)
        return false;
    if (*p == '-' && p++)
        ret->to = take_number (&p);
    else if (*p == ':' && p++ && (ret->mig = take_number (&p)) < 0)
        return false;
    return p == end && ret->to >= ret->from;
}

/* "all" or "none" when the list is that word, in whatever case. */
static const char *whole_word (const char *list)
{
    return !strcasecmp (list, "all") ? "all" : !strcasecmp (list, "none") ? "none" : NULL;
}

static bool names_devices (const char *list)
{
    return list && *list && !whole_word (list);
}

int gpu_list_read (struct arena *a, const char *who, const char *words, const char **ret, struct error *err)
{
    struct str s = { .arena = a };
    struct device d;

    if (!names_devices (words)) {
        *ret = words && *words ? whole_word (words) : words;
        return 0;
    }
    for (const char *p = words; *p;) {
        if (!take_device (&p, &d))
            return error_set (
                err, EINVAL,
                "%s: '%.*s' is no GPU: give all, none, or a list of numbers (0,1 or 0-3), UUIDs (GPU-..., "
                "MIG-...) and MIG devices (0:1)",
                who, (int)d.n, d.p);
        for (int i = d.from; i <= d.to; i++) {
            str_puts (&s, s.n ? "," : "");
            if (d.from < 0 || d.mig >= 0)
                str_add (&s, d.p, d.n);
            else
                str_add_int (&s, i);
        }
    }
    *ret = s.p ? s.p : "";
    return 0;
}

static bool holds (const char *list, const struct gpu *g)
{
    struct device d;

    for (const char *p = list; *p;)
        if (take_device (&p, &d) &&
            (d.from < 0 ? !strncmp (d.p, g->uuid, d.n) : d.from <= g->index && g->index <= d.to))
            return true;
    return false;
}

size_t gpu_list_select (const char *list, struct gpu *v, size_t n)
{
    size_t got = 0;

    if (list && (!strcasecmp (list, "none") || !strcmp (list, "-1"))) /* -1: CUDA's own word */
        return 0;
    for (size_t i = 0; names_devices (list) && i < n; i++)
        if (holds (list, &v[i])) {
            struct gpu chosen = v[i];

            v[got++] = chosen;
        }
    return got ? got : n;
}

/* -- what is here ----------------------------------------------------------------------------------------------- */

/* "there are 2: 0 (Name), 1 (Name)" */
static void describe (struct gpus *g, size_t n, struct str *ret)
{
    struct gpu list[SHOWN_MAX];
    size_t known = gpus_read (g, list, SHOWN_MAX);

    str_addf (ret, n == 1 ? "there is one: " : "there are %zu: ", n);
    for (size_t i = 0; i < known; i++)
        str_addf (ret, "%s%d (%s)", i ? ", " : "", list[i].index, list[i].name);
    if (known < n)
        str_puts (ret, known ? ", ..." : "...");
}

static bool is_here (struct gpus *g, size_t n, const struct device *d)
{
    if (d->from < 0)
        return gpus_find (g, d->p, d->n);
    return (size_t)d->to < n && (d->mig < 0 || gpus_has_mig (g, (unsigned)d->from, (unsigned)d->mig));
}

int gpu_list_check (struct gpus *g, const char *who, const char *list, struct error *err)
{
    cleanup_str struct str words = { 0 };
    size_t n = gpus_count (g);
    struct device d;

    if (!names_devices (list))
        return 0;
    if (!g)
        return 1;
    for (const char *p = list; *p;) {
        if (take_device (&p, &d) && is_here (g, n, &d))
            continue;
        if (!n)
            return error_set (err, ENODEV,
                              "%s: no GPU %.*s here: the driver shows none (--cpu-only uses none)", who,
                              (int)d.n, d.p);
        describe (g, n, &words);
        return error_set (err, ENODEV, "%s: no GPU %.*s here: %s", who, (int)d.n, d.p, words.p);
    }
    return 0;
}

int gpu_list_check_here (const char *who, const char *list, struct error *err)
{
    struct gpus *g;
    int r;

    if (!names_devices (list))
        return 0;
    g = gpus_open ();
    r = gpu_list_check (g, who, list, err);
    gpus_close (g);
    return r;
}
