/* descend.c - see descend.h. In: /proc. Out: signals. */
#include "run/descend.h"
#include "base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool read_whole (const char *path, char *buf, size_t size)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read (fd, buf, size - 1);
    close (fd);
    if (n <= 0)
        return false;
    buf[n] = 0;
    return true;
}

/* "pid (name) state ppid ... starttime": the name may hold anything, so from its last bracket on. */
static bool process_read (pid_t pid, struct descendant *d)
{
    char path[64], buf[1024], state;
    int parent;
    unsigned long long ticks;
    snprintf (path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_whole (path, buf, sizeof buf))
        return false;
    char *p = strrchr (buf, ')');
    if (!p ||
        sscanf (p + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                &state, &parent, &ticks) != 3)
        return false;
    *d = (struct descendant){ pid, parent, ticks, state == 'Z' || state == 'X' };
    return true;
}

struct table {
    struct descendant *v;
    size_t n, cap;
};

static void table_read (struct table *t)
{
    DIR *proc = opendir ("/proc");
    struct dirent *e;
    while (proc && (e = readdir (proc))) {
        struct descendant d;
        if (!isdigit ((unsigned char)e->d_name[0]) || !process_read ((pid_t)atoi (e->d_name), &d))
            continue;
        if (t->n == t->cap) {
            t->cap = t->cap ? 2 * t->cap : 512;
            t->v = realloc (t->v, t->cap * sizeof *t->v);
            if (!t->v)
                abort ();
        }
        t->v[t->n++] = d;
    }
    if (proc)
        closedir (proc);
}

/* Move all whose line of parents leads to root to the front; how many. */
static size_t table_descendants (struct table *t, pid_t root)
{
    size_t found = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = found; i < t->n; i++) {
            bool ours = t->v[i].parent == root;
            for (size_t k = 0; k < found && !ours; k++)
                ours = t->v[k].pid == t->v[i].parent;
            if (ours && t->v[i].pid != root) {
                struct descendant d = t->v[found];
                t->v[found] = t->v[i], t->v[i] = d;
                found++;
                more = true;
            }
        }
    }
    return found;
}

size_t descendants_list (struct arena *a, pid_t root, struct descendant **ret)
{
    struct table t = { 0 };
    table_read (&t);
    size_t n = table_descendants (&t, root);
    *ret = n ? arena_memdup (a, t.v, n * sizeof *t.v) : NULL;
    free (t.v);
    return n;
}

static void signal_one (const struct descendant *d, int signum)
{
    int fd = (int)syscall (SYS_pidfd_open, d->pid, 0);
    struct descendant now;
    if (fd < 0)
        return;
    if (process_read (d->pid, &now) && now.ticks == d->ticks)
        syscall (SYS_pidfd_send_signal, fd, signum, NULL, 0);
    close (fd);
}

size_t descendants_signal (pid_t root, int signum)
{
    struct table t = { 0 };
    size_t live = 0;
    table_read (&t);
    size_t n = table_descendants (&t, root);
    for (size_t i = 0; i < n; i++)
        if (!t.v[i].zombie) {
            signal_one (&t.v[i], signum);
            live++;
        }
    free (t.v);
    return live;
}

static void reap (pid_t spare)
{
    siginfo_t info;
    struct table t = { 0 };
    table_read (&t);
    size_t n = table_descendants (&t, getpid ());
    for (size_t i = 0; i < n; i++)
        if (t.v[i].zombie && t.v[i].parent == getpid () && t.v[i].pid != spare)
            waitid (P_PID, (id_t)t.v[i].pid, &info, WEXITED | WNOHANG);
    free (t.v);
}

bool descendants_end (pid_t spare, int64_t ms)
{
    int64_t end = clock_monotonic () + ms;
    for (int round = 0; descendants_signal (getpid (), SIGKILL); round++) {
        if (clock_monotonic () > end)
            return false;
        reap (spare);
        if (round)
            usleep (round < 10 ? 1000 : 20000);
    }
    reap (spare);
    return true;
}

/* -- control groups ------------------------------------------------------------------------------------------------ */
/* Where the version 2 hierarchy is mounted, and which group of it we are in. */
static bool cgroup_own (char *path, size_t size)
{
    char buf[65536], *line, *save;
    char mount[256] = "";
    if (!read_whole ("/proc/self/mountinfo", buf, sizeof buf))
        return false;
    for (line = strtok_r (buf, "\n", &save); line; line = strtok_r (NULL, "\n", &save))
        if (strstr (line, " - cgroup2 ") && sscanf (line, "%*d %*d %*s %*s %255s", mount) == 1)
            break;
    if (!mount[0] || !read_whole ("/proc/self/cgroup", buf, sizeof buf))
        return false;
    for (line = strtok_r (buf, "\n", &save); line; line = strtok_r (NULL, "\n", &save))
        if (!strncmp (line, "0::/", 4))
            return snprintf (path, size, "%s%s", mount, strcmp (line + 3, "/") ? line + 3 : "") < (int)size;
    return false;
}

bool cgroup_create (struct cgroup *g, const char *name)
{
    char own[400];
    g->path[0] = 0;
    if (!cgroup_own (own, sizeof own))
        return false;
    snprintf (g->path, sizeof g->path, "%s/stoker-%s", own, name);
    if (mkdir (g->path, 0755) == 0 || errno == EEXIST) {
        int fd = cgroup_procs (g);
        if (fd >= 0) {
            close (fd);
            return true;
        }
        rmdir (g->path);
    }
    g->path[0] = 0;
    return false;
}

static int cgroup_open (const struct cgroup *g, const char *file, int flags)
{
    char path[600];
    if (!g->path[0])
        return -1;
    snprintf (path, sizeof path, "%s/%s", g->path, file);
    return open (path, flags | O_CLOEXEC);
}

int cgroup_procs (const struct cgroup *g)
{
    return cgroup_open (g, "cgroup.procs", O_WRONLY);
}

void cgroup_kill (const struct cgroup *g)
{
    int fd = cgroup_open (g, "cgroup.kill", O_WRONLY);
    if (fd >= 0) {
        ssize_t ignored = write (fd, "1", 1);
        (void)ignored;
        close (fd);
    }
}

long cgroup_oom_kills (const struct cgroup *g)
{
    char path[600], buf[1024];
    snprintf (path, sizeof path, "%s/memory.events", g->path);
    if (!g->path[0] || !read_whole (path, buf, sizeof buf))
        return -1;
    const char *p = strstr (buf, "oom_kill ");
    return p ? atol (p + 9) : -1;
}

void cgroup_remove (struct cgroup *g)
{
    for (int i = 0; g->path[0] && i < 100 && rmdir (g->path) < 0 && errno == EBUSY; i++)
        usleep (10000);
    g->path[0] = 0;
}
