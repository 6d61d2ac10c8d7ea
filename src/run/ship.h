/* ship.h - the thread that carries things to the server: console lines from the spool, and calls nobody waits for.
 *
 * While the server is away it tries again, with pauses of at most a second, and nothing is lost: the spool is on disk,
 * calls are in memory. A batch that the server refuses is cut in halves until the refused event stands alone; that one
 * is written to FOLDER/refused and left out. */
#pragma once
#include "client/client.h"
#include "run/spool.h"

struct ship;

/* Starts the thread. The client is shared (client_share), the spool stays the caller's. */
int ship_start (const struct client *c, struct spool *spool, const char *folder, struct ship **ret,
                struct error *err) warn_unused;

/* Send a call some time, in the order given; its failure is only logged. `optional`: when the server does not have the
 * call, later ones of the same name are not sent. */
void ship_post (struct ship *s, const char *call, struct text body, bool optional);

/* Wait until all is sent. `cut`: gives up (-1, ECANCELED) once this descriptor is readable, 0 = never; and after most_ms,
 * 0 = never. */
int ship_flush (struct ship *s, int cut, int64_t most_ms, struct error *err) warn_unused;
void ship_stop (struct ship *s); /* end the thread, whatever is left; NULL is fine */
