/* background.h - what the server does by itself, on the writer thread between groups. */
#pragma once
struct server;
void background_add (struct server *s);
/* What memory holds and the database should know, written before the store is closed. */
void background_finish (struct server *s);
