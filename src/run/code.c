/* code.c - the stations that put the task's code in place: repository, uncommitted changes or the script's own text. */
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "run/patch.h"
#include "run/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool given (const char *s)
{
    return s && s[0];
}

static struct text diff_of (struct run *r)
{
    return text_of (run_field (r, "diff"));
}

struct git_rules run_git_rules (struct run *r)
{
    const struct conf_agent *c = &r->conf->agent;
    struct git_rules rules = { .login = { c->git_host, c->git_user, c->git_pass },
                               .host_match_prefix = c->git_host_match_prefix,
                               .force_ssh = c->force_git_ssh_protocol,
                               .ssh_port = (int)c->force_git_ssh_port,
                               .ssh_user = given (c->force_git_ssh_user) ? c->force_git_ssh_user : NULL,
                               .keep_ssh = !c->translate_ssh,
                               .https_scheme = c->translate_ssl_replacement_scheme };
    size_t n = json_count (c->git_extra_credentials), i = 0;
    struct git_login *extra = arena_array (r->arena, struct git_login, n + 1);
    struct json_iter it = json_iter (c->git_extra_credentials);
    while (json_next (&it) && i < n) {
        char *user = json_string (r->arena, json_get (it.value, "user")),
             *pass = json_string (r->arena, json_get (it.value, "pass"));
        extra[i++] =
            (struct git_login){ json_string (r->arena, json_get (it.value, "host")),
                                user ? user : json_string (r->arena, json_get (it.value, "username")),
                                pass ? pass : json_string (r->arena, json_get (it.value, "password")) };
    }
    rules.extra = extra, rules.extra_n = i;
    return rules;
}

static int check_out_from (struct run *r, const struct git_rules *rules, const struct git_url *url,
                           struct error *err)
{
    const char *root =
        given (r->conf->agent.vcs_cache) ? r->conf->agent.vcs_cache : path_join (r->arena, r->cache, "vcs");
    struct repo_wish wish = { url, run_field (r, "version_num"), run_field (r, "tag"),
                              run_field (r, "branch"), json_string (r->arena, json_get (r->doc, "user")) };
    git_destroy (r->git);
    r->git = NULL;
    if (git_create (rules, GIT_BASIC, url, &r->say, &r->git, err) < 0)
        return -1;
    return repo_checkout (r->arena, r->git, root, &wish, &r->say, &r->checkout, err);
}

static int check_out (struct run *r, const char *repository, struct error *err)
{
    struct git_rules rules = run_git_rules (r);
    struct git_url *asked = arena_new (r->arena, struct git_url), *url = arena_new (r->arena, struct git_url);
    if (git_url_parse (r->arena, repository, asked, err) < 0)
        return error_wrap (err, "script");
    *url = git_url_choose (r->arena, &rules, asked);
    if (strcmp (url->scheme, asked->scheme))
        run_notice (r, "INFO", "repository: %s is cloned as %s", git_url_shown (r->arena, asked),
                    git_url_shown (r->arena, url));
    int64_t start = clock_monotonic ();
    if (check_out_from (r, &rules, url, err) < 0) {
        struct error second;
        if (err->code == ECANCELED || strcmp (url->scheme, "ssh") || url->user)
            return -1;
        /* SDKs record ssh remotes without their user: we are nobody there, and git hosts know one user */
        run_notice (r, "INFO", "repository: %s: trying as user git", err->text);
        url->user = "git";
        if (check_out_from (r, &rules, url, &second) < 0)
            return -1;
    }
    r->code = r->checkout.folder;
    run_notice (r, "INFO", "repository: %s at %.12s in %lld ms", git_url_shown (r->arena, url),
                r->checkout.commit, (long long)(clock_monotonic () - start));
    return 0;
}

/* A task that named no commit learns which one it ran. */
static void write_commit_back (struct run *r)
{
    struct str s = { .arena = r->arena };
    if (given (run_field (r, "version_num")) || !r->ship || !r->rank0)
        return;
    str_puts (&s, "{\"force\":true,\"task\":");
    json_put_string (&s, r->task);
    str_puts (&s, ",\"script\":{\"version_num\":");
    json_put_string (&s, r->checkout.commit);
    str_puts (&s, "}}");
    ship_post (r->ship, "tasks.edit", str_text (&s), false);
}

int station_repository (struct run *r, struct error *err)
{
    const char *repository = run_field (r, "repository"), *forced = r->conf->agent.force_code_dir;
    if (given (forced)) {
        if (!folder_exists (forced))
            return error_set (err, 0, "agent.force_code_dir: there is no folder %s", forced);
        r->code = forced;
        return 0;
    }
    if (!given (repository)) {
        r->code = path_join (r->arena, r->folder, "code");
        return folder_make (r->code, 0700, err);
    }
    if (check_out (r, repository, err) < 0)
        return -1;
    write_commit_back (r);
    return 0;
}

/* [FOLDER:]SCRIPT of the configuration wins over the task's entry point. */
static void force_script (struct run *r, struct script_wish *w)
{
    const char *forced = r->conf->agent.force_exec_script, *colon = forced ? strchr (forced, ':') : NULL;
    if (!given (forced))
        return;
    if (colon)
        w->working_dir = arena_strndup (r->arena, forced, (size_t)(colon - forced));
    w->entry_point = colon ? colon + 1 : forced;
}

/* An SDK records a module with two spaces and then the words of its first call, as they were without their quotes, and
 * what argparse made of them as parameters (section Args). The parameters are what a clone changes: they alone count, as
 * they do for a script, whose words are not recorded. */
static const char *without_recorded_words (struct run *r, const char *entry)
{
    const char *module = entry && !strncmp (entry, "-m ", 3) ? entry + 3 : "";
    size_t n = strcspn (module, " ");
    if (!n || strncmp (module + n, "  ", 2) ||
        !json_count (json_get (json_get (r->doc, "hyperparams"), "Args")))
        return entry;
    run_notice (r, "INFO",
                "script.entry_point: the parameters of section Args replace the recorded words of '%s'",
                entry);
    return arena_strndup (r->arena, entry, (size_t)(module + n - entry));
}

int station_patch (struct run *r, struct error *err)
{
    struct text diff = diff_of (r);
    bool forced = given (r->conf->agent.force_code_dir), patch = diff.n && patch_is (diff);
    if (patch && !r->git && !forced)
        return error_set (err, 0, "script.diff: the task has changes to a repository, but no repository");
    if (patch && !forced && patch_apply (r->arena, r->git, r->code, diff, &r->say, err) < 0)
        return -1;
    struct script_wish w = { .binary = run_field (r, "binary"),
                             .entry_point = without_recorded_words (r, run_field (r, "entry_point")),
                             .working_dir = run_field (r, "working_dir"),
                             .folder = r->code };
    if (diff.n && !patch && !forced)
        w.literal = diff;
    force_script (r, &w);
    return script_prepare (r->arena, &w, run_variable, r, &r->say, &r->what, err);
}
