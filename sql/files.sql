-- name: file_find
SELECT blob, size, sha256, type, created, user FROM file WHERE company = ?1 AND path = ?2;

-- name: file_page
SELECT company, path, blob FROM file WHERE (company, path) > (?1, ?2) ORDER BY company, path LIMIT ?3;

-- name: file_put
INSERT INTO file (company, path, blob, size, sha256, type, created, user) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (company, path) DO UPDATE SET blob = ?3, size = ?4, sha256 = ?5, type = ?6, created = ?7, user = ?8;

-- name: file_remove
DELETE FROM file WHERE company = ?1 AND path = ?2;

-- name: file_blobs_between
SELECT blob FROM file WHERE company = ?1 AND path >= ?2 AND path < ?3;

-- name: file_remove_between
DELETE FROM file WHERE company = ?1 AND path >= ?2 AND path < ?3;

-- name: file_use_model
INSERT OR IGNORE INTO file_use (path, kind, owner) VALUES (file_path(?2), 'model', ?1);

-- The artifacts of ?2, an execution, become those of the task.
-- name: file_use_task
INSERT OR IGNORE INTO file_use (path, kind, owner)
SELECT file_path(json_extract(a.value, '$.uri')), 'task', ?1 FROM json_each(?2, '$.artifacts') a;

-- name: file_use_drop
DELETE FROM file_use WHERE kind = ?1 AND owner = ?2;

-- name: file_use_find
SELECT 1 FROM file_use WHERE path = ?1 LIMIT 1;

-- name: file_paths_between
SELECT path FROM file WHERE company = ?1 AND path >= ?2 AND path < ?3;
