/* up.h - `stoker up`. */
#pragma once

int up_main (int argc, char **argv);
