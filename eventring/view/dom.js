// SPDX-License-Identifier: MIT
// dom.js: elements and tables. Text from the data becomes text nodes only.

const byId = (id) => document.getElementById(id);

// make("p", {class: "x", onclick: f, style: {…}}, child, "text", [more], null, …)
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const noteElement = (...children) => make("p", {class: "note"}, ...children);
const buttonElement = (text, onclick, attributes) => make("button",
    {type: "button", onclick, ...attributes}, text);
const linkElement = (text, onclick) => buttonElement(text, onclick, {class: "link"});
const commandElement = (command) => make("code",
    {class: "command", title: "A command that says more"}, visibleText(command));

// Says to screen readers what has changed.
function announce(text) {
  byId("live").textContent = text;
}

function complain(text) {
  byId("problems").append(make("p", {}, text));
}

// options: [[value, text], …]
function selectElement(label, options, value, listener) {
  const select = make("select", {onchange: () => listener(select.value)},
      options.map(([key, text]) => make("option", {value: key, selected: key === value}, text)));
  return make("label", {class: "choice"}, label, select);
}

function checkElement(label, checked, listener) {
  const box = make("input", {type: "checkbox", checked, onchange: () => listener(box.checked)});
  return make("label", {class: "choice"}, box, label);
}

// A definition list of [label, text] pairs.
function pairsElement(pairs, attributes) {
  return make("dl", attributes, pairs.map(([label, text]) => make("div", {}, make("dt", {}, label),
      make("dd", {}, text))));
}

// Columns of tables. `node`: an element in place of the text.
const textColumn = (title, text, node) => ({title, text, node});
// A figure that may be unknown.
function figureColumn(title, value, form, help) {
  const text = (row) => { const figure = value(row); return figure === null || figure === undefined
      ? "-" : form(figure, row); };
  return {title, value, text, help, isNumber: true};
}

// A table that is sorted by its heads. options: {rows (at first), sort: column, isAscending}
class SortedTable {
  constructor(caption, columns, rows, options = {}) {
    Object.assign(this, {columns, rows, sort: -1, isAscending: false, words: "", limit: 200},
        options);
    this.head = make("tr", {},
        columns.map((column, i) => make("th", {scope: "col", class: column.isNumber ? "number"
        : null},
      buttonElement(column.title, () => this.sortBy(i), {title: column.help || null}))));
    this.body = make("tbody");
    this.more = make("p");
    this.element = make("div", {},
        make("div", {class: "table", tabindex: "0", role: "region", "aria-label": caption ||
        "Table"},
      make("table", {}, make("caption", {}, caption), make("thead", {}, this.head), this.body)),
      this.more);
    this.draw();
  }

  sortBy(i) {
    this.isAscending = this.sort === i ? !this.isAscending : !this.columns[i].isNumber;
    this.sort = i;
    this.draw();
    announce(`Sorted by ${this.columns[i].title}, ${this.isAscending ? "ascending" : "descending"}.`);
  }

  search(words) {
    this.words = words.toLowerCase();
    this.draw();
  }

  chosen() {
    const {columns, words, sort} = this, sign = this.isAscending ? 1 : -1;
    const rows = words ? this.rows.filter((row) => columns.some((column) => !column.isNumber &&
        String(column.text(row)).toLowerCase().includes(words))) : this.rows;
    if (sort < 0) return rows;
    const value = columns[sort].value || columns[sort].text;
    return [...rows].sort((a, b) => sign * compareValues(value(a), value(b)));
  }

  draw() {
    [...this.head.children].forEach((cell, i) => cell.setAttribute("aria-sort", i !== this.sort
        ? "none" : this.isAscending ? "ascending" : "descending"));
    const rows = this.chosen(), shown = rows.slice(0, this.limit);
    this.body.replaceChildren(...shown.map((row) => make("tr", {}, this.columns.map((column) =>
      make("td", {class: column.isNumber ? "number" : null}, column.node ? column.node(row)
          : column.text(row))))));
    if (rows.length === 0)
      this.body.append(make("tr", {}, make("td", {colspan: this.columns.length},
          this.words ? "Nothing matches." : "Nothing.")));
    this.more.replaceChildren();
    if (rows.length > shown.length)
      this.more.append(`${countText(shown.length)} of ${countText(rows.length)} rows. `,
          buttonElement("More rows", () => { this.limit *= 5; this.draw(); }));
  }
}

// Unknown ones are below all others.
function compareValues(a, b) {
  const isUnknown = (value) => value === null || value === undefined;
  if (isUnknown(a) || isUnknown(b)) return isUnknown(b) - isUnknown(a);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b),
      undefined, {numeric: true});
}
