/* port_owner.c - see port_owner.h. /proc/net/tcp and tcp6 give the inode of the listening socket, /proc/PID/fd who
 * has it open (only of our own processes unless we are root). */
#include "io/port_owner.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long inode_in (const char *path, int port)
{
    FILE *f = fopen (path, "re");
    char line[512];
    unsigned long inode = 0, found = 0;
    unsigned local, state;

    while (f && fgets (line, sizeof (line), f))
        if (sscanf (line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu", &local,
                    &state, &inode) == 3 &&
            (int)local == port && state == 0x0a)
            found = inode;
    if (f)
        fclose (f);
    return found;
}

static bool process_has (const char *pid, const char *link)
{
    char path[300], to[64];
    struct dirent *e;
    bool found = false;
    DIR *d;

    snprintf (path, sizeof (path), "/proc/%s/fd", pid);
    if (!(d = opendir (path)))
        return false;
    while (!found && (e = readdir (d))) {
        char one[600];
        ssize_t n;

        snprintf (one, sizeof (one), "%s/%s", path, e->d_name);
        n = readlink (one, to, sizeof (to) - 1);
        found = n > 0 && (size_t)n == strlen (link) && !memcmp (to, link, (size_t)n);
    }
    closedir (d);
    return found;
}

static void describe (struct str *s, const char *pid)
{
    char path[300], name[64] = "a program";
    FILE *f;

    snprintf (path, sizeof (path), "/proc/%s/comm", pid);
    if ((f = fopen (path, "re"))) {
        if (fgets (name, sizeof (name), f))
            name[strcspn (name, "\n")] = 0;
        fclose (f);
    }
    str_addf (s, " (held by %s, process %s)", name, pid);
}

void port_owner_describe (struct str *s, int port)
{
    unsigned long inode = inode_in ("/proc/net/tcp", port);
    char link[64];
    struct dirent *e;
    DIR *d;

    if (!inode)
        inode = inode_in ("/proc/net/tcp6", port);
    if (!inode || !(d = opendir ("/proc")))
        return;
    snprintf (link, sizeof (link), "socket:[%lu]", inode);
    while ((e = readdir (d)))
        if (isdigit ((unsigned char)e->d_name[0]) && process_has (e->d_name, link)) {
            describe (s, e->d_name);
            break;
        }
    closedir (d);
}
