/* call.h - what a handler is given: who calls, its arena and database, and where it leaves wishes and
 * effects. A handler touches only `db` and `arena`; anything else is an effect that runs after the commit. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/errors.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct db; /* store/store.h */

struct identity {
    const char *company, *company_name, *user, *user_name, *role; /* NULL members: nobody is logged in */
    const char *key;     /* access key, of Basic or of what made the token; NULL for a page's session */
    const char *session; /* session id of the token, when Bearer or cookie was used */
    int64_t expires;     /* s since 1970 of the token, 0 = none */
    bool cookie;         /* it came by cookie alone */
    bool page;           /* the session of a page: its token is renewed while it is used */
};

enum call_effect {
    EFFECT_RING = 1,
    EFFECT_REVOKE_SESSION,
    EFFECT_REVOKE_KEY,
    EFFECT_VOLATILE_PUT,
    EFFECT_VOLATILE_DROP,
    EFFECT_SWEEP,
    EFFECT_FILES_DELETE,
    EFFECT_KEY_ADD
};

struct effect {
    struct effect *next;
    enum call_effect what;
    const char *key;   /* topic, session id, volatile key, ... */
    const char *value; /* of a put */
    int64_t number;    /* how many to wake, time to live ms, ... */
};

struct call {
    struct arena *arena;
    struct db *db;
    const struct server_facts *facts; /* constants of this server: below */
    struct identity who;
    struct text body; /* the checked JSON object, or the raw lines of a batch */
    bool is_batch;
    int version;         /* requested, major * 1000 + minor */
    const char *worker;  /* X-ClearML-Worker / X-Trains-Worker, NULL */
    const char *client;  /* X-ClearML-Client / X-Trains-Client, NULL */
    const char *address; /* of the client */
    int64_t now, now_us; /* one time for the whole call */
    void *prepared;      /* what the row's prepare made */
    bool bare_nan;       /* NaN may go out bare (Python client) */
    bool word_nan;       /* else: NaN goes out as "NaN" (our own page), not as null */

    /* left by the handler */
    struct effect *effects, *last_effect; /* run after COMMIT, in order; last: where there is a first */
    const char *wait_topic;               /* by call_wait: run me again when it rings or the time comes */
    int64_t wait_until;                   /* ms, clock_now() scale */
    bool last_try; /* set by the caller: the waiting time is over (or client cannot wait): answer now */
    struct text facts_of_error; /* answer.h: fail_facts, with */
    int facts_code;             /* the code of that error */
    const char *set_cookie;     /* token to set; "" clears */
    struct text raw_reply;      /* answer this instead of the envelope, with */
    const char *raw_type;       /* this content type, and */
    const char *raw_filename;   /* Content-Disposition: attachment */
};

/* What calls need to know of the server around them; made once by server/, const. */
struct server_facts {
    const char *version, *build, *commit; /* "2.3.0", ... as told to clients */
    const char *api_version;              /* "2.34" */
    const char *server_uuid;
    const char *company, *company_name; /* the default company */
    const unsigned char *token_secret;  /* HS256 key */
    size_t token_secret_n;
    struct volatile_store
        *volatiles; /* store/volatile.h: thread safe; reading and touching is allowed anywhere */
    const char *files_url, *api_url, *web_url;
    int64_t started; /* ms */
};

void call_after_commit (struct call *c, enum call_effect what, const char *key, const char *value,
                        int64_t number);
/* Of a part that is undone (db_undo) nothing runs: what was noted after `last` is forgotten. */
struct effect *call_last_effect (const struct call *c);
void call_forget_effects (struct call *c, struct effect *last);
/* Run me again when one of the topics ('\n' between them) rings, or for the last time `wait_ms` after the first run: the
 * caller waits once, not once a bell. */
void call_wait (struct call *c, int64_t wait_ms, const char *topic_fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
/* Wake up to n waiters of a topic after the commit (n < 0: all). Topics: "queue/<id>", "task/<id>",
 * "events/<task>" */
void call_ring (struct call *c, int64_t n, const char *topic_fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
