-- Statements of services/tasks.

-- name: task_facts
SELECT n, company, name, type, status, project, parent, user, queue, enqueue_status, last_worker, claim, created,
       started, completed, last_update, last_iteration, archived, instr(system_tags, '"development"') > 0
FROM task WHERE id = ?1 AND company IN ('', ?2);

-- name: task_known
SELECT 1 FROM task WHERE id = ?1 AND company = ?2;

-- name: task_name_of
SELECT name FROM task WHERE id = ?1 AND company IN ('', ?2);

-- name: task_add
INSERT INTO task (id, company, user, name, type, status, comment, created, parent, project, queue, tags, system_tags,
                  hidden, archived, last_update, last_change, last_changed_by)
VALUES (?1, ?2, ?3, ?4, ?5, 'created', ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?7, ?7, ?15);

-- name: task_doc_add
INSERT INTO task_doc (task, script, execution, hyperparams, configuration, models, output, container, runtime)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: task_doc_get
SELECT script, execution, hyperparams, configuration, models, output, container, runtime, report, report_assets
FROM task_doc WHERE task = ?1;

-- name: task_doc_set
UPDATE task_doc SET script = CASE WHEN ?9 THEN NULL ELSE ifnull(?2, script) END,
       execution = ifnull(?3, execution), hyperparams = ifnull(?4, hyperparams),
       configuration = ifnull(?5, configuration), models = ifnull(?6, models), output = ifnull(?7, output),
       container = ifnull(?8, container), runtime = ifnull(?10, runtime)
WHERE task = ?1;

-- name: task_params_drop
DELETE FROM task_param WHERE task = ?1;

-- name: task_param_add
INSERT INTO task_param (task, section, name, value, key) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (task, section, name) DO UPDATE SET value = excluded.value, key = excluded.key;

-- name: task_models_drop
DELETE FROM task_model WHERE task = ?1;

-- name: task_model_add
INSERT OR IGNORE INTO task_model (task, kind, model) VALUES (?1, ?2, ?3);

-- name: task_set_status
UPDATE task SET status = ?2, status_reason = ?3, status_message = ?4, status_changed = ?5, last_update = ?5,
       last_change = ?5, last_changed_by = ?6 WHERE n = ?1;

-- name: task_set_message
UPDATE task SET status_reason = ?2, status_message = ?3, status_changed = ?4, last_update = ?4, last_change = ?4,
       last_changed_by = ?5 WHERE n = ?1;

-- name: task_stamp_started
UPDATE task SET started = ?2, completed = NULL, active_duration = NULL WHERE n = ?1;

-- name: task_lower_started
UPDATE task SET started = min(started, ?2) WHERE n = ?1;

-- name: task_stamp_completed
UPDATE task SET completed = ?2 WHERE n = ?1;

-- name: task_stamp_published
UPDATE task SET published = ?2 WHERE n = ?1;

-- name: task_set_queue
UPDATE task SET queue = ?2, enqueue_status = ?3, enqueued = ifnull(?4, enqueued), claim = NULL WHERE n = ?1;

-- name: task_set_queue_of
UPDATE task SET queue = ?3 WHERE id = ?1 AND company = ?2;

-- name: task_set_enqueue_status
UPDATE task SET enqueue_status = ?2 WHERE n = ?1;

-- name: task_set_system_tags
UPDATE task SET system_tags = ?2, hidden = ?3, archived = ?4 WHERE n = ?1;

-- name: task_set_tags
UPDATE task SET tags = ?2 WHERE n = ?1;

-- name: task_tags
SELECT tags, system_tags FROM task WHERE n = ?1;

-- name: task_change
UPDATE task SET last_change = ?2, last_changed_by = ?3 WHERE n = ?1;

-- name: task_change_update
UPDATE task SET last_change = ?2, last_changed_by = ?3, last_update = ?2 WHERE n = ?1;

-- name: task_edit
UPDATE task SET name = ifnull(?2, name), type = ifnull(?3, type), status = ifnull(?4, status),
       comment = ifnull(?5, comment), parent = ifnull(?6, parent), project = ifnull(?7, project),
       queue = ifnull(?8, queue) WHERE n = ?1;

-- name: task_set_created
UPDATE task SET created = ?2 WHERE n = ?1;

-- name: task_set_status_message
UPDATE task SET status_message = ?2 WHERE n = ?1;

-- name: task_set_project
UPDATE task SET project = ?2 WHERE n = ?1;

-- A sign of life revives a run that was taken for dead (tasks_silent, tasks_lost); a message that asks it to stop is still
-- there then.
-- name: task_revive
UPDATE task SET status = 'in_progress', status_changed = ?3, status_reason = '',
       status_message = CASE WHEN status_message = status_reason THEN '' ELSE status_message END
WHERE id = ?1 AND company = ?2 AND status IN ('stopped', 'failed')
AND status_reason IN ('Forced stop (non-responsive)', 'Forced stop (worker lost)');

-- name: task_ping
UPDATE task SET last_update = ?3, last_change = ?3, last_changed_by = ?4,
       active_duration = CASE WHEN status = 'in_progress' AND started IS NOT NULL THEN (?3 - started) / 1000
                              ELSE active_duration END
