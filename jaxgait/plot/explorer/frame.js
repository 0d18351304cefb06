// In a notebook's frame: adopts its theme, and fits the frame's height to the page. A page by itself keeps the system's theme.
"use strict";

const around = (() => {
  try { return parent === window ? null : parent.document; } catch { return null; }  // another origin
})();

/** "dark" or "light", as marked by JupyterLab, VS Code or Colab; "" if unmarked. */
function themeAround() {
  const { body, documentElement: root } = around;
  const marks = [[body.dataset.jpThemeLight, "false"], [body.dataset.vscodeThemeKind, "vscode-dark"], [root.getAttribute("theme"), "dark"]];
  const found = marks.find(([mark]) => mark);
  return found ? (found[0] === found[1] ? "dark" : "light") : "";
}

function takeTheme() {
  const theme = themeAround(), root = document.documentElement;
  if (theme === (root.dataset.theme ?? "")) return;
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  dispatchEvent(new Event("theme"));
}

/** Waits until the page is visible: in a hidden frame text has no width, which Plotly would keep. */
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
