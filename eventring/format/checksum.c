/* SPDX-License-Identifier: MIT */
/* checksum.c: checksums of blocks and of the front.
 *
 * Two sums of 64-bit words, the second weighted by position, as in Fletcher's checksum
 * (J. G. Fletcher, An Arithmetic Checksum for Serial Transmissions, 1982), but modulo
 * 2^64: 16 words are added at once, and no multiplication is needed in the loop. The
 * words stand in K rows of 16 (what is left after the last whole row is added at the end,
 * word by word), and each of the 16 columns has two sums. Of n words, word i has the
 * weight n - i. In row k and column j, where i = 16 k + j, this is
 *
 *   n - i = 16 (K - k) + (n - 16 K - j)
 *
 * After each row the plain sum of a column is added to its weighted sum, which therefore
 * has the word of row k with the factor K - k at the end. All that is left of the weight
 * is the same in the whole column, and is multiplied in once, when the columns are added.
 * One of the two resulting sums is rotated before they are added, because a change of a
 * high bit changes both sums alike and would cancel out. Their total is multiplied by an
 * odd constant. The result is the upper half of the product, which depends on each bit of
 * the total.
 */
#include "format/checksum.h"

#include "format/cpu.h"
#include "format/format.h"

enum { COLUMNS = 16 };

/* Returns the sums over `count` words, computed from the column sums of `rows` rows. */
static struct evr_sums sums_of_columns(const uint64_t *plain, const uint64_t *weighted,
                                   uint32_t rows, uint32_t count) {
  struct evr_sums sums = {0, 0};
  for (uint64_t j = 0; j < COLUMNS; j++) {
    sums.plain += plain[j];
    sums.weighted += COLUMNS * weighted[j] + (count - COLUMNS * (uint64_t)rows - j) * plain[j];
  }
  return sums;
}

typedef uint64_t words2 __attribute__((vector_size(16), aligned(8), may_alias));

enum { HALF = COLUMNS / 2 };

/* Sums the first HALF columns: as many sums as fit into the registers. */
static void sum_half(const uint64_t *words, uint32_t rows, words2 *plain, words2 *weighted) {
  words2 p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
  for (uint32_t k = 0; k < rows; k++, words += COLUMNS) {
    p0 += *(const words2 *)words;
    p1 += *(const words2 *)(words + 2);
    p2 += *(const words2 *)(words + 4);
    p3 += *(const words2 *)(words + 6);
    q0 += p0;
    q1 += p1;
    q2 += p2;
    q3 += p3;
  }
  plain[0] = p0, plain[1] = p1, plain[2] = p2, plain[3] = p3;
  weighted[0] = q0, weighted[1] = q1, weighted[2] = q2, weighted[3] = q3;
}

static struct evr_sums sums_of_rows(const uint64_t *words, uint32_t rows, uint32_t count) {
  words2 plain[COLUMNS / 2], weighted[COLUMNS / 2];
  sum_half(words, rows, plain, weighted);
  sum_half(words + HALF, rows, plain + HALF / 2, weighted + HALF / 2);
  return sums_of_columns((const uint64_t *)plain, (const uint64_t *)weighted, rows, count);
}

#if defined(EVR_AVX2)
typedef uint64_t words4 __attribute__((vector_size(32), aligned(8), may_alias));

__attribute__((target("avx2"))) static struct evr_sums
sums_of_rows_avx2(const uint64_t *words, uint32_t rows, uint32_t count) {
  words4 p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
  for (uint32_t k = 0; k < rows; k++, words += COLUMNS) {
    p0 += *(const words4 *)words;
    p1 += *(const words4 *)(words + 4);
    p2 += *(const words4 *)(words + 8);
    p3 += *(const words4 *)(words + 12);
    q0 += p0;
    q1 += p1;
    q2 += p2;
    q3 += p3;
  }
  const words4 plain[] = {p0, p1, p2, p3}, weighted[] = {q0, q1, q2, q3};
  return sums_of_columns((const uint64_t *)plain, (const uint64_t *)weighted, rows, count);
}
#endif

static struct evr_sums sum_rows(const uint64_t *words, uint32_t rows, uint32_t count) {
#if defined(EVR_AVX2)
  if (EVR_CPU_HAS(avx2, AVX2)) return sums_of_rows_avx2(words, rows, count);
#endif
  return sums_of_rows(words, rows, count);
}

static struct evr_sums sums_of(const uint64_t *words, uint32_t count) {
  struct evr_sums sums = sum_rows(words, count / COLUMNS, count);
  for (uint32_t i = count / COLUMNS * COLUMNS; i < count; i++) {
    sums.plain += words[i];
    sums.weighted += (count - i) * words[i];
  }
  return sums;
}

/* Removes words[i] from the sums, as if the word were 0. */
static void leave_out(struct evr_sums *sums, const uint64_t *words, uint32_t i, uint32_t count) {
  sums->plain -= words[i];
  sums->weighted -= (count - i) * words[i];
}

uint32_t evr_sums_checksum(const struct evr_sums *sums) {
  uint64_t mixed = sums->plain + (sums->weighted << 21 | sums->weighted >> 43);
  return (uint32_t)(mixed * 0x9e3779b97f4a7c15u >> 32);
}

uint32_t evr_checksum(const uint64_t *words, uint32_t count) {
  struct evr_sums sums = sums_of(words, count);
  leave_out(&sums, words, FORMAT_SEAL_WORD, count);
  return evr_sums_checksum(&sums);
}

uint32_t evr_checksum_so_far(const uint64_t *words, uint32_t count) {
  struct evr_sums sums = sums_of(words, count);
  leave_out(&sums, words, FORMAT_SEAL_WORD, count);
  leave_out(&sums, words, FORMAT_SO_FAR_WORD, count);
  return evr_sums_checksum(&sums);
}

uint32_t evr_header_checksum(const struct format_header *header) {
  struct format_header h = *header;
  h.checksum = 0;
  struct evr_sums sums = sums_of((const uint64_t *)&h, sizeof h / 8);
  return evr_sums_checksum(&sums);
}

uint32_t evr_front_checksum(const struct format_status *status, const uint64_t *tables) {
  const uint32_t behind = FORMAT_TABLES_BYTES / 8;
  struct format_status s = *status;
  s.checksum = 0;
  struct evr_sums sums = sums_of((const uint64_t *)&s, sizeof s / 8);
  struct evr_sums of_tables = sums_of(tables, behind);
  sums.weighted += behind * sums.plain + of_tables.weighted;
  sums.plain += of_tables.plain;
  return evr_sums_checksum(&sums);
}
