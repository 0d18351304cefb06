// In a frame of a notebook: its theme, and as high as the page is. A page by itself keeps the theme of the system.
"use strict";

const around = (() => {
  try { return parent === window ? null : parent.document; } catch { return null; }  // another origin tells nothing
})();

/** "dark" or "light", as JupyterLab, VS Code or Colab marks itself; "" where nothing does. */
function themeAround() {
  const { body, documentElement: root } = around;
  const marks = [[body.dataset.jpThemeLight, "false"], [body.dataset.vscodeThemeKind, "vscode-dark"], [root.getAttribute("theme"), "dark"]];
  const said = marks.find(([mark]) => mark);
  return said ? (said[0] === said[1] ? "dark" : "light") : "";
}

function takeTheme() {
  const theme = themeAround(), root = document.documentElement;
  if (theme === (root.dataset.theme ?? "")) return;
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  dispatchEvent(new Event("theme"));
}

/** Waits until the page has room: in a hidden frame (another tab, a notebook that changes its theme) no text has a width, and Plotly would keep that. */
const hasRoom = () => new Promise(done => new ResizeObserver((_, watch) => {
  if (!document.body.clientWidth) return;
  watch.disconnect();
  done();
}).observe(document.body));

if (around) {
  takeTheme();
  new MutationObserver(takeTheme).observe(around.body, { attributes: true });
  new ResizeObserver(() => {
    if (document.body.dataset.ready) frameElement.style.height = `${Math.ceil(document.body.getBoundingClientRect().height)}px`;
  }).observe(document.body);
}
