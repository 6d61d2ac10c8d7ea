-- events.sql: streams (generations of a task's events), series of metric points, console chunks, and the rows of
-- plots, images and vectors.

-- name: stream_get
SELECT id, series, batches, points, lines, log_events, log_updated, log_chunks
FROM event_stream WHERE task = ?1 AND live = 1;

-- name: stream_insert
INSERT INTO event_stream (company, task) VALUES (?1, ?2);

-- name: stream_save
UPDATE event_stream SET series = ?2, batches = ?3, points = ?4, lines = ?5, log_events = ?6, log_updated = ?7,
    log_chunks = ?8
WHERE id = ?1;

-- name: stream_retire
UPDATE event_stream SET live = 0 WHERE task = ?1 AND live = 1;

-- name: stream_retired
SELECT id FROM event_stream WHERE live = 0 LIMIT 1;

-- name: stream_sweep_batches
DELETE FROM metric_batch WHERE id IN (SELECT id FROM metric_batch WHERE stream = ?1 LIMIT ?2);

-- name: stream_sweep_chunks
DELETE FROM metric_chunk WHERE id IN (
    SELECT c.id FROM series AS s JOIN metric_chunk AS c ON c.series = s.id WHERE s.stream = ?1 LIMIT ?2);

-- name: stream_sweep_series
DELETE FROM series WHERE id IN (SELECT id FROM series WHERE stream = ?1 LIMIT ?2);

-- name: stream_sweep_logs
DELETE FROM log_chunk WHERE id IN (SELECT id FROM log_chunk WHERE stream = ?1 LIMIT ?2);

-- name: stream_sweep_runs
DELETE FROM log_run WHERE id IN (SELECT id FROM log_run WHERE stream = ?1 LIMIT ?2);

-- name: stream_sweep_rows
DELETE FROM event_row WHERE id IN (SELECT id FROM event_row WHERE stream = ?1 LIMIT ?2);

-- name: stream_delete
DELETE FROM event_stream WHERE id = ?1;

-- name: stream_to_fold
SELECT id FROM event_stream WHERE batches >= 64 AND live = 1 LIMIT 1;

-- name: stream_to_join
SELECT id FROM event_stream WHERE log_chunks >= 64 AND live = 1 LIMIT 1;

-- name: metric_batch_insert
INSERT INTO metric_batch (stream, points, body) VALUES (?1, ?2, ?3);

-- name: metric_batch_list
SELECT id, points, body FROM metric_batch WHERE stream = ?1 ORDER BY id;

-- name: metric_batch_delete
DELETE FROM metric_batch WHERE stream = ?1 AND id <= ?2;

-- name: stream_folded
UPDATE event_stream SET batches = batches - ?2, points = points - ?3, fold_last = 0, fold_done = 0 WHERE id = ?1;

-- name: stream_folding
UPDATE event_stream SET fold_last = ?2, fold_done = ?3 WHERE id = ?1;

-- name: series_find
SELECT id, count, finite, last, last_iter, min, min_iter, max, max_iter, first, first_iter, mean, label
FROM series WHERE stream = ?1 AND key = ?2;

-- name: series_insert
INSERT INTO series (stream, key, metric, variant, hidden, label, updated, count, finite, last, last_iter, min,
    min_iter, max, max_iter, first, first_iter, mean)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18);

-- name: series_update
UPDATE series SET label = ?2, updated = ?3, count = ?4, finite = ?5, last = ?6, last_iter = ?7, min = ?8,
    min_iter = ?9, max = ?10, max_iter = ?11, first = ?12, first_iter = ?13, mean = ?14
WHERE id = ?1;

-- name: series_list
SELECT id, metric, variant, key, hidden, label, updated, count, finite, last, last_iter, min, min_iter, max,
    max_iter, first, first_iter, mean
FROM series WHERE stream = ?1 ORDER BY metric, variant;

-- name: metric_chunk_list
SELECT id, points, body FROM metric_chunk WHERE series = ?1 ORDER BY first_iter;

-- name: metric_chunk_touched
SELECT id, points, body FROM metric_chunk
WHERE series = ?1 AND ((first_iter <= ?3 AND last_iter >= ?2) OR (last_iter < ?2 AND points < 512
    AND first_iter = (SELECT max (first_iter) FROM metric_chunk WHERE series = ?1)))
