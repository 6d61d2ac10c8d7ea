/* verbs.h - the verbs of main.c's table that have no header of their own. */
#pragma once

int execute_main (int argc, char **argv);
int server_main (int argc, char **argv);
