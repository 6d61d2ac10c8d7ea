/* effects.c - what a handler asked for, done after its commit. On the thread that committed: nothing here may block. */
#include "server/room.h"
#include "services/auth/auth.h"

void effects_run (struct server *s, const struct effect *e)
{
    for (; e; e = e->next) {
        switch (e->what) {
            case EFFECT_RING:
                topic_ring (s->topics, e->key, e->number);
                break;
            case EFFECT_VOLATILE_PUT:
                volatile_put (s->volatiles, e->key, text_of (e->value), e->number);
                break;
            case EFFECT_VOLATILE_DROP:
                volatile_drop (s->volatiles, e->key);
                break;
            case EFFECT_SWEEP:
                store_sweep (s->store);
                break;
            case EFFECT_REVOKE_SESSION:
            case EFFECT_REVOKE_KEY:
            case EFFECT_KEY_ADD:
                auth_effect (s->auth, e);
                break;
            case EFFECT_FILES_DELETE:
                files_delete_later (s, e->value, e->key);
                break;
        }
    }
}
