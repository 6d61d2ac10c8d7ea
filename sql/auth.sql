-- Users, keys, sessions.

-- name: auth_company_add
INSERT INTO company (id, name, created) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING;

-- name: auth_user_add
INSERT INTO user (company, id, name, role, created, created_in_version) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: auth_user_create
INSERT INTO user (company, id, name, role, email, given_name, family_name, avatar, created, created_in_version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: auth_company_known
SELECT 1 FROM company WHERE id = ?1;

-- name: auth_user_remove
DELETE FROM user WHERE company = ?1 AND id = ?2;

-- name: auth_keys_remove
DELETE FROM credential WHERE company = ?1 AND user = ?2;

-- name: auth_user_get
SELECT u.id, u.name, u.given_name, u.family_name, u.avatar, u.role, u.created, u.created_in_version, c.name,
  u.preferences
FROM user u JOIN company c ON c.id = u.company WHERE u.company = ?1 AND u.id = ?2;

-- name: auth_user_set_role
UPDATE user SET role = ?3 WHERE company = ?1 AND id = ?2;

-- name: auth_user_update
UPDATE user SET name = coalesce (?3, name), given_name = coalesce (?4, given_name),
  family_name = coalesce (?5, family_name), avatar = coalesce (?6, avatar)
WHERE company = ?1 AND id = ?2;

-- name: auth_user_set_preferences
UPDATE user SET preferences = ?3 WHERE company = ?1 AND id = ?2;

-- name: auth_first_admin
SELECT id FROM user WHERE company = ?1 AND role IN ('admin', 'root', 'system') ORDER BY n LIMIT 1;

-- name: auth_keys
SELECT k.access_key, k.secret, k.company, c.name, k.user, u.name, u.role
FROM credential k JOIN user u ON u.company = k.company AND u.id = k.user JOIN company c ON c.id = k.company;

-- name: auth_key_add
INSERT INTO credential (company, user, access_key, secret, label, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: auth_key_put
INSERT INTO credential (company, user, access_key, secret, label, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (access_key) DO UPDATE SET company = excluded.company, user = excluded.user, secret = excluded.secret;

-- name: auth_keys_of_user
SELECT access_key, label, last_used, last_used_from FROM credential WHERE company = ?1 AND user = ?2 ORDER BY n;

-- name: auth_key_remove
DELETE FROM credential WHERE company = ?1 AND user = ?2 AND access_key = ?3;

-- name: auth_key_set_label
UPDATE credential SET label = ?4 WHERE company = ?1 AND user = ?2 AND access_key = ?3;

-- name: auth_key_used
UPDATE credential SET last_used = ?2, last_used_from = ?3 WHERE access_key = ?1;

-- name: auth_session_revoke
INSERT INTO revoked_session (company, session, until) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: auth_sessions_revoked
SELECT session, until FROM revoked_session;

-- name: auth_sessions_forget
DELETE FROM revoked_session WHERE until < ?1;

-- name: auth_users
SELECT id, name, avatar FROM user WHERE company = ?1 ORDER BY name, n;
