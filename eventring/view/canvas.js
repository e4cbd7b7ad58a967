// SPDX-License-Identifier: MIT
// canvas.js: what the drawn views share: colours, canvases, text that fits, axes, the tip at the
// pointer.

const FONT = "12px system-ui, sans-serif", BOLD = "600 " + FONT;

// The colours of page.css, read once for a theme, and those that are made.
const palette = {
  read() {
    const probe = document.body.appendChild(make("span", {hidden: true}));
    for (const name of ["ink", "soft", "faint", "paper", "panel", "line", "accent", "collector",
        "loss", "mark", "shade"]) {
      probe.style.color = `var(--${name})`;
      this[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    this.isDark = /rgb\(2\d\d/.test(this.ink);
    this.made = new Map();
  },
  // A colour for a name, the same in each page: cool for spans, warm for frames. Red is for the
  // collector.
  of(text, isWarm) {
    const key = isWarm ? "w" + text : text;
    let colour = this.made.get(key);
    if (colour) return colour;
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    const hue = isWarm ? 16 + (hash >>> 0) % 40 : 80 + (hash >>> 0) % 230,
        tone = 5 * ((hash >>> 12) % 3);
    colour = this.isDark ? `hsl(${hue} ${40 + tone}% ${29 + tone / 2}%)`
        : `hsl(${hue} ${isWarm ? 80 : 52}% ${82 - tone}%)`;
    this.made.set(key, colour);
    return colour;
  },
  // From little to much: part is 0 to 1.
  heat(part) {
    const t = clamp(part, 0, 1);
    return this.isDark ? `hsl(${250 - 205 * t} ${50 + 40 * t}% ${26 + 46 * t}%)`
        : `hsl(${205 + 100 * t} ${60 + 15 * t}% ${82 - 56 * t}%)`;
  },
};

// A canvas that is drawn when it is shown, resized, or asked to be by later().
//   options: {id, kind, label, height(): pixels, draw(context, width, height), tip(event): lines, click(event)}
class Plot {
  constructor(options) {
    const {id, kind, label, tip, click} = Object.assign(this, options);
    this.canvas = make("canvas", {id, tabindex: "0", role: "application",
        "aria-roledescription": kind, "aria-label": label});
    this.canvas.addEventListener("pointermove",
        (event) => { if (event.buttons === 0) showTip(event, tip(event)); });
    this.canvas.addEventListener("pointerleave", (event) => showTip(event, null));
    for (const type of ["focus", "blur"]) this.canvas.addEventListener(type, () => this.later());
    if (click) this.canvas.addEventListener("click", click);
    new ResizeObserver(() => this.later()).observe(this.canvas);
  }

  later() {
    this.isDue ||= requestAnimationFrame(() => { this.isDue = 0; this.now(); });
  }

  now() {
    const {canvas} = this, width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (width === 0) return;
    const height = this.height(), wide = Math.max(1, Math.round(width * ratio)),
        high = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== wide || canvas.height !== high)
      Object.assign(canvas, {width: wide, height: high}).style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(context, {font: FONT, textBaseline: "middle", textAlign: "left", globalAlpha: 1});
    context.clearRect(0, 0, width, height);
    this.draw(context, width, height);
  }

  // Of an event, in pixels of the page.
  pointOf(event) {
    const {left, top} = this.canvas.getBoundingClientRect();
    return {x: event.clientX - left, y: event.clientY - top};
  }

  get hasFocus() {
    return document.activeElement === this.canvas;
  }

  // Follows drags with the pointer: begin(event) returns null, or {move(event), end(event)}.
  onDrag(begin) {
    const {canvas} = this;
    canvas.addEventListener("pointerdown", (event) => {
      const drag = event.button === 0 && begin(event);
      if (!drag) return;
      canvas.setPointerCapture(event.pointerId);
      const ends = new AbortController(), {signal} = ends;
      canvas.addEventListener("pointermove", drag.move, {signal});
      for (const type of ["pointerup", "pointercancel"])
        canvas.addEventListener(type, (ended) => { ends.abort(); drag.end(ended); }, {signal});
    });
  }
}

// Draws a text, cut where there is no room. To measure each is too slow: a character is taken to
// be some pixels wide.
function drawText(context, text, x, y, room) {
  const most = Math.floor(room / 6.2);
  if (most < 2) return;
  if (text.length > most) {
    let length = Math.min(text.length, Math.floor(room / 4));
    while (length > 1 && context.measureText(text.slice(0, length) + "…").width > room)
      length -= 1 + (length >> 4);
    if (length < text.length) text = text.slice(0, length) + "…";
  }
  context.fillText(text, x, y, room);
}

// Lines across a part: torn, lost.
function hatch(context, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = palette.loss;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

// The step of an axis: 1, 2 or 5 times a power of ten, so that there are at most `most`.
function tickStep(length, most) {
  const raw = length / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= raw * (1 - 1e-9));
}

function tickText(ns, step) {
  const [unit, size] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 1e2
      ? ["µs", 1e3] : ["ns", 1];
  return `${(ns / size).toLocaleString("en", {maximumFractionDigits: 2})} ${unit}`;
}

// The axis of the times [begin, end) of the page, its text from y on, its lines to `bottom`.
function drawTimeAxis(context, {offsetNs}, {begin, end}, x, width, y, bottom) {
  const step = Math.max(1, tickStep(end - begin, width / 90));
  for (let at = Math.ceil((begin + offsetNs) / step) * step; at < end + offsetNs; at += step) {
    const position = x + (at - offsetNs - begin) / (end - begin) * width;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(position), y, 1, bottom - y);
    context.fillStyle = palette.soft;
    if (position + 60 < x + width) context.fillText(tickText(at, step), position + 4, y + 10);
  }
}

// The lengths that a logarithmic axis has, [ns, y]: `position` says where one is. Powers of ten
// first, then what there is room for.
function lengthTicks(position, bottom) {
  const ticks = [];
  for (const times of [1, 2, 5])
    for (let ns = times; ns < 1e13; ns *= 10) {
      const y = Math.round(position(ns));
      if (y >= 7 && y <= bottom && ticks.every(([, other]) => Math.abs(other - y) >= 18))
        ticks.push([ns, y]);
    }
  return ticks;
}

function drawLengthAxis(context, position, x, width, bottom) {
  context.textAlign = "right";
  for (const [ns, y] of lengthTicks(position, bottom)) {
    context.fillStyle = palette.line;
    context.fillRect(x, y, width, 1);
    context.fillStyle = palette.soft;
    context.fillText(durationText(ns).replace(/\.0+ /, " "), x - 6, y);
  }
  context.textAlign = "left";
}

// What is outside of the selected range, and its borders.
function drawSelection(context, selection, position, left, right, height) {
  if (selection.isWhole) return;
  const from = clamp(position(selection.beginNs), left, right),
      to = clamp(position(selection.endNs), left, right);
  context.fillStyle = palette.shade;
  context.fillRect(left, 0, from - left, height);
  context.fillRect(to, 0, right - to, height);
  context.fillStyle = palette.accent;
  context.fillRect(from - 1, 0, 2, height);
  context.fillRect(to - 1, 0, 2, height);
}

// The tip at the pointer. `lines`: null hides it.
function showTip(event, lines) {
  const tip = byId("tip");
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
  const below = event.clientY + 18;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${below + tip.offsetHeight > innerHeight ? Math.max(4, event.clientY - tip.offsetHeight - 10) : below}px`;
}

// What `describe.js` makes, as lines of a tip.
function tipLines(found) {
  return found &&
      [found.title, ...found.lines.slice(0, 5).map(([label, text]) => `${label}: ${text}`)];
}
