/* SPDX-License-Identifier: MIT */
/* _filler.c: takes SIZE bytes of static TLS. */
__thread char filler[SIZE] __attribute__((tls_model("initial-exec")));
char *first_byte(void);
char *first_byte(void) { return filler; }
