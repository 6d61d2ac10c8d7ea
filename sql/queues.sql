-- Queues and their entries. queue.length and queue.added_sum follow the entries in every statement pair of rules.c.

-- name: queue_by_id
SELECT seq, id, name, display_name, length, added_sum FROM queue WHERE company = ?1 AND id = ?2;

-- name: queue_by_name
SELECT seq, id, name, display_name, length, added_sum FROM queue WHERE company = ?1 AND name = ?2;

-- name: queue_defaults
SELECT seq, id, name, display_name, length, added_sum FROM queue
WHERE company = ?1 AND EXISTS (SELECT 1 FROM json_each (system_tags) WHERE value = 'default') ORDER BY seq LIMIT 2;

-- name: queue_create
INSERT INTO queue (company, id, name, display_name, created, last_update, tags, system_tags, metadata)
VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8);

-- name: queue_create_first
INSERT INTO queue (company, id, name, created, last_update, tags, system_tags, metadata)
SELECT ?1, ?2, 'default', ?3, ?3, '[]', '["default"]', '{}' WHERE NOT EXISTS (SELECT 1 FROM queue WHERE company = ?1);

-- name: queue_update
UPDATE queue SET name = COALESCE (?2, name), display_name = CASE WHEN ?3 THEN ?4 ELSE display_name END,
tags = COALESCE (?5, tags), system_tags = COALESCE (?6, system_tags), metadata = COALESCE (?7, metadata)
WHERE seq = ?1;

-- name: queue_delete
DELETE FROM queue WHERE seq = ?1;

-- name: queue_resources
UPDATE queue SET resources = ?3 WHERE company = ?1 AND id = ?2;

-- name: queue_metadata_get
SELECT metadata FROM queue WHERE seq = ?1;

-- name: queue_grow
UPDATE queue SET length = length + ?2, added_sum = added_sum + ?3, last_update = ?4 WHERE seq = ?1;

-- name: queue_empty
UPDATE queue SET length = 0, added_sum = 0, last_update = ?2 WHERE seq = ?1;

-- name: queue_waiting
SELECT company, id FROM queue WHERE length > 0;

-- name: queue_entry_append
INSERT INTO queue_entry (queue, place, task, added)
VALUES (?1, COALESCE ((SELECT max (place) FROM queue_entry WHERE queue = ?1), 0) + 1048576, ?2, ?3);

-- name: queue_entry_prepend
INSERT OR IGNORE INTO queue_entry (queue, place, task, added)
VALUES (?1, COALESCE ((SELECT min (place) FROM queue_entry WHERE queue = ?1), 0) - 1048576, ?2, ?3);

-- name: queue_entry_put
INSERT INTO queue_entry (queue, place, task, added) VALUES (?1, ?2, ?3, ?4);

-- name: queue_entry_first
SELECT place, task, added FROM queue_entry WHERE queue = ?1 ORDER BY place LIMIT 1;

-- name: queue_entry_find
SELECT place, added FROM queue_entry WHERE task = ?2 AND queue = ?1;

-- name: queue_entry_list
SELECT task, added FROM queue_entry WHERE queue = ?1 ORDER BY place LIMIT ?2;

-- name: queue_entry_before
SELECT count(*) FROM queue_entry WHERE queue = ?1 AND place < ?2;

-- name: queue_entry_at
SELECT place FROM queue_entry WHERE queue = ?1 AND task <> ?2 ORDER BY place LIMIT 2 OFFSET ?3;

-- name: queue_entry_remove
DELETE FROM queue_entry WHERE queue = ?1 AND place = ?2;

-- name: queue_entry_move
UPDATE queue_entry SET place = ?3 WHERE queue = ?1 AND place = ?2;

-- name: queue_entry_clear
DELETE FROM queue_entry WHERE queue = ?1;

-- name: queue_entries_of_task
SELECT e.queue, e.place, e.added, q.id FROM queue_entry e JOIN queue q ON q.seq = e.queue
WHERE e.task = ?2 AND q.company = ?1;

-- name: queue_flight_put
INSERT OR REPLACE INTO queue_flight (company, task, queue, added, until) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: queue_flight_remove
DELETE FROM queue_flight WHERE company = ?1 AND task = ?2;

-- name: queue_flight_clear
DELETE FROM queue_flight WHERE queue = ?1;

-- name: queue_flight_late
SELECT f.company, f.task, f.queue, f.added, q.id FROM queue_flight f LEFT JOIN queue q ON q.seq = f.queue
WHERE f.until <= ?1 ORDER BY f.until DESC LIMIT ?2;

-- name: queue_sample_put
INSERT INTO queue_sample (queue, second, time, wait, length) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (queue, second) DO UPDATE SET time = excluded.time, wait = excluded.wait, length = excluded.length
WHERE excluded.wait > wait OR (excluded.wait = wait AND excluded.length > length);

-- name: queue_sample_clear
DELETE FROM queue_sample WHERE queue = ?1;

-- name: queue_sample_old
DELETE FROM queue_sample WHERE (queue, second) IN (SELECT queue, second FROM queue_sample WHERE second < ?1 LIMIT ?2);

-- name: queue_sample_last
SELECT q.seq, q.length, q.added_sum FROM queue q
WHERE COALESCE ((SELECT max (second) FROM queue_sample s WHERE s.queue = q.seq), 0) < ?1;

-- name: queue_sample_list
SELECT second, time, wait, length FROM queue_sample WHERE queue = ?1 AND second >= ?2 AND second <= ?3 ORDER BY second;
