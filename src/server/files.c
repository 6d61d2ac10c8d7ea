/* files.c - uploads and downloads. */
#include "server/room.h"

int files_open (struct server *s, struct error *err)
{
    (void)s;
    (void)err;
    return 0;
}

void files_start (struct server *s, struct http_request *r, struct text path)
{
    (void)s;
    (void)path;
    answer_text (r, 404, "text/plain; charset=utf-8", "There is no such file.\n");
}

void files_delete_later (struct server *s, const char *url)
{
    (void)s;
    (void)url;
}
