-- Statements of services/projects.

-- name: project_get
SELECT id, company, name, basename, parent, description FROM project WHERE id = ?1 AND company IN ('', ?2);

-- name: project_by_name
SELECT id, company FROM project WHERE company IN ('', ?1) AND name = ?2 ORDER BY company DESC LIMIT 1;

-- name: project_add
INSERT INTO project (id, company, user, name, basename, parent, description, created, last_update, tags, system_tags,
                     hidden, default_output_destination)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12);

-- name: project_tree_self
INSERT INTO project_tree (ancestor, project, depth) VALUES (?1, ?1, 0);

-- name: project_tree_under
INSERT INTO project_tree (ancestor, project, depth)
SELECT a.ancestor, s.project, a.depth + s.depth + 1
FROM project_tree a, project_tree s WHERE a.project = ?2 AND s.ancestor = ?1;

-- name: project_tree_cut
DELETE FROM project_tree WHERE project IN (SELECT project FROM project_tree WHERE ancestor = ?1)
AND ancestor IN (SELECT ancestor FROM project_tree WHERE project = ?1 AND depth > 0);

-- name: project_tree_forget
DELETE FROM project_tree WHERE project = ?1;

-- name: project_tree_height
SELECT max(depth) FROM project_tree WHERE ancestor = ?1;

-- name: project_tree_depth
SELECT max(depth) FROM project_tree WHERE project = ?1;

-- name: project_tree_holds
SELECT 1 FROM project_tree WHERE ancestor = ?1 AND project = ?2;

-- name: project_touch
UPDATE project SET last_update = ?2 WHERE id = ?1 AND last_update < ?2;

-- name: project_set
UPDATE project SET name = ?2, basename = ?3, description = ?4, tags = ?5, system_tags = ?6, hidden = ?7,
       default_output_destination = ?8, last_update = ?9 WHERE id = ?1;

-- name: project_read
SELECT name, basename, description, tags, system_tags, default_output_destination, parent FROM project
WHERE id = ?1 AND company = ?2;

-- name: project_rename_below
UPDATE project SET name = ?3 || substr(name, length(?2) + 1)
WHERE id IN (SELECT project FROM project_tree WHERE ancestor = ?1 AND depth > 0);

-- name: project_set_parent
UPDATE project SET parent = ?2, name = ?3, last_update = ?4 WHERE id = ?1;

-- name: project_below
SELECT p.id, p.name FROM project_tree t JOIN project p ON p.id = t.project
WHERE t.ancestor = ?1 AND t.depth > 0 AND (p.hidden = 0 OR ?2) ORDER BY p.name;

-- name: project_children
SELECT id, name, basename FROM project WHERE parent = ?1 ORDER BY n;

-- name: project_children_count
SELECT count(*) FROM project WHERE parent = ?1 AND (hidden = 0 OR ?2);

-- name: project_drop
DELETE FROM project WHERE id = ?1;

-- name: project_own_tasks
SELECT count(*) FROM task WHERE company = ?1 AND project = ?2 AND archived = 0;

-- name: project_own_models
SELECT count(*) FROM model WHERE company = ?1 AND project = ?2 AND archived = 0;

-- name: project_own_datasets
SELECT count(*) FROM project WHERE company IN ('', ?1) AND parent = ?2 AND instr(system_tags, '"dataset"') > 0;

-- name: project_datasets_below
SELECT p.tags FROM project_tree t JOIN project p ON p.id = t.project
WHERE t.ancestor = ?1 AND instr(p.system_tags, '"dataset"') > 0 AND p.basename <> '.datasets';

-- name: project_is_hidden
SELECT hidden FROM project WHERE company IN ('', ?1) AND id = ?2;

-- name: project_hyper_parameters
SELECT DISTINCT p.section, p.name FROM task e JOIN task_param p ON p.task = e.n
WHERE e.company IN ('', ?1)
AND (?2 IS NULL OR e.project IN (SELECT project FROM project_tree WHERE ancestor = ?2 AND depth <= ?3))
ORDER BY p.section, p.name LIMIT ?4 OFFSET ?5;

-- name: project_dataset_runtime
SELECT d.runtime FROM task e JOIN task_doc d ON d.task = e.n
WHERE e.company = ?1 AND e.project = ?2 AND e.archived = 0 AND d.runtime <> '{}' ORDER BY e.last_update DESC LIMIT 1;

-- name: project_tasks_counts
SELECT count(*), sum(archived = 0), sum(system_tags LIKE '%"reports"%'), sum(archived = 0 AND system_tags LIKE '%"reports"%')
FROM task WHERE company = ?1 AND project IN (SELECT project FROM project_tree WHERE ancestor = ?2);

-- name: project_models_counts
SELECT count(*), sum(archived = 0) FROM model
WHERE company = ?1 AND project IN (SELECT project FROM project_tree WHERE ancestor = ?2);

-- name: project_drop_tree
DELETE FROM project WHERE id IN (SELECT project FROM project_tree WHERE ancestor = ?1);

-- name: project_tree_drop
DELETE FROM project_tree WHERE project IN (SELECT project FROM project_tree WHERE ancestor = ?1);

-- name: project_tasks_of
SELECT id FROM task WHERE company = ?1 AND project IN (SELECT project FROM project_tree WHERE ancestor = ?2) ORDER BY n;

-- name: project_models_of
SELECT id FROM model WHERE company = ?1 AND project IN (SELECT project FROM project_tree WHERE ancestor = ?2) ORDER BY n;

-- name: project_tree_size
SELECT count(*) FROM project_tree WHERE ancestor = ?1;

-- name: project_pipelines_below
SELECT count(*) FROM project_tree t JOIN project p ON p.id = t.project
WHERE t.ancestor = ?2 AND instr(p.system_tags, '"pipeline"') > 0 AND p.basename <> '.pipelines'
AND EXISTS (SELECT 1 FROM task e WHERE e.company = ?1 AND e.project = p.id AND e.archived = 0 AND e.type = 'controller');

-- name: project_datasets_used
SELECT count(*) FROM project_tree t JOIN project p ON p.id = t.project
WHERE t.ancestor = ?2 AND instr(p.system_tags, '"dataset"') > 0 AND p.basename <> '.datasets'
AND EXISTS (SELECT 1 FROM task e WHERE e.company = ?1 AND e.project = p.id AND e.archived = 0);

-- name: project_free_tasks
UPDATE task SET project = NULL WHERE project IN (SELECT project FROM project_tree WHERE ancestor = ?1);

-- name: project_free_models
UPDATE model SET project = NULL WHERE project IN (SELECT project FROM project_tree WHERE ancestor = ?1);

-- name: project_merge_tasks
UPDATE task SET project = ?2 WHERE project = ?1 AND archived = 0;

-- name: project_merge_models
UPDATE model SET project = ?2 WHERE project = ?1 AND archived = 0;

-- name: project_make_public
UPDATE project SET company_origin = company, company = '' WHERE id = ?1 AND company = ?2;

-- name: project_make_private
UPDATE project SET company = company_origin, company_origin = NULL
WHERE id = ?1 AND company = '' AND company_origin = ?2;
