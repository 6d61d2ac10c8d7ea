/* dispatch.c - one API call, in a straight line:
 *
 *   loop    api_start: read the body
 *   pool    api_first: path, row, session, role, body -> typed request, prepare
 *   pool    read calls run here with a read connection; write calls on the writer thread (store_submit)
 *           after the commit: effects; a call that wants to wait is parked (wait.c) and runs again
 *   pool    api_finish: reply -> bytes, compressed; back to the loop
 *
 * A brief call, a write with a small body, leaves out the pool: to read it and to write its answer takes less time than
 * to wake another thread twice. It goes loop, writer, loop.
 *
 * A handler may run more than once (its group was rolled back, its bell rang): each run has an arena of its own and
 * begins with a zeroed reply.
 */
#include "base/clock.h"
#include "base/log.h"
#include "server/room.h"
#include "services/auth/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BRIEF_BODY = 4096, BRIEF_ANSWER = 16384 };

struct api {
    struct server *server;
    struct http_request *http;
    struct pool_job job;
    struct store_write write;
    struct text path_text;
    struct wire_path path;
    const struct wire_call *row;
    struct call call;
    struct arena *run_arena; /* of the last run */
    void *in, *out;
    struct error err;
    int rc;
    struct http_answer answer;
    struct id id;
    bool brief;
    const char *trx;
    uint64_t seq;      /* of the last ring before the last run */
    const char *woken; /* the topics whose ring let it run again */
};

#define JOB_API(job_) ((struct api *)((char *)(job_)-offsetof (struct api, job)))
#define WRITE_API(w)  ((struct api *)((char *)(w)-offsetof (struct api, write)))

static void api_run (struct api *a);

static void pool_do (struct api *a, void (*step) (struct pool_job *job))
{
    a->job.run = step;
    pool_submit (a->server->pool, &a->job);
}

/* -- the answer */
static int wire_code (struct error *err)
{
    if (err->code >= 10000)
        return err->code;
    if (err->code == ENOSPC || err->code == EDQUOT) {
        error_set (err, ENOSPC,
                   "the disk of the server is full: nothing was stored; free space in the data folder");
        return ERR_DISK_FULL;
    }
    if (err->code == ENOMEM || !*err->text)
        error_set (err, ENOMEM, "the server ran out of memory on this call");
    return ERR_INTERNAL;
}

static void free_later (struct http_request *r, struct str *s)
{
    if (s->p)
        arena_defer (r->arena, free, s->p);
}

static void add_envelope (struct api *a, struct str *s)
{
    cleanup_str struct str data = { 0 };
    struct wire_meta meta = {
        .id = a->id.hex,
        .trx = a->trx ? a->trx : a->id.hex,
        .name = a->path.name,
        .requested = a->path.version_text,
        .requested_version = a->path.version,
        .call = a->row,
        .code = a->rc < 0 ? wire_code (&a->err) : 0,
        .message = a->rc < 0 ? a->err.text : "OK",
    };

    if (a->rc == 0 && a->row && a->out)
        wire_encode (&data, a->row->out, a->out, a->call.version);
    wire_envelope (s, &meta, data.n ? str_text (&data) : TEXT ("{}"));
}

static void add_cookie (struct api *a, struct http_answer *answer)
{
    const char *token = a->call.set_cookie, *format;

    if (!token && a->rc == 0 && a->call.who.cookie)
        token = auth_cookie_renew (a->http->arena, &a->server->facts, &a->call.who, clock_now ());
    if (!token || a->rc < 0)
        return;
    format =
        *token
            ? "clearml_token_basic=%s; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict%s"
            : "clearml_token_basic=%s; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; "
              "SameSite=Strict%s";
    http_answer_header (
        a->http, answer, "Set-Cookie",
        arena_printf (a->http->arena, format, token,
                      text_is (http_header (a->http, "x-forwarded-proto"), "https") ? "; Secure" : ""));
}

