/* log.h - one line an event on standard error: time, level, room, words, then key=value pairs.
 * Levels are the only mutable global of the program beside the signal flag. Secrets never come here. */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level (enum log_level level);
enum log_level log_get_level (void);
void log_write (enum log_level level, const char *room, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

#define log_debug(room, ...) log_write (LOG_DEBUG, room, __VA_ARGS__)
#define log_info(room, ...)  log_write (LOG_INFO, room, __VA_ARGS__)
#define log_warn(room, ...)  log_write (LOG_WARN, room, __VA_ARGS__)
#define log_error(room, ...) log_write (LOG_ERROR, room, __VA_ARGS__)
