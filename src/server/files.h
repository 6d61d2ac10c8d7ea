/* files.h - private to server/: the parts of the file front. */
#pragma once
#include "server/room.h"

/* An answer with the headers that every file answer carries (nosniff, sandbox). text lives in the request's arena. */
void files_answer (struct server *s, struct http_request *r, int status, const char *type, const char *text);
void upload_start (struct server *s, struct http_request *r, const struct identity *who,
                   const char *raw_path);
void download_start (struct server *s, struct http_request *r, const struct identity *who, struct text path);
