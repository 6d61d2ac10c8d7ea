-- Statements of services/models.

-- name: model_get
SELECT n, id, company, name, task, project, uri, ready, metadata, tags, system_tags FROM model
WHERE id = ?1 AND (company = ?2 OR (?3 AND company = ''));

-- name: model_add
INSERT INTO model (id, company, user, name, parent, project, task, created, comment, tags, system_tags, archived, uri,
                   framework, design, labels, ready, last_update, last_change, last_changed_by, metadata)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?8, ?8, ?18, ifnull(?19, '{}'));

-- name: model_edit
UPDATE model SET name = ifnull(?2, name), uri = ifnull(?3, uri), comment = ifnull(?4, comment),
       framework = ifnull(?5, framework), parent = ifnull(?6, parent), project = ifnull(?7, project),
       task = ifnull(?8, task), design = ifnull(?9, design), labels = ifnull(?10, labels),
       metadata = ifnull(?11, metadata), ui_cache = ifnull(?12, ui_cache), ready = ifnull(?13, ready)
WHERE n = ?1;

-- name: model_change
UPDATE model SET last_change = ?2, last_changed_by = ?3 WHERE n = ?1;

-- name: model_change_update
UPDATE model SET last_change = ?2, last_changed_by = ?3, last_update = ?2 WHERE n = ?1;

-- name: model_set_tags
UPDATE model SET tags = ?2, system_tags = ?3, archived = ?4 WHERE n = ?1;

-- name: model_set_metadata
UPDATE model SET metadata = ?2 WHERE n = ?1;

-- name: model_set_project
UPDATE model SET project = ?2 WHERE n = ?1;

-- name: model_set_task
UPDATE model SET task = ?2 WHERE id = ?1;

-- name: model_make_ready
UPDATE model SET ready = 1, last_update = ?3, last_change = ?3, last_changed_by = ?4
WHERE id = ?1 AND company = ?2 AND ready = 0;

-- name: model_drop
DELETE FROM model WHERE n = ?1;

-- name: model_of_task
SELECT m.id, m.uri, m.ready, m.n, EXISTS (SELECT 1 FROM task_model t JOIN task e ON e.n = t.task
       WHERE t.model = m.id AND t.kind = 'input' AND e.id <> ?1)
FROM model m WHERE m.task = ?1 ORDER BY m.n;

-- name: model_published_of_task
SELECT count(*) FROM model WHERE task = ?1 AND ready = 1;

-- name: model_touch_events
UPDATE model SET last_update = ?3, last_change = ?3, last_iteration = max(last_iteration, ?4)
WHERE id = ?1 AND company = ?2;

-- name: model_labels_count
SELECT count(*) FROM model m, json_each(m.labels) j WHERE m.id = ?1;

-- name: model_frameworks
SELECT DISTINCT framework FROM model e WHERE e.company IN ('', ?1) AND framework <> ''
AND (?2 IS NULL OR e.project IN (SELECT t.project FROM project_tree t, json_each(?2) j WHERE t.ancestor = j.value));

-- name: model_make_public
UPDATE model SET company_origin = company, company = '' WHERE id = ?1 AND company = ?2;

-- name: model_make_private
UPDATE model SET company = company_origin, company_origin = NULL
WHERE id = ?1 AND company = '' AND company_origin = ?2;

-- name: model_version_add
INSERT INTO model_version (model, uri, place, replaced, user)
VALUES (?1, ?2, (SELECT ifnull(max(place), 0) + 1 FROM model_version WHERE model = ?1), ?3, ?4)
ON CONFLICT (model, uri) DO UPDATE SET place = excluded.place, replaced = excluded.replaced, user = excluded.user;

-- name: model_version_take
DELETE FROM model_version WHERE model = ?1 AND uri = ?2;

-- name: model_versions
SELECT uri, replaced, user FROM model_version WHERE model = ?1 ORDER BY place DESC;

-- name: model_versions_drop
DELETE FROM model_version WHERE model = ?1;