static void add_filename (struct api *a, struct http_answer *answer)
{
    struct str plain = { .arena = a->http->arena }, coded = { .arena = a->http->arena };

    for (const unsigned char *p = (const unsigned char *)a->call.raw_filename; *p; p++) {
        str_putc (&plain, *p < 0x20 || *p >= 0x7f || *p == '"' || *p == '\\' ? '_' : (char)*p);
        if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')
            str_putc (&coded, (char)*p);
        else if (*p && strchr ("0123456789-._", *p))
            str_putc (&coded, (char)*p);
        else
            str_addf (&coded, "%%%02X", *p);
    }
    http_answer_header (a->http, answer, "Content-Disposition",
                        arena_printf (a->http->arena, "attachment; filename=\"%s\"; filename*=UTF-8''%s",
                                      plain.p ? plain.p : "", coded.p ? coded.p : ""));
}

static void log_call (struct api *a, int code)
{
    int64_t us = clock_now_us () - a->http->started_us;
    enum log_level level = WIRE_STATUS (code) >= 500 && code ? LOG_WARN : LOG_DEBUG;

    if (log_get_level () > level)
        return;
    log_write (level, "api", "request=%s call=%.*s version=%.*s user=%s code=%d/%d ms=%lld.%03lld%s%s",
               a->id.hex, (int)a->path.name.n, a->path.name.p, (int)a->path.version_text.n,
               a->path.version_text.p, a->call.who.user ? a->call.who.user : "-",
               code ? WIRE_STATUS (code) : 200, code ? WIRE_SUBCODE (code) : 0, (long long)(us / 1000),
               (long long)(us % 1000), level == LOG_WARN ? " words=" : "",
               level == LOG_WARN ? a->err.text : "");
}

static void api_encode (struct api *a)
{
    struct http_answer *answer = &a->answer;
    struct str body = { 0 };

    *answer = (struct http_answer){ .status = a->rc < 0 ? WIRE_STATUS (wire_code (&a->err)) : 200,
                                    .type = "application/json" };
    if (a->rc == 0 && a->call.raw_reply.p) {
        answer->type = a->call.raw_type ? a->call.raw_type : "text/plain";
        answer->body = a->call.raw_reply;
        http_answer_header (a->http, answer, "Cache-Control", "no-store, max-age=0");
        if (a->call.raw_filename)
            add_filename (a, answer);
    } else {
        add_envelope (a, &body);
        free_later (a->http, &body);
        answer->body = str_text (&body);
        http_answer_header (a->http, answer, "Cache-Control", "no-store");
    }
    add_cookie (a, answer);
    front_cors (a->server, a->http, answer);
}

/* The request is gone afterwards. */
static void api_send (struct api *a)
{
    http_answer_gzip (a->http, &a->answer);
    log_call (a, a->rc < 0 ? wire_code (&a->err) : 0);
    http_respond (a->http, &a->answer);
}

static void api_finish (struct api *a)
{
    api_encode (a);
    api_send (a);
}

static void finish_job (struct pool_job *job)
{
    api_finish (JOB_API (job));
}

static void send_job (struct pool_job *job)
{
    api_send (JOB_API (job));
}

/* On the loop, which must not stand still while much is compressed. */
static void finish_brief (void *arg)
{
    struct api *a = arg;

    api_encode (a);
    if (a->answer.body.n > BRIEF_ANSWER)
        pool_do (a, send_job);
    else
        api_send (a);
}

static void api_fail (struct api *a)
{
    a->rc = -1;
    api_finish (a);
}

/* -- running */
static int run_handler (struct api *a, struct db *db, struct error *err)
{
    struct call *c = &a->call;

    arena_destroy (a->run_arena);
    a->run_arena = arena_create ();
    c->arena = a->run_arena;
    c->db = db;
    c->effects = NULL;
    c->wait_topic = NULL;
    c->set_cookie = NULL; /* wait_until stays: who is woken in vain waits on until the same time */
    c->raw_reply = (struct text){ 0 };
    c->raw_type = c->raw_filename = NULL;
    c->now_us = clock_now_us ();
    c->now = c->now_us / 1000;
    if (a->row->out)
        memset (a->out, 0, a->row->out->size);
    return a->row->run (c, a->in, a->out, err);
}

static int run_read (struct db *db, void *arg, struct error *err)
{
    return run_handler (arg, db, err);
}

static int run_write (struct store_write *w, struct db *db, struct error *err)
{
    return run_handler (WRITE_API (w), db, err);
}

static void api_again (struct pool_job *job)
{
    api_run (JOB_API (job));
}

