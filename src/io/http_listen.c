/* http_listen.c - from "ADDR:PORT" to a listening socket. See http_server.h. */
#include "io/http_conn.h"
#include "io/port_owner.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* "host:port", "[v6]:port" or "port" -> two strings. */
static int split (const char *address, char host[256], char port[16], struct error *err)
{
    const char *colon = strrchr (address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;
    const char *p = colon ? colon + 1 : address;
    char *end;
    long number = strtol (p, &end, 10);

    if (end == p || *end || number < 0 || number > 65535)
        return error_set (err, EINVAL, "listen address %s: the port must be a number from 0 to 65535",
                          address);
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    } else if (memchr (address, ':', n)) {
        return error_set (err, EINVAL, "listen address %s: write an IPv6 address in brackets, [::1]:%ld",
                          address, number);
    }
    if (n >= 256)
        return error_set (err, EINVAL, "listen address: the host is too long");
    memcpy (host, address, n);
    host[n] = 0;
    snprintf (port, 16, "%ld", number);
    return 0;
}

static bool is_loopback (const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl (((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK (&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int open_socket (const struct addrinfo *ai, const char *address, const char *port, int *ret_fd,
                        struct error *err)
{
    int fd = socket (ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    cleanup_str struct str who = { 0 };

    if (fd < 0)
        return error_errno (err, "listen on %s", address);
    setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    if (bind (fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen (fd, BACKLOG) < 0) {
        int code = errno;

        close (fd);
        if (code != EADDRINUSE) {
            errno = code;
            return error_errno (err, "listen on %s", address);
        }
        port_owner_describe (&who, atoi (port));
        return error_set (err, code, "port %s is busy%s: stop that program or listen on another port", port,
                          who.p ? who.p : "");
    }
    *ret_fd = fd;
    return 0;
}

static int real_port (int fd)
{
    struct sockaddr_storage a = { 0 };
    socklen_t n = sizeof (a);

    getsockname (fd, (struct sockaddr *)&a, &n);
    return ntohs (a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                         : ((struct sockaddr_in6 *)&a)->sin6_port);
}

int http_server_listen (struct http_server *s, const char *address, int listener, int *ret_port,
                        bool *ret_loopback, struct error *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
                    *found = NULL;
    char host[256], port[16];
    int fd = -1, rc;

    if (split (address, host, port, err) < 0)
        return -1;
    if (!strcmp (host, "localhost") || !*host || !strcmp (host, "*"))
        hints.ai_family = AF_INET;
    if ((rc = getaddrinfo (*host && strcmp (host, "*") ? host : NULL, port, &hints, &found)) != 0)
        return error_set (err, EINVAL, "listen address %s: %s", address, gai_strerror (rc));
    rc = open_socket (found, address, port, &fd, err);
    if (rc == 0) {
        *ret_loopback = is_loopback (found->ai_addr);
        *ret_port = real_port (fd);
        http_listener_add (s, fd, listener);
    }
    freeaddrinfo (found);
    return rc;
}
