-- Machine statistics and properties of workers; the registry itself is volatile.

-- name: worker_sample_put
INSERT OR REPLACE INTO worker_sample (company, worker, time, user, task, stats) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: worker_sample_span
SELECT worker, time, stats FROM worker_sample
WHERE company = ?1 AND time >= ?2 AND time < ?3
AND (?4 IS NULL OR worker IN (SELECT value FROM json_each (?4))) ORDER BY worker, time;

-- name: worker_sample_recent
SELECT stats FROM worker_sample
WHERE company = ?1 AND time >= ?2 AND (?3 IS NULL OR worker IN (SELECT value FROM json_each (?3)))
ORDER BY time DESC LIMIT ?4;

-- name: worker_sample_activity
SELECT time / ?4, count (DISTINCT worker) FROM worker_sample
WHERE company = ?1 AND time >= ?2 AND time < ?3 AND (?5 = 0 OR task IS NOT NULL) GROUP BY 1 ORDER BY 1;

-- name: worker_sample_old
DELETE FROM worker_sample WHERE (company, worker, time, user) IN
(SELECT company, worker, time, user FROM worker_sample WHERE company = ?1 AND time < ?2 LIMIT ?3);

-- name: worker_sample_companies
SELECT DISTINCT company FROM worker_sample;

-- name: worker_property_list
SELECT key, value, expires FROM worker_property WHERE company = ?1 AND worker = ?2 AND (expires IS NULL OR expires > ?3)
ORDER BY key;

-- name: worker_property_put
INSERT OR REPLACE INTO worker_property (company, worker, key, value, expires) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: worker_property_old
DELETE FROM worker_property WHERE expires <= ?1;
