-- Statements of the store room itself.

-- name: setting_get
SELECT value FROM setting WHERE company = ?1 AND key = ?2;

-- name: setting_put
INSERT INTO setting (company, key, value) VALUES (?1, ?2, ?3)
ON CONFLICT (company, key) DO UPDATE SET value = excluded.value;

-- name: job_add
INSERT INTO job (company, kind, body, created, due) VALUES (?1, ?2, ?3, ?4, ?4);

-- name: job_next
SELECT id, company, kind, body, attempts FROM job WHERE due <= ?1 ORDER BY due, id LIMIT 1;

-- name: job_lease
UPDATE job SET due = ?2, attempts = attempts + 1 WHERE id = ?1;

-- name: job_remove
DELETE FROM job WHERE id = ?1;

-- name: job_problem
UPDATE job SET due = ?2, problem = ?3 WHERE id = ?1;
