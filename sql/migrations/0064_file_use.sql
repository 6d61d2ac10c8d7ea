-- Who names a file: models (those they had before, too) and artifacts of tasks. A file goes with the last of them. path:
-- file_path (uri), what the file server makes of it; other uris are none's to delete and stand here not.
CREATE TABLE file_use (
    path TEXT NOT NULL,
    kind TEXT NOT NULL,     -- model, task
    owner INTEGER NOT NULL, -- model.n, task.n
    PRIMARY KEY (path, kind, owner)
) WITHOUT ROWID;
CREATE INDEX file_use_owner ON file_use (kind, owner);
INSERT OR IGNORE INTO file_use SELECT file_path(uri), 'model', n FROM model;
INSERT OR IGNORE INTO file_use SELECT file_path(uri), 'model', model FROM model_version;
INSERT OR IGNORE INTO file_use SELECT file_path(json_extract(a.value, '$.uri')), 'task', d.task
FROM task_doc d, json_each(d.execution, '$.artifacts') a;
