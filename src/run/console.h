/* console.h - what a program writes, as a terminal would show it: bytes in, finished lines out.
 *
 * A line ends at '\n' and at nothing else: pieces that arrive apart are one line. '\r', backspace and "erase in line"
 * act on the line as on a screen, so a progress bar is one line with its last state; a bar that is drawn for longer
 * than the refresh time gives its state once per refresh. Colours (SGR sequences) are kept, every other escape
 * sequence and control byte is dropped, bytes that are no UTF-8 become U+FFFD. A line over the maximum is cut there
 * and goes on as the next.
 */
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct console;

enum { CONSOLE_LINE_MAX = 32 * 1024 };

/* emit is called with each finished line (UTF-8, without the newline; borrowed). `refresh_ms`: see above, 0 = never. */
struct console *console_create (int64_t refresh_ms, void (*emit) (void *arg, struct text line, int64_t now),
                                void *arg);
void console_destroy (struct console *c);

void console_feed (struct console *c, const char *p, size_t n,
                   int64_t now);                      /* now: ms, any clock that goes on */
void console_finish (struct console *c, int64_t now); /* end of output: what stands there is the last line */