ORDER BY first_iter;

-- name: metric_chunk_insert
INSERT INTO metric_chunk (series, first_iter, last_iter, points, body) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: metric_chunk_delete
DELETE FROM metric_chunk WHERE id = ?1;

-- name: stream_fold_state
SELECT fold_last, fold_done FROM event_stream WHERE id = ?1;

-- name: log_insert
INSERT INTO log_chunk (stream, first_line, lines, events, first_time, last_time, size, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: log_delete
DELETE FROM log_chunk WHERE id = ?1;

-- name: log_run_get
SELECT upto FROM log_run WHERE stream = ?1 AND run = ?2;

-- name: log_run_put
INSERT INTO log_run (stream, run, upto) VALUES (?1, ?2, ?3)
ON CONFLICT (stream, run) DO UPDATE SET upto = excluded.upto;

-- name: log_earlier
SELECT id, first_line, events, first_time, last_time, body FROM log_chunk INDEXED BY log_chunk_last
WHERE stream = ?1 AND first_time < ?2 ORDER BY last_time DESC;

-- name: log_later
SELECT id, first_line, events, first_time, last_time, body FROM log_chunk INDEXED BY log_chunk_first
WHERE stream = ?1 AND last_time > ?2 ORDER BY first_time;

-- name: log_from_line
SELECT id, first_line, events, first_time, last_time, body FROM log_chunk
WHERE stream = ?1 AND first_line >= coalesce ((SELECT max (first_line) FROM log_chunk
    WHERE stream = ?1 AND first_line <= ?2), 0)
ORDER BY first_line;

-- name: log_before_line
SELECT id, first_line, events, first_time, last_time, body FROM log_chunk
WHERE stream = ?1 AND first_line < ?2 ORDER BY first_line DESC;

-- name: log_to_join
SELECT c.id, c.first_line, c.lines, c.size, c.body FROM log_chunk AS c
WHERE c.stream = ?1 AND c.first_line >= (SELECT log_joined FROM event_stream WHERE id = ?1)
ORDER BY c.first_line;

-- name: log_joined
UPDATE event_stream SET log_joined = ?2, log_chunks = max (0, log_chunks - ?3) WHERE id = ?1;

-- name: log_removed
UPDATE event_stream SET log_events = log_events - ?2 WHERE id = ?1;

-- name: event_row_put
INSERT INTO event_row (stream, type, identity, metric, variant, iter, time, received, url, doc)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (stream, type, identity) DO UPDATE SET time = excluded.time, received = excluded.received,
    url = excluded.url, doc = excluded.doc;

-- name: event_row_names
SELECT metric, variant, max (iter), max (received), count (iter) FROM event_row
WHERE stream = ?1 AND type = ?2 GROUP BY metric, variant ORDER BY metric, variant;

-- name: event_row_last
SELECT doc FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4
ORDER BY iter DESC LIMIT ?5;

-- name: event_row_of
SELECT iter, time, url, doc FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4
    AND iter BETWEEN ?5 AND ?6
ORDER BY iter DESC, time DESC, id DESC;

-- name: event_row_iters_earlier
SELECT DISTINCT iter FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4 AND iter < ?5
ORDER BY iter DESC LIMIT ?6;

-- name: event_row_iters_later
SELECT DISTINCT iter FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4 AND iter > ?5
ORDER BY iter LIMIT ?6;

-- name: event_row_urls
SELECT iter, url FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4
    AND url IS NOT NULL AND iter IS NOT NULL
ORDER BY iter DESC;

-- name: event_row_list
SELECT type, iter, metric, variant, doc FROM event_row WHERE stream = ?1 ORDER BY id;

-- name: event_row_all_urls
SELECT type, url, doc FROM event_row WHERE stream = ?1 AND (type = 3 OR type = 4);

-- name: event_row_types
SELECT type, metric, max (received) FROM event_row WHERE stream = ?1 GROUP BY type, metric;

-- name: event_row_count
SELECT count (*) FROM event_row WHERE stream = ?1;

-- name: event_model_ready
SELECT ready FROM model WHERE id = ?1 AND company = ?2;

-- name: event_row_ascending
SELECT iter, doc FROM event_row WHERE stream = ?1 AND type = ?2 AND metric = ?3 AND variant = ?4 AND iter IS NOT NULL
ORDER BY iter;
