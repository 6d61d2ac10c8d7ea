/* background.h - what the server does by itself, on the writer thread between groups. */
#pragma once
struct server;
void background_add (struct server *s);
