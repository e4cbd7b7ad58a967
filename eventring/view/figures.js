// SPDX-License-Identifier: MIT
// figures.js: figures of a range as sums over cells.
//
// Sums, counts and the longest are exact. A quantile is the middle of its bucket, within 1/16 of
// the value. What is not kept at the borders of the range is null: nothing is estimated.

// Bucket b has the values [bucketLow(b), bucketLow(b + 1)).
function bucketLow(bucket) {
  const shift = Math.floor(bucket / 8) - 1;
  return bucket < 16 ? bucket : (bucket - shift * 8) * 2 ** shift;
}

function bucketOf(value) {
  let shift = 0;
  while (value / 2 ** shift >= 16) shift++;
  return shift * 8 + Math.floor(value / 2 ** shift);
}

// Calls with each bucket and count of a column of a histogram.
function eachBucket(histogram, call) {
  let bucket = 0;
  for (let i = 0; i + 1 < listOf(histogram).length; i += 2)
    call(bucket += numberOf(histogram[i]), numberOf(histogram[i + 1]));
}

// The first of `count` rows that is not before a position: those that are come first.
function firstRow(count, isBefore) {
  let from = 0, to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isBefore(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}

// The first row of a sorted column that is not below the value.
const lowerBound = (sorted, value) => firstRow(sorted.length, (i) => sorted[i] < value);

// A Map from keys to the members that have them.
function groupBy(all, keyOf) {
  const groups = new Map();
  for (const one of all) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

// `histograms`: columns, which quantileOf adds up; null: not known.
const noFigures = () => ({count: 0, sum: 0, own: 0, off_cpu: 0, suspended: 0, longest: 0,
    histograms: []});

// Unknown ones make the sum unknown.
const plus = (a, b) => a === null || !(b >= 0) || b === null ? null : a + b;
const later = (a, b) => a === null || !(b >= 0) || b === null ? null : Math.max(a, b);

function figuresOfTotal(total) {
  const figures = noFigures();
  figures.count = numberOf(total.count);
  for (const key of [...SUMS, "longest"]) figures[key] = numberOf(total[key], null);
  figures.histograms = total.histogram ? [total.histogram] : null;
  return figures;
}

function figuresOfRows({columns, histogram}, from, to) {
  const figures = noFigures();
  figures.histograms = histogram && histogram.slice(from, to);
  for (let i = from; i < to; i++) {
    figures.count += columns.count[i];
    for (const key of SUMS) figures[key] = plus(figures[key], columns[key] && columns[key][i]);
    figures.longest = later(figures.longest, columns.longest && columns.longest[i]);
  }
  return figures;
}

// The rows [from, to) of cells of a level that are in the selected range.
function rowsIn(cells, level, {first, last}) {
  return [lowerBound(cells, first / 2 ** level), lowerBound(cells, last / 2 ** level)];
}

// Figures of a series in the selected range; null: not kept at its borders.
function figuresOf(series, selection) {
  if (selection.isWhole) return figuresOfTotal(series.total);
  return selection.knows(series.level) ? figuresOfRows(series, ...rowsIn(series.columns.cells,
      series.level, selection)) : null;
}

function addFigures(to, more) {
  if (more.count === 0) return;
  to.count += more.count;
  for (const key of SUMS) to[key] = plus(to[key], more[key]);
  to.longest = later(to.longest, more.longest);
  to.histograms = to.histograms && more.histograms && to.histograms.concat(more.histograms);
}

// The sum of several series in the range: {figures, level}. `level`: the coarsest one that is not
// known in it, where `figures` is null.
function sumFigures(all, selection) {
  const sum = noFigures();
  let level = -1;
  for (const series of all) {
    const figures = figuresOf(series, selection);
    if (figures) addFigures(sum, figures);
    else level = Math.max(level, series.level);
  }
  return {figures: level < 0 ? sum : null, level};
}

// The sum of histograms: [bucket, count], ...
function bucketsOf(histograms) {
  const buckets = new Map();
  for (const histogram of histograms)
    eachBucket(histogram, (bucket, count) => buckets.set(bucket, (buckets.get(bucket) || 0) +
        count));
  return [...buckets].sort((a, b) => a[0] - b[0]);
}

const rankOf = ({count}, q) => Math.max(1, Math.ceil(q * count - 1e-9));

// The smallest value that at least q of all do not exceed, to 1/16; null: not known.
function quantileOf(figures, q) {
  if (!figures.histograms || figures.count === 0) return null;
  const {longest} = figures, buckets = figures.buckets ||= bucketsOf(figures.histograms),
      rank = rankOf(figures, q);
  if (rank >= figures.count && longest !== null) return longest;
  let seen = 0;
  for (const [bucket, count] of buckets)
    if ((seen += count) >= rank)
      return Math.min(bucket < 16 ? bucket : (bucketLow(bucket) + bucketLow(bucket + 1)) / 2,
          longest ?? Infinity);
  return null;
}

// A counter in the range; null: not kept.
function counterFigures(counter, selection) {
  if (!selection.knows(counter.level)) return null;
  const [from, to] = rowsIn(counter.cells, counter.level, selection),
      part = (key) => counter[key].subarray(from, to),
      sum = (key) => part(key).reduce((a, b) => a + b, 0);
  if (to <= from) return {samples: 0};
  return {samples: sum("samples"), sum: sum("sum"), least: Math.min(...part("least")),
      most: Math.max(...part("most")), last: counter.last[to - 1]};
}
