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
