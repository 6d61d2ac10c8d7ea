/* git.h - the git program, called so that nothing in a repository can make it do more than we asked: hooks, file
 * system monitors and `ext::` remotes are off, it never prompts, and its own configuration for a remote is only what
 * we wrote. Credentials reach it through a helper that prints a memory file which only our children can open: they
 * are on no disk, in no argument list and in no variable. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "run/say.h"
#include "run/url.h"

struct git;

enum git_scheme { GIT_BASIC, GIT_BEARER, GIT_BASIC_HEADER }; /* helper; Entra token; Azure personal token */

/* Make ready for remote `u`: which credentials fit it (and its submodules) is worked out once; so
 * is which of ssh and https they are fetched by. `rules` may be NULL. A remote with an empty host: none, only what the
 * rules name. */
int git_create (const struct git_rules *rules, enum git_scheme scheme, const struct git_url *u,
                const struct say *say, struct git **ret, struct error *err) warn_unused;
void git_destroy (struct git *g);

/* Run `git <args>` (ends with NULL) in `cwd`. 0: exit code 0, standard output appended to out (NULL: dropped).
 * -1: it failed; err holds its own last words. */
int git_run (struct git *g, const char *cwd, struct str *out, struct error *err,
             const char *const *args) warn_unused;
int git_feed (struct git *g, const char *cwd, struct text input, struct error *err,
              const char *const *args) warn_unused;
#define git(g, cwd, out, err, ...) git_run (g, cwd, out, err, (const char *const[]){ __VA_ARGS__, NULL })

/* The environment under which other programs (uv, pip) call git as we would: same settings, same credentials. Valid
 * while `g` lives. `keep`: descriptors that the program must inherit. */
const char *const *git_environment (struct git *g, const int **keep, int *keep_n);
