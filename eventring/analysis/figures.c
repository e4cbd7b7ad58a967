/* SPDX-License-Identifier: MIT */
/* figures.c: figures as people read them. */
#include "analysis/figures.h"

#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Returns "µs" where the terminal can show it, else "us". */
static const char *microseconds(void) {
  return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\xC2\xB5s" : "us";
}

/* Writes four significant digits of the value, which is below 1000 or has the largest
   unit. */
static char *scaled(char *figure, double value, const char *unit) {
  int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  snprintf(figure, EVA_FIGURE, "%.*f %s", decimals, value, unit);
  return figure;
}

char *eva_duration_text(char *figure, uint64_t ns) {
  double value = (double)ns;
  if (ns < 1000) {
    snprintf(figure, EVA_FIGURE, "%u ns", (unsigned)ns);
    return figure;
  }
  if (value < 999950) return scaled(figure, value / 1e3, microseconds());
  if (value < 999950e3) return scaled(figure, value / 1e6, "ms");
  return scaled(figure, value / 1e9, "s");
}

char *eva_count_text(char *figure, uint64_t count) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
  char *to = figure;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return figure;
}

char *eva_signed_text(char *figure, int64_t value) {
  if (value >= 0) return eva_count_text(figure, (uint64_t)value);
  figure[0] = '-';
  eva_count_text(figure + 1, -(uint64_t)value);
  return figure;
}

char *eva_double_text(char *figure, double value) {
  snprintf(figure, EVA_FIGURE, "%.6g", value);
  return figure;
}

char *eva_bytes_text(char *figure, uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(figure, EVA_FIGURE, "%u B", (unsigned)bytes);
    return figure;
  }
  double value = (double)bytes / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit < 5; unit++) value /= 1024;
  snprintf(figure, EVA_FIGURE, "%.4g %s", value, units[unit]);
  return figure;
}

char *eva_percent_text(char *figure, uint64_t part, uint64_t whole) {
  if (whole == 0)
    snprintf(figure, EVA_FIGURE, "-");
  else
    snprintf(figure, EVA_FIGURE, "%.2f %%", 100.0 * (double)part / (double)whole);
  return figure;
}

char *eva_seconds_text(char *figure, int64_t ns) {
  uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
  snprintf(figure, EVA_FIGURE, "%s%llu.%09llu", ns < 0 ? "-" : "",
           (unsigned long long)(size / 1000000000),
           (unsigned long long)(size % 1000000000));
  return figure;
}

char *eva_wall_text(char *figure, int64_t ns) {
  int64_t seconds = ns / 1000000000, rest = ns % 1000000000;
  if (rest < 0) rest += 1000000000, seconds--;
  time_t time = (time_t)seconds;
  struct tm parts;
  if (!localtime_r(&time, &parts) ||
      strftime(figure, EVA_FIGURE, "%Y-%m-%d %H:%M:%S", &parts) == 0)
    return eva_seconds_text(figure, ns);
  size_t length = strlen(figure);
  snprintf(figure + length, EVA_FIGURE - length, ".%03d", (int)(rest / 1000000));
  return figure;
}

char *eva_figure(void) {
  static _Thread_local char figures[16][EVA_FIGURE];
  static _Thread_local unsigned next;
  return figures[next++ % 16];
}