static void on_resume (void *arg, bool last, bool gone)
{
    struct api *a = arg;

    if (gone) { /* nobody reads the answer, and nothing may be taken in its name */
        http_respond (a->http, &(struct http_answer){ .status = 408 });
        return;
    }
    a->call.last_try = last;
    a->woken = last ? NULL : arena_strdup (a->http->arena, a->call.wait_topic);
    if (a->brief)
        api_run (a);
    else
        pool_do (a, api_again);
}

/* After a run; on the pool, or on the writer thread after the commit. */
static void api_ran (struct api *a, bool on_pool)
{
    if (a->rc == 0) {
        effects_run (a->server, a->call.effects);
        if (a->call.wait_topic && !a->call.last_try) {
            wait_park (a->server->waits, a->http, a->call.wait_topic, a->seq, a->call.wait_until, on_resume,
                       a);
            return;
        }
    }
    if (a->rc < 0 && a->woken) /* it could not take what it was woken for: the next in line may */
        wait_pass_on (a->server, a->woken);
    if (on_pool)
        api_finish (a);
    else if (a->brief)
        loop_post (a->server->loop, finish_brief, a);
    else
        pool_do (a, finish_job);
}

static void on_written (struct store_write *w, int rc, const struct error *err)
{
    struct api *a = WRITE_API (w);

    a->rc = rc;
    if (rc < 0)
        a->err = *err;
    api_ran (a, false);
}

static void api_run (struct api *a)
{
    a->seq = topic_seq (a->server->topics);
    if (a->row->mode == WIRE_WRITE) {
        a->write = (struct store_write){
            .run = run_write, .done = on_written, .weight = a->call.body.n, .control = a->row->control
        };
        store_submit (a->server->store, &a->write);
        return;
    }
    a->err = (struct error){ 0 };
    a->rc = store_read (a->server->store, run_read, a, &a->err);
    api_ran (a, true);
}

/* -- from bytes to a typed request */
static int take_path (struct api *a, struct error *err)
{
    if (a->row)
        return 0;
    if (wire_path_parse (a->path_text, &a->path, err) < 0) {
        a->path = (struct wire_path){ .name = TEXT (""), .version_text = TEXT ("1.0"), .version = 1000 };
        return -1;
    }
    if (!(a->row = wire_find (a->path.name, a->path.version)))
        return error_set (err, ERR_NO_SUCH_CALL, "there is no call %.*s in version %.*s", (int)a->path.name.n,
                          a->path.name.p, (int)a->path.version_text.n, a->path.version_text.p);
    a->call.version = a->path.version;
    return 0;
}

static int run_impersonation (struct db *db, void *arg, struct error *err)
{
    struct api *a = arg;
    const char *as = session_header (a->http, "impersonate-as"), *act = session_header (a->http, "act-as");

    return auth_impersonate (db, a->http->arena, as ? as : act, !as, &a->call.who, err);
}

/* An administrator may call in the name of another user; what that user may do is asked again. */
static int take_impersonation (struct api *a, struct error *err)
{
    bool as = session_header (a->http, "impersonate-as"), act = session_header (a->http, "act-as");

    if (!as && !act)
        return 0;
    if (as && act)
        return error_set (err, ERR_INVALID_HEADERS, "give Impersonate-As or Act-As, not both");
    if (store_read (a->server->store, run_impersonation, a, err) < 0)
        return -1;
    return auth_allow (a->row, &a->call.who, err);
}

static int take_session (struct api *a, struct error *err)
{
    struct error ignored;

    if (a->row->access == WIRE_PUBLIC)
        return 0;
    if (session_check (a->server, a->http, a->http->arena, false, &a->call.who,
                       a->row->access == WIRE_MAYBE ? &ignored : err) < 0) {
        a->call.who = (struct identity){ 0 };
        return a->row->access == WIRE_MAYBE ? 0 : -1;
    }
    if (auth_allow (a->row, &a->call.who, err) < 0)
        return -1;
    return take_impersonation (a, err);
}

static bool type_is (struct text header, const char *type)
{
    size_t n = strlen (type);

    return header.n >= n && !strncasecmp (header.p, type, n) &&
           (header.n == n || header.p[n] == ';' || header.p[n] == ' ');
}

static bool blank (struct text t)
{
    for (size_t i = 0; i < t.n; i++)
        if (!strchr (" \t\r\n", t.p[i]))
            return false;
    return true;
}

