// Zoom and values of the figures. A figure is an SVG image; data-panels has the position of each
// panel in the image, and the limits of its axes.
"use strict";

const NEAR = 12;  // Largest distance from the pointer to a point of a curve [px]: our choice.

function valueAt(axis, part) {
  const [a, b] = axis.limits;
  const value = axis.log ? a * Math.pow(b / a, part) : a + (b - a) * part;
  return Number((value / Math.pow(10, axis.power)).toPrecision(4));
}

function textOf(axis, part) {
  const [, name, unit] = axis.label.match(/^(.*?)(?:\s*\[([^\]]*)\])?$/);
  return `${name}${name ? " " : ""}${valueAt(axis, part)}${unit ? " " + unit : ""}`;
}

function pointsOf(svg) {
  const points = [];
  for (const path of svg.querySelectorAll("path[clip-path]"))
    for (const [, x, y] of path.getAttribute("d").matchAll(/[ML] (\S+) (\S+)/g)) points.push([+x, +y]);
  for (const mark of svg.querySelectorAll("[clip-path] use[x]"))
    points.push([+mark.getAttribute("x"), +mark.getAttribute("y")]);
  return points;
}

function explore(figure) {
  const svg = figure.querySelector("svg"), panels = JSON.parse(figure.dataset.panels);
  const home = svg.getAttribute("viewBox"), [, , width, height] = home.split(" ").map(Number);
  const value = figure.appendChild(document.createElement("output"));
  const tools = figure.appendChild(document.createElement("div"));
  let points = null, start = null;
  const show = (box) => svg.setAttribute("viewBox", box.join(" "));
  const scaled = (factor) => {
    const [x, y, w, h] = svg.getAttribute("viewBox").split(" ").map(Number);
    const size = [Math.min(w * factor, width), Math.min(h * factor, height)];
    const at = [x + (w - size[0]) / 2, y + (h - size[1]) / 2];
    show([Math.max(0, Math.min(at[0], width - size[0])), Math.max(0, Math.min(at[1], height - size[1])), ...size]);
  };
  const reset = () => svg.setAttribute("viewBox", home);
  for (const [text, name, action] of [["+", "Zoom in", () => scaled(0.5)], ["\u2212", "Zoom out", () => scaled(2)],
                                      ["\u21ba", "Whole figure", reset]]) {
    const button = tools.appendChild(document.createElement("button"));
    button.type = "button"; button.textContent = text; button.title = name;
    button.setAttribute("aria-label", `${name}: ${svg.getAttribute("aria-label")}`);
    button.addEventListener("click", action);
  }
  const place = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  svg.addEventListener("pointerdown", (event) => { start = place(event); });
  svg.addEventListener("pointerup", (event) => {
    const end = place(event), from = start; start = null;
    if (!from || Math.min(Math.abs(end[0] - from[0]), Math.abs(end[1] - from[1])) < 8) return;
    show([Math.min(from[0], end[0]), Math.min(from[1], end[1]), Math.abs(end[0] - from[0]), Math.abs(end[1] - from[1])]);
  });
  svg.addEventListener("dblclick", reset);
  svg.addEventListener("pointerleave", () => { value.textContent = ""; start = null; });
  svg.addEventListener("pointermove", (event) => {
    points ??= pointsOf(svg);
    let [x, y] = place(event);
    const panel = panels.find(({box}) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
    if (!panel) { value.textContent = ""; return; }
    const [left, top, right, bottom] = panel.box, reach = NEAR / svg.getScreenCTM().a;
    let nearest = reach;
    const pointer = [x, y];
    for (const [u, v] of points) {
      const far = Math.hypot(u - pointer[0], v - pointer[1]);
      if (far < nearest && u >= left && u <= right && v >= top && v <= bottom) { nearest = far; [x, y] = [u, v]; }
    }
    value.textContent = `${textOf(panel.x, (x - left) / (right - left))}, ${textOf(panel.y, (bottom - y) / (bottom - top))}`;
  });
  addEventListener("beforeprint", reset);
}

document.querySelectorAll("figure.picture").forEach(explore);
