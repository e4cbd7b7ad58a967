/* SPDX-License-Identifier: MIT */
/* host.h: finds the introspection of a process (<eventring/introspection.h>). */
#ifndef EVENTRING_REMOTE_HOST_H
#define EVENTRING_REMOTE_HOST_H

#include "eventring/introspection.h"
#include "remote/process_memory.h"

enum { REMOTE_ERROR_TEXT = 256, REMOTE_DOMAINS = 1024 };

struct remote_host {
  struct remote_memory memory;
  struct eventring_introspection at; /* as checked by remote_host_open */
  uint8_t kinds[256];                /* enum eventring_value_kind of each tag */
  char error[REMOTE_ERROR_TEXT];     /* why remote_host_open failed */
  bool forbidden;                    /* remote_host_open failed because reading is
                                        forbidden */
  bool found;                        /* the process has an introspection: it runs Saros */
};

/* Finds and checks the introspection of the process, by the mapped note of its executable
   or of a library; opens no file. Returns false with the reason in `error`. */
bool remote_host_open(struct remote_host *host, pid_t pid);

/* Stores the addresses of its domains, at most `room`; returns their number. */
size_t remote_domains(struct remote_host *host, uint64_t *domains, size_t room);

/* Computes the address of a location in the structure at `base`. Returns false if it is
   unreadable. */
bool remote_locate(struct remote_host *host, uint64_t base, struct eventring_location at,
                   uint64_t *address);

#endif
