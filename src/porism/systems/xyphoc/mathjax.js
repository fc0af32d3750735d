// Reads one LaTeX formula per line (a JSON string), writes one JSON list per line: [code point, left, bottom, right, top] of each glyph.
const readline = require("readline");
const paths = (process.env.NODE_PATH || "").split(":").filter((folder) => folder.startsWith("/"));
const MathJaxNode = require(require.resolve("mathjax", { paths }));

// The box of a path of MathJax's fonts: absolute M, L, Q, T, H, V and Z. The control points of curves count, too.
function pathBox(data) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  let x = 0, y = 0;
  for (const [, letter, rest] of data.matchAll(/([MLQTHVZ])([^MLQTHVZ]*)/g)) {
    const numbers = rest.match(/-?\d*\.?\d+/g)?.map(Number) || [];
    for (let at = 0; at < numbers.length; at += letter === "H" || letter === "V" ? 1 : 2) {
      if (letter === "V") y = numbers[at];
      else x = numbers[at];
      if (letter !== "H" && letter !== "V") y = numbers[at + 1];
      box[0] = Math.min(box[0], x); box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x); box[3] = Math.max(box[3], y);
    }
  }
  return box;
}

// Every glyph and bar below an element. `at` is the position and scale so far.
function collect(adaptor, node, at, found) {
  if (!node.kind || node.kind.startsWith("#")) return;
  const shift = (adaptor.getAttribute(node, "transform") || "").match(/translate\(([-\d.]+)[, ]*([-\d.]*)\)/);
  const scale = (adaptor.getAttribute(node, "transform") || "").match(/scale\(([-\d.]+)\)/);
  const here = {
    x: at.x + at.scale * Number(shift?.[1] || 0),
    y: at.y + at.scale * Number(shift?.[2] || 0),
    scale: at.scale * Number(scale?.[1] || 1),
  };
  const place = (box) => [here.x + here.scale * box[0], here.y + here.scale * box[1],
                          here.x + here.scale * box[2], here.y + here.scale * box[3]];
  if (node.kind === "path" && adaptor.getAttribute(node, "data-c")) {
    const name = String.fromCodePoint(parseInt(adaptor.getAttribute(node, "data-c"), 16));
    const box = pathBox(adaptor.getAttribute(node, "d") || "");
    if (box[0] <= box[2]) found.push([name, ...place(box)]); // invisible operators have no outline
  } else if (node.kind === "rect" && !adaptor.getAttribute(node, "data-frame")) {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((key) => Number(adaptor.getAttribute(node, key) || 0));
    const box = place([x, y, x + width, y + height]);
    const sign = found[found.length - 1];
    // The bar after a root sign belongs to the sign; any other bar is that of a fraction.
    if (sign && sign[0] === "\u221A" && Math.abs(sign[3] - box[0]) < 150) sign[3] = Math.max(sign[3], box[2]);
    else found.push(["-", ...box]);
  }
  for (const child of adaptor.childNodes(node)) collect(adaptor, child, here, found);
}

MathJaxNode.init({ loader: { load: ["input/tex", "output/svg"] }, svg: { fontCache: "none" } }).then((MathJax) => {
  const adaptor = MathJax.startup.adaptor;
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const found = [];
    try {
      const html = MathJax.tex2svg(JSON.parse(line), { display: true });
      if (!adaptor.outerHTML(html).includes('data-mml-node="merror"')) collect(adaptor, html, { x: 0, y: 0, scale: 1 }, found);
    } catch (error) { /* A formula that MathJax cannot read has no boxes. */ }
    console.log(JSON.stringify(found));
  });
});
