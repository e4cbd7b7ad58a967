// SPDX-License-Identifier: MIT
// keyboard.js: keys of the page, and the list of them. Views take theirs first (key(event)).

const KEYS = [
  ["1 to 6", "the views, from Overview to Tables"], ["/", "search in the view"],
  ["r", "the whole run instead of the selected range"],
  ["?", "this list"], ["Escape", "ends the search"],
  ["w, s", "timeline: zoom in, out (also the wheel)"],
  ["a, d", "timeline: earlier, later (also dragging)"],
  ["n, p, l", "timeline: the next, the previous, the longest span of the name that was clicked or is searched for"],
  ["f, m", "timeline: show the selected range; select what is shown (also Shift and dragging)"],
  ["Enter", "timeline: zoom to the span; flame graph: the frame alone; pauses: show it in the timeline"],
  ["arrows", "in the heat map, the flame graph and the pauses, when they have the focus"],
];

function listenToKeys(page, wholeRun) {
  const search = byId("search"), help = byId("help"), isTyping = ({tagName, type}) =>
      /^(INPUT|SELECT)$/.test(tagName) && type !== "checkbox";
  const endSearch = () => { search.value = ""; search.blur(); page.search(""); };
  const keys = {"/": () => search.focus(), "?": () => help.showModal(), r: wholeRun,
      Escape: endSearch};
  page.views.forEach((view, i) => { keys[i + 1] = () => page.show(view.id); });
  byId("help-keys").append(pairsElement(KEYS, {class: "keys"}));
  byId("help-open").addEventListener("click", keys["?"]);
  document.addEventListener("keydown", (event) => {
    const {current} = page;
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (isTyping(event.target))
      return void (event.key === "Escape" && event.target === search && endSearch());
    if (current.isFilled && current.key && current.key(event)) return event.preventDefault();
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
