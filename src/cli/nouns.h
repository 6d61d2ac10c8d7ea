/* nouns.h - the lists behind `stoker queue`, `stoker worker` and `stoker project`. */
#pragma once

int queue_main (int argc, char **argv);
int worker_main (int argc, char **argv);
int project_main (int argc, char **argv);
