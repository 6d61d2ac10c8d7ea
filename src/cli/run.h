/* run.h - `stoker run`. */
#pragma once

int run_main (int argc, char **argv);