/* The body as one JSON object: what was sent, with the query (and form fields) merged over it. */
static int take_object (struct api *a, struct error *err)
{
    struct http_request *r = a->http;
    struct text json = r->body, query = r->query;

    if (type_is (http_header (r, "content-type"), "application/x-www-form-urlencoded") && json.n &&
        *json.p != '{') {
        struct text form = json;

        json = (struct text){ 0 };
        if (wire_merge_query (r->arena, TEXT ("{}"), form, &json, err) < 0)
            return -1;
    }
    if (blank (json)) {
        json = TEXT ("{}");
    } else if (json_check (json, &json, err) < 0) {
        error_wrap (err, "the body is not JSON");
        err->code = ERR_MALFORMED;
        return -1;
    }
    if (json_kind (json) == JSON_NULL)
        json = TEXT ("{}");
    if (json_kind (json) != JSON_OBJECT)
        return error_set (err, ERR_MALFORMED, "the body must be a JSON object");
    if (query.n && wire_merge_query (r->arena, json, query, &json, err) < 0)
        return -1;
    a->call.body = json;
    return 0;
}

static int take_body (struct api *a, struct error *err)
{
    struct text type = http_header (a->http, "content-type");

    if (http_body_inflate (a->http, a->server->body_max, err) < 0) {
        err->code = WIRE_ERROR (err->code < 10000 && err->code >= 400 ? err->code : 500, 0);
        return -1;
    }
    if (type_is (type, "application/json-lines") || type_is (type, "application/x-ndjson")) {
        a->call.is_batch = a->row->batch;
        a->call.body = a->row->batch ? a->http->body : TEXT ("{}");
        return 0;
    }
    return take_object (a, err);
}

static int take_request (struct api *a, struct error *err)
{
    struct text object = a->call.is_batch ? TEXT ("{}") : a->call.body;

    if (a->row->in) {
        a->in = arena_alloc (a->http->arena, a->row->in->size);
        if (wire_decode (a->http->arena, a->row->in, object, a->call.version, !a->row->raw, a->in, err) < 0)
            return -1;
    }
    if (a->row->out)
        a->out = arena_alloc (a->http->arena, a->row->out->size);
    a->call.arena = a->http->arena;
    a->call.now_us = clock_now_us ();
    a->call.now = a->call.now_us / 1000;
    return a->row->prepare ? a->row->prepare (&a->call, a->in, err) : 0;
}

static void take_headers (struct api *a)
{
    a->trx = session_header (a->http, "trx");
    a->call.worker = session_header (a->http, "worker");
    a->call.client = session_header (a->http, "client");
    a->call.bare_nan = a->call.client != NULL;
    a->call.word_nan = http_header (a->http, "x-stoker-request").p != NULL;
    a->call.address = session_address (a->http);
    a->call.facts = &a->server->facts;
}

static void run_arena_drop (void *arg)
{
    arena_destroy (((struct api *)arg)->run_arena);
}

static void api_first (struct pool_job *job)
{
    struct api *a = JOB_API (job);

    a->id = id_random ();
    arena_defer (a->http->arena, run_arena_drop, a);
    take_headers (a);
    if (take_path (a, &a->err) < 0 || take_session (a, &a->err) < 0 || take_body (a, &a->err) < 0 ||
        take_request (a, &a->err) < 0)
        api_fail (a);
    else
        api_run (a);
}

/* Nothing on the way to the writer may block or unpack: no look into the database for another's name, no gzip. */
static bool is_brief (struct api *a)
{
    struct error ignored;

    return a->http->body.n <= BRIEF_BODY && !http_header (a->http, "content-encoding").n &&
           take_path (a, &ignored) == 0 && a->row->mode == WIRE_WRITE &&
           !session_header (a->http, "impersonate-as") && !session_header (a->http, "act-as");
}

static void on_body (struct http_request *r, void *arg)
{
    struct api *a = arg;

    (void)r;
    a->brief = is_brief (a);
    if (a->brief)
        api_first (&a->job);
    else
        pool_do (a, api_first);
}

void api_start (struct server *s, struct http_request *r, struct text path)
{
    struct api *a = arena_new (r->arena, struct api);

    a->server = s;
    a->http = r;
    a->path_text = path;
    http_read_body (r, session_has_credentials (r) ? s->body_max : STRANGER_BODY_MAX, on_body, a);
}
