/* gpu_list.h - which GPUs, as people write it: "all", "none", or devices parted by commas: numbers, ranges (2-4), UUIDs or
 * their beginnings (GPU-..., MIG-...), MIG devices of a GPU (0:1). */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "io/gpu.h"

/* A list with each device by itself: "0, 2-4" gives "0,2,3,4". A word that can be no device is an error (EINVAL) that
 * begins with `who`: the option or variable that holds the list. */
int gpu_list_read (struct arena *a, const char *who, const char *words, const char **ret,
                   struct error *err) warn_unused;

/* Is all of a list that was read on this machine? 0: yes ("all", "none", "" and NULL always); -1: no (ENODEV), the words
 * say what is; 1: nobody can tell, there is no driver to ask. */
int gpu_list_check (struct gpus *g, const char *who, const char *list, struct error *err) warn_unused;
/* The same with a driver opened for it. */
int gpu_list_check_here (const char *who, const char *list, struct error *err) warn_unused;
#define GPU_LIST_UNKNOWN "%s: there is no NVIDIA driver here to ask whether %s exists; taken as it stands"

/* Keep of these n devices the ones that are on the list, in their order; how many those are. With "all", "" and NULL, and
 * when not a single one is on it (a container's runtime may have other names), all of them are; with "none" none. */
size_t gpu_list_select (const char *list, struct gpu *v, size_t n);