WHERE id = ?1 AND company = ?2;

-- name: task_touch_events
UPDATE task SET last_update = ?2, last_change = ?2, last_iteration = max(last_iteration, ?3),
       active_duration = CASE WHEN status = 'in_progress' AND started IS NOT NULL THEN (?2 - started) / 1000
                              ELSE active_duration END
WHERE n = ?1;

-- name: task_touch_worker
UPDATE task SET last_worker = ?2, last_worker_report = ?3, last_update = ?3, last_change = ?3, last_changed_by = ?4
WHERE n = ?1;

-- name: task_set_claim
UPDATE task SET claim = ?2, last_worker = ?3, last_worker_report = ?4, started = ?4, completed = NULL,
       active_duration = NULL, queue = ifnull(?5, queue) WHERE n = ?1;

-- name: task_by_claim
SELECT id FROM task WHERE claim = ?1 AND company = ?2;

-- name: task_reset_row
UPDATE task SET last_iteration = 0, last_worker = NULL, last_worker_report = NULL, started = NULL, completed = NULL,
       published = NULL, active_duration = NULL, enqueue_status = NULL, enqueued = NULL, queue = NULL, claim = NULL
WHERE n = ?1;

-- name: task_drop
DELETE FROM task WHERE n = ?1;

-- name: task_doc_drop
DELETE FROM task_doc WHERE task = ?1;

-- name: task_stages_drop
DELETE FROM task_stage WHERE task = ?1;

-- name: task_orphan_children
UPDATE task SET parent = '__DELETED__' || ?1 WHERE parent = ?1;

-- name: task_free_children
UPDATE task SET parent = NULL, last_change = ?2, last_changed_by = ?3 WHERE parent = ?1;

-- name: task_published_children
SELECT count(*) FROM task WHERE parent = ?1 AND status = 'published';

-- name: task_steps
SELECT id FROM task WHERE parent = ?1 AND company = ?2 ORDER BY n;

-- name: task_types
SELECT DISTINCT type FROM task WHERE company IN ('', ?1);

-- name: task_types_in
SELECT DISTINCT e.type FROM task e WHERE e.company IN ('', ?1)
AND e.project IN (SELECT t.project FROM project_tree t, json_each(?2) j WHERE t.ancestor = j.value);

-- name: task_model_users
SELECT count(*) FROM task_model m WHERE m.model = ?1 AND m.kind = 'input';

-- name: task_model_tasks
SELECT e.id FROM task_model m JOIN task e ON e.n = m.task WHERE m.model = ?1 GROUP BY e.n;

-- name: tasks_move_project
UPDATE task SET project = ?2 WHERE project = ?1;

-- name: tasks_silent
UPDATE task SET status = 'stopped', status_reason = 'Forced stop (non-responsive)',
       status_message = CASE WHEN status_message = 'stopping' THEN status_message
                             ELSE 'Forced stop (non-responsive)' END,
       status_changed = ?1, last_update = ?1, last_change = ?1, last_changed_by = '__apiserver__'
WHERE n IN (SELECT n FROM task WHERE status = 'in_progress' AND last_update < ?2 LIMIT ?3) RETURNING id;

-- Runs that an agent claimed: it tells that it lives every so often.
-- name: tasks_lost
UPDATE task SET status = CASE WHEN status_message = 'stopping' THEN 'stopped' ELSE 'failed' END,
       status_reason = 'Forced stop (worker lost)',
       status_message = CASE WHEN status_message = 'stopping' THEN status_message
                             ELSE 'Forced stop (worker lost)' END,
       status_changed = ?1, last_update = ?1, last_change = ?1, last_changed_by = '__apiserver__'
WHERE n IN (SELECT n FROM task WHERE status = 'in_progress' AND claim IS NOT NULL AND last_update < ?2 LIMIT ?3)
RETURNING id;

-- name: task_make_public
UPDATE task SET company_origin = company, company = '' WHERE id = ?1 AND company = ?2;

-- name: task_make_private
UPDATE task SET company = company_origin, company_origin = NULL WHERE id = ?1 AND company = '' AND company_origin = ?2;

-- name: task_stage_put
INSERT INTO task_stage (task, place, name, started, ended, ok, detail)
VALUES (?1, (SELECT ifnull(max(place), 0) + 1 FROM task_stage WHERE task = ?1), ?2, ?3, ?4, ?5, ?6);

-- name: task_stage_set
UPDATE task_stage SET started = ifnull(?3, started), ended = ifnull(?4, ended), ok = ifnull(?5, ok),
       detail = ifnull(?6, detail)
WHERE task = ?1 AND place = (SELECT max(place) FROM task_stage WHERE task = ?1 AND name = ?2);

-- name: task_stages
SELECT name, started, ended, ok, detail FROM task_stage WHERE task = ?1 ORDER BY place;

-- name: task_times
SELECT created, started, completed, published, status_changed, status, status_reason, status_message, enqueued,
       last_worker, queue, claim FROM task WHERE n = ?1;

-- name: task_comment
SELECT comment FROM task WHERE n = ?1;
