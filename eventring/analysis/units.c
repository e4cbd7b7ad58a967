/* SPDX-License-Identifier: MIT */
/* units.c: figures and foreign text as people read them. */
#include "analysis/units.h"

#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* "µs" where the terminal can show it. */
static const char *microseconds(void) {
  return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\xC2\xB5s" : "us";
}

/* Four significant digits of value, which is below 1000 (or the last unit). */
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

static size_t utf8_expected(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

size_t eva_utf8_length(const unsigned char *text, size_t size) {
  size_t length = utf8_expected(text[0]);
  if (length == 0 || length > size) return 0;
  for (size_t i = 1; i < length; i++)
    if ((text[i] & 0xC0) != 0x80) return 0;
  /* overlong forms, surrogates, beyond U+10FFFF: decided by the second byte */
  if (text[0] == 0xE0 && text[1] < 0xA0) return 0;
  if (text[0] == 0xED && text[1] > 0x9F) return 0;
  if (text[0] == 0xF0 && text[1] < 0x90) return 0;
  if (text[0] == 0xF4 && text[1] > 0x8F) return 0;
  return length;
}

/* C0, DEL, C1 (U+0080..U+009F: some terminals obey them), and the backslash
   that would make the escapes ambiguous. */
static int must_be_escaped(const unsigned char *text, size_t length) {
  if (length == 0) return 1;
  if (length == 1) return text[0] < 0x20 || text[0] == 0x7F || text[0] == '\\';
  return length == 2 && text[0] == 0xC2 && text[1] < 0xA0;
}

char *eva_printable(char *safe, size_t room, const void *text, size_t size) {
  const unsigned char *from = text;
  size_t at = 0;
  while (size > 0) {
    size_t length = eva_utf8_length(from, size);
    int escape = must_be_escaped(from, length);
    if (length == 0) length = 1;
    size_t needed = escape ? 4 * length : length;
    if (at + needed + 1 > room) break;
    for (size_t i = 0; i < length; i++) {
      if (escape)
        at += (size_t)snprintf(safe + at, room - at, "\\x%02X", from[i]);
      else
        safe[at++] = (char)from[i];
    }
    from += length, size -= length;
  }
  safe[at] = '\0';
  return safe;
}
