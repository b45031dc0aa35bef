// ---- the front: points and parallel coordinates, linked; bounds; the table ----
const scale = [0, 1, 2, 3, 4, 5].map(k => `var(--s${k})`); // steps of one quantity
const hues = ["var(--a)", "var(--b)", "var(--h)", "var(--p)", "var(--c)", "var(--d)"]; // unlike things
const bounds = new Map(); // key -> [low, high]
const order = { key: objectives[0], up: true, most: 25 };
let within = front.rows.map((_, i) => i); // rows within the bounds
let selected = ownRow, focus = ownRow; // shown below; pointed at
const tenths = v => Math.round(10 * v) / 10;
const cut = (text, most) => text.length > most ? text.slice(0, Math.max(1, most - 1)) + "\u2026" : text;

function describe(i) {
    return "design " + idOf(i) + "\n" + [...objectives.map(column), ...choices.filter(c => c.varies)].filter(Boolean)
        .map(c => title(c.key) + ": " + human(c.key, front.rows[i][c.place])).join("\n");
}

function tell(i, x, y) {
    const tip = at("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = describe(i);
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8)) + "px";
}

// ---- the state, and the address that keeps it: #design=5&x=dsp&log=xy&dsp<=500&weights.square.rank>=8 ----

function writeAddress() {
    const parts = [`design=${idOf(selected)}`, ...["x", "y", "colour"].map(id => `${id}=${at(id).value}`),
        `log=${at("logx").checked ? "x" : ""}${at("logy").checked ? "y" : ""}`, `sort=${order.up ? "" : "-"}${order.key}`];
    for (const [key, [low, high]] of bounds) {
        if (low > column(key).low) parts.push(`${key}>=${low}`);
        if (high < column(key).high) parts.push(`${key}<=${high}`);
    }
    const hash = "#" + parts.map(encodeURI).join("&");
    if (hash !== location.hash) history.replaceState(null, "", hash);
}

function readAddress() {
    bounds.clear();
    for (const part of decodeURI(location.hash.slice(1)).split("&")) {
        const set = /^(design|x|y|colour|log|sort)=(.*)$/.exec(part), found = /^(.+?)(<=|>=)([-+.\deE]+)$/.exec(part);
        if (set && set[1] === "design") {
            const row = front.rows.findIndex(r => r[0] === set[2]);
            selected = row >= 0 || set[2] !== own[0] ? row >= 0 ? row : ownRow : -1;
        } else if (set && set[1] === "log") {
            at("logx").checked = set[2].includes("x");
            at("logy").checked = set[2].includes("y");
        } else if (set && set[1] === "sort") {
            if (column(set[2].replace(/^-/, ""))) Object.assign(order, { up: set[2][0] !== "-", key: set[2].replace(/^-/, "") });
        } else if (set) {
            if (column(set[2]) && column(set[2]).varies) at(set[1]).value = set[2];
        } else if (found && column(found[1])) {
            const c = column(found[1]), [low, high] = bounds.get(c.key) || [c.low, c.high];
            bounds.set(c.key, found[2] === "<=" ? [low, Number(found[3])] : [Number(found[3]), high]);
        }
    }
    focus = selected;
}

function filter() {
    const limits = [...bounds].map(([key, [low, high]]) => [column(key).value, low, high]);
    within = [];
    for (let i = 0; i < front.rows.length; i++)
        if (limits.every(([value, low, high]) => value[i] >= low && value[i] <= high)) within.push(i);
    at("count").textContent = within.length + " of " + front.rows.length + " designs";
    const said = [...bounds].flatMap(([key, [low, high]]) => {
        const c = column(key), text = v => c.numeric ? v : `'${c.names[v]}'`;
        return low === high ? [`${key} = ${text(low)}`] : !c.numeric ? [] : [...(low > c.low ? [`${key} >= ${low}`] : []), ...(high < c.high ? [`${key} <= ${high}`] : [])];
    });
    at("query").replaceChildren(...(said.length ? [command(`tenfold query ${data.folder} "${said.join(" and ")}"`)] : []));
    draw();
}

function bound(key, low, high) {
    const c = column(key);
    if (!(low > c.low) && !(high < c.high)) bounds.delete(key);
    else bounds.set(key, [low, high]);
    filter();
    tellBounds();
}

// ---- axes ----
// What the dense model learns, on an axis of what is learned; null: on others, or where nobody knows.
const endOf = c => c.key === data.ends.quantity ? data.ends.dense : null;
const endsText = () => data.ends.dense === null ? "" : "dense: " + human(data.ends.quantity, String(data.ends.dense)) +
    (data.ends.constant === null ? "" : ", a constant answer: " + human(data.ends.quantity, String(data.ends.constant)));

// Lines of the axis: budgets of the devices, and what the space demands.
function limitsOf(c) {
    const several = data.devices.length > 1, lines = data.devices.filter(d => d.budget[c.key] > 0)
        .map(d => [d.budget[c.key], several ? "budget of " + d.name : "budget"]);
    return [...lines, ...data.limits.filter(([key]) => key === c.key).map(([, value]) => [value, "asked for"])];
}

function axis(c, from, to, logarithmic) {
    const log = logarithmic && c.numeric && c.low > 0 && c.high >= 2 * c.low, discrete = c.choice || !c.numeric;
    const f = log ? Math.log10 : v => v;
    let low = f(c.low), high = f(c.high);
    const near = limitsOf(c).filter(([v]) => v <= 1.6 * c.high && (v >= c.low / 1.6 || !log));
    for (const v of [...near.map(([v]) => v), ...(endOf(c) !== null ? [endOf(c)] : [])]) if (!log || v > 0) { low = Math.min(low, f(v)); high = Math.max(high, f(v)); }
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const room = (high - low) * 0.04, [prefixed, per] = discrete ? ["", 1] : prefixBetween(unitOf(c.key), c.low, c.high);
    low -= room; high += room;
    const place = v => from + (f(v) - low) / (high - low) * (to - from);
    const value = p => { const t = low + (p - from) / (to - from) * (high - low); return log ? 10 ** t : t; };
    let ticks = [];
    if (discrete) ticks = c.values;
    else if (log) {
        const shift = Math.log10(per), a = low + shift, b = high + shift; // ticks are round in the unit that is shown
        const steps = b - a > 3 ? [1] : b - a > 1.3 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
        for (let d = Math.floor(a); d <= b; d++)
            for (const s of steps) if (Math.log10(s * 10 ** d) >= a && Math.log10(s * 10 ** d) <= b) ticks.push(s * 10 ** d / per);
    } else {
        const rough = (high - low) * per / 5, power = 10 ** Math.floor(Math.log10(rough));
        const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
        for (let v = Math.ceil(low * per / step) * step; v <= high * per; v += step) ticks.push(+v.toPrecision(12) / per);
    }
    if (ticks.length < 2 && c.low < c.high) ticks = [c.low, c.high];
    const label = v => discrete ? nameOf(c, v) : plain(+(v * per).toPrecision(6));
    return { place, value, ticks, label, limits: near, head: title(c.key) + (prefixed && ", " + prefixed) };
}

// Ticks at least `apart` from one another.
function sparse(a, apart) {
    let last = -Infinity;
    return a.ticks.map(t => [t, a.place(t)]).sort((p, q) => p[1] - q[1]).filter(([, p]) => p - last >= apart && ((last = p), true));
}

// ---- colours: a value each where there are few, else six equal parts of the range ----
function colouring(c) {
    if (c.values.length <= 6) {
        const unlike = !c.numeric, count = c.values.length;
        const colour = k => unlike ? hues[k] : scale[count < 2 ? 2 : Math.round(5 * k / (count - 1))];
        return { group: v => c.values.indexOf(v), colour, names: c.values.map(v => nameOf(c, v)) };
    }
    const step = (c.high - c.low) / 6, edge = k => c.numeric ? c.choice ? plain(Math.ceil(c.low + k * step)) : quantity(c.low + k * step, unitOf(c.key)) : c.names[Math.round(c.low + k * step)];
    return { group: v => Math.min(5, Math.floor((v - c.low) / step)), colour: k => scale[k],
             names: [0, 1, 2, 3, 4, 5].map(k => k < 5 ? "from " + edge(k) : `${edge(5)} to ${nameOf(c, c.high)}`) };
}

// ---- points ----
const scatter = { left: 70, right: 14, top: 14, bottom: 46 };

// The stairs of what is attained in two columns that each have a better direction; "": one has none.
function stairs(cx, cy, x, y) {
    const [bx, by] = [better(cx.key), better(cy.key)];
    if (!bx || !by || !cx.numeric || !cy.numeric) return "";
    const rows = front.rows.map((_, i) => i).filter(i => isFinite(cx.value[i]) && isFinite(cy.value[i]))
        .sort((i, j) => bx * (cx.value[j] - cx.value[i]) || by * (cy.value[j] - cy.value[i]));
    let best = -Infinity, path = "";
    for (const i of rows) {
        if (by * cy.value[i] <= best) continue;
        best = by * cy.value[i];
        path += path ? `H${tenths(x.place(cx.value[i]))}V${tenths(y.place(cy.value[i]))}` : `M${tenths(x.place(cx.value[i]))} ${tenths(y.place(cy.value[i]))}`;
    }
    return path;
}

function drawAxes(svg, s, cx, cy, x, y) {
    const bottom = s.height - s.bottom, right = s.width - s.right, wide = cx.choice || !cx.numeric ? 12 + 6.2 * Math.max(...x.ticks.map(t => cut(x.label(t), 14).length)) : 44;
    for (const [t, p] of sparse(x, wide)) svg.append(element("line", { class: "grid", x1: p, x2: p, y1: s.top, y2: bottom }),
        element("text", { x: p, y: bottom + 16, "text-anchor": "middle" }, cut(x.label(t), 14)));
    for (const [t, p] of sparse(y, 18)) svg.append(element("line", { class: "grid", x1: s.left, x2: right, y1: p, y2: p }),
        element("text", { x: s.left - 6, y: p + 4, "text-anchor": "end" }, cut(y.label(t), 9)));
    const across = (p, text, more) => svg.append(element("line", { ...more, x1: p, x2: p, y1: s.top, y2: bottom }),
        element("text", { x: p - 4, y: s.top + 10, class: "tick", "text-anchor": "end", transform: `rotate(-90 ${p - 4} ${s.top + 10})` }, text));
    const up = (p, text, more) => svg.append(element("line", { ...more, x1: s.left, x2: right, y1: p, y2: p }),
        element("text", { x: right - 4, y: p - 4, class: "tick", "text-anchor": "end" }, text));
    const dense = { stroke: "currentColor", "stroke-dasharray": "6 3", opacity: 0.6 }, budget = { stroke: "var(--mark)", "stroke-dasharray": "8 3", "stroke-width": 1.5 };
    if (endOf(cx) !== null) across(x.place(endOf(cx)), "dense", dense);
    if (endOf(cy) !== null) up(y.place(endOf(cy)), "dense", dense);
    for (const [v, name] of x.limits) across(x.place(v), `${name}, ${quantity(v, unitOf(cx.key))}`, budget);
    for (const [v, name] of y.limits) up(y.place(v), `${name}, ${quantity(v, unitOf(cy.key))}`, budget);
    svg.append(element("text", { x: (s.left + right) / 2, y: s.height - 8, "text-anchor": "middle" }, x.head),
        element("text", { x: 14, y: (s.top + bottom) / 2, transform: `rotate(-90 14 ${(s.top + bottom) / 2})`, "text-anchor": "middle" }, y.head));
}

const valueOf = (c, text) => c.numeric ? Number(text) : c.names.indexOf(text);
const pointOf = (i, cx, cy, x, y) => [x.place(valueOf(cx, textsOf(i)[cx.place])), y.place(valueOf(cy, textsOf(i)[cy.place]))];
const marks = { star: r => `M-${r} 0H${r}M0 -${r}V${r}M-${0.7 * r} -${0.7 * r}L${0.7 * r} ${0.7 * r}M-${0.7 * r} ${0.7 * r}L${0.7 * r} -${0.7 * r}`,
    diamond: r => `M0 -${r}L${r} 0L0 ${r}L-${r} 0z` };

function mark(svg, s, [x, y], form, radius, name) {
    if (!(x >= s.left && x <= s.width - s.right && y >= s.top && y <= s.height - s.bottom)) return false;
    svg.append(element("path", { d: form(radius), transform: `translate(${tenths(x)} ${tenths(y)})`, fill: "none", stroke: "var(--mark)", "stroke-width": 2.5 }, element("title", {}, name)));
    return true;
}

function drawLegend(cx, cy, cc, colours, drawn) {
    const beyond = [...new Set([cx, cy])].flatMap(c => limitsOf(c).filter(([v]) => v > 1.6 * c.high).slice(0, 3).map(([v, name]) => `${name} of ${title(c.key)}: ${quantity(v, unitOf(c.key))}, beyond the axis`));
    at("legend").replaceChildren(title(cc.key) + ":", ...keys(colours.names.map((name, k) => [name, colours.colour(k)])), element("br", {}),
        [drawn.line && "\u2014 best of the two axes", "\u2733 recommended", drawn.shown && "\u25c7 shown below", "\u25ef pointed at",
            (endOf(cx) !== null || endOf(cy) !== null) && `\u254c\u254c ${endsText()}`, ...beyond].filter(Boolean).join("\u2003"));
}

function drawScatter() {
    const s = scatter, cx = column(at("x").value), cy = column(at("y").value), cc = column(at("colour").value);
    s.width = at("scatter").clientWidth || 960;
    s.height = Math.round(Math.max(300, Math.min(440, 0.8 * s.width)));
    const x = axis(cx, s.left, s.width - s.right, at("logx").checked), y = axis(cy, s.height - s.bottom, s.top, at("logy").checked);
    const svg = element("svg", { viewBox: `0 0 ${s.width} ${s.height}`, tabindex: 0, role: "application",
        "aria-label": `${y.head} against ${x.head}; arrow keys go through the designs, Enter selects one` });
    drawAxes(svg, s, cx, cy, x, y);
    // Points as strokes of no length with round or square ends: one path for each colour, however many designs.
    const chosen = new Uint8Array(front.rows.length), colours = colouring(cc), paths = Array.from({ length: 1 + colours.names.length }, () => []);
    for (const i of within) chosen[i] = 1;
    s.points = [];
    for (let i = 0; i < front.rows.length; i++) {
        const px = x.place(cx.value[i]), py = y.place(cy.value[i]);
        if (!isFinite(px) || !isFinite(py)) continue;
        paths[chosen[i] ? 1 + Math.max(0, colours.group(cc.value[i]) || 0) : 0].push(`M${tenths(px)} ${tenths(py)}h0`);
        if (chosen[i]) s.points.push([px, py, i]);
    }
    paths.forEach((path, k) => svg.append(element("path", { d: path.join(""), fill: "none", "stroke-linecap": !cc.numeric && k % 2 === 0 ? "square" : "round",
        stroke: k ? colours.colour(k - 1) : "var(--faint)", "stroke-width": k ? 6 : 3 })));
    s.points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const line = stairs(cx, cy, x, y);
    svg.append(element("path", { class: "stairs", d: line, fill: "none", stroke: "var(--ink)", "stroke-width": 1 }));
    if (advisedRow >= 0) mark(svg, s, pointOf(advisedRow, cx, cy, x, y), marks.star, 9, `design ${data.advised}, recommended`);
    const drawn = mark(svg, s, pointOf(selected, cx, cy, x, y), marks.diamond, 9, "design " + idOf(selected));
    s.ring = element("circle", { r: 8, fill: "none", stroke: "var(--ink)", "stroke-width": 2 });
    svg.append(s.ring);
    listen(svg);
    const held = at("scatter").contains(document.activeElement);
    at("scatter").replaceChildren(svg);
    if (held) svg.focus({ preventScroll: true });
    drawLegend(cx, cy, cc, colours, { line, shown: drawn });
}

function nearest(svg, event) {
    const box = svg.getBoundingClientRect(), k = scatter.width / box.width;
    const mx = (event.clientX - box.left) * k, my = (event.clientY - box.top) * k;
    let best = -1, least = 900;
    for (const [px, py, i] of scatter.points) {
        const distance = (px - mx) ** 2 + (py - my) ** 2;
        if (distance < least) { least = distance; best = i; }
    }
    return best;
}

function listen(svg) {
    svg.addEventListener("pointermove", event => { const i = nearest(svg, event); tell(i, event.clientX, event.clientY); if (i >= 0) setFocus(i); });
    svg.addEventListener("pointerleave", () => tell(-1));
    svg.addEventListener("blur", () => tell(-1));
    svg.addEventListener("click", event => { const i = nearest(svg, event); if (i >= 0) select(i); });
    svg.addEventListener("keydown", event => {
        const { points } = scatter, last = points.length - 1, now = points.findIndex(p => p[2] === focus);
        const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: last }[event.key];
        if (event.key === "Escape") tell(-1);
        if (event.key === "Enter" && now >= 0) select(focus);
        if (next === undefined || last < 0) return;
        event.preventDefault();
        const [px, py, i] = points[Math.max(0, Math.min(last, next))], box = svg.getBoundingClientRect(), k = box.width / scatter.width;
        setFocus(i);
        tell(i, box.left + px * k, box.top + py * k);
    });
}

function setFocus(i) {
    focus = i;
    const p = scatter.points.find(q => q[2] === i);
    scatter.ring.setAttribute("visibility", p ? "visible" : "hidden");
    if (p) { scatter.ring.setAttribute("cx", p[0]); scatter.ring.setAttribute("cy", p[1]); }
    parallel.line.setAttribute("d", i >= 0 ? lineOf(i) : "");
}

// Another design: the line below the figure says so, and every panel shows it.
function show(i) {
    selected = i;
    const back = element("button", { type: "button" }, advisedRow >= 0 ? "back to the recommended one" : "back");
    back.addEventListener("click", () => select(advisedRow >= 0 ? advisedRow : ownRow));
    at("selected").replaceChildren(element("b", {}, `Design ${idOf(i)}`), ": " + objectives.filter(column).map(key => `${title(key)} ${human(key, textsOf(i)[column(key).place])}`).join(", ") +
        "; the figures below are its own. ", ...(idOf(i) === String(data.advised) ? [] : [back]));
    drawDesign(i);
}

function select(i) {
    show(i);
    focus = i;
    draw();
}

// ---- parallel coordinates: upright axes, or lying ones on a narrow page ----
const parallel = {};

function corner(k, v) {
    const p = parallel, along = isFinite(v) ? Math.round(p.axis[k].place(v)) : p.nowhere;
    return p.lying ? along + " " + p.across[k] : p.across[k] + " " + along;
}

const lineOf = i => shown.map((c, k) => (k ? "L" : "M") + corner(k, c.value[i])).join("");

// Each stretch between two axes once, in three paths by how many designs share it.
function stretches(rows, most) {
    const paths = [[], [], []];
    for (let k = 0; k + 1 < shown.length; k++) {
        const count = new Map();
        for (const i of rows) {
            const key = parallel.bin[k][i] << 12 | parallel.bin[k + 1][i];
            count.set(key, (count.get(key) || 0) + 1);
        }
        const [p, q] = [parallel.across[k], parallel.across[k + 1]];
        for (const [key, n] of count) {
            const u = key >> 12, v = key & 4095;
            paths[n > most / 20 ? 2 : n > most / 200 ? 1 : 0].push(parallel.lying ? `M${u} ${p}L${v} ${q}` : `M${p} ${u}L${q} ${v}`);
        }
    }
    return paths.map(path => path.join(""));
}

function drawParallel() {
    const p = parallel, n = shown.length, width = at("parallel").clientWidth || 960;
    p.lying = width < 70 * n;
    const height = p.lying ? 52 * n + 10 : 310, from = p.lying ? 12 : height - 14, to = p.lying ? width - 12 : 60;
    p.nowhere = p.lying ? 4 : height - 4;
    p.apart = n > 1 ? (width - 130) / (n - 1) : width;
    p.across = shown.map((_, k) => tenths(p.lying ? 34 + 52 * k : n > 1 ? 50 + k * p.apart : width / 2));
    p.axis = shown.map((c, k) => axis(c, from, to, k >= n - objectives.length));
    p.bin = shown.map((c, k) => Uint16Array.from(c.value, v => isFinite(v) ? Math.round(p.axis[k].place(v)) : p.nowhere));
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "parallel coordinates of choices and objectives; bounds can be written below" });
    if (within.length < front.rows.length)
        svg.append(element("path", { d: stretches(front.rows.map((_, i) => i), Infinity)[0], fill: "none", stroke: "var(--faint)", "stroke-opacity": 0.25 }));
    stretches(within, within.length).forEach((d, k) => svg.append(element("path", { d, fill: "none", stroke: "var(--a)", "stroke-opacity": [0.25, 0.5, 0.9][k] })));
    p.line = element("path", { fill: "none", stroke: "var(--mark)", "stroke-width": 3 });
    svg.append(p.line, ...shown.map((c, k) => drawOneAxis(svg, c, k, Math.min(from, to), Math.max(from, to), width)));
    at("parallel").replaceChildren(svg);
}

// A name over two lines at most, broken at blanks; what is longer is cut.
function halves(text, most) {
    if (text.length <= most) return [text, ""];
    const blank = text.lastIndexOf(" ", most);
    return blank > 0 ? [text.slice(0, blank), cut(text.slice(blank + 1), most)] : [cut(text, most), ""];
}

function drawOneAxis(svg, c, k, low, high, width) {
    const p = parallel, a = p.axis[k], x = p.across[k], group = element("g", {});
    // A box along the axis from u to v, `half` wide to both sides.
    const box = (u, v, half, more) => element("rect", p.lying ? { x: u, y: x - half, width: v - u, height: 2 * half, ...more }
        : { x: x - half, y: u, width: 2 * half, height: v - u, ...more });
    group.append(element("line", p.lying ? { x1: low, x2: high, y1: x, y2: x, stroke: "var(--ink)" } : { x1: x, x2: x, y1: low, y2: high, stroke: "var(--ink)" }));
    const most = p.lying ? 14 : Math.max(4, Math.floor((Math.min(p.apart, width - x) - 10) / 6.2)), label = t => cut(a.label(t), most), longest = Math.max(...a.ticks.map(t => label(t).length));
    for (const [t, q] of sparse(a, p.lying ? 14 + 6 * longest : 18)) group.append(p.lying
        ? element("text", { x: q, y: x + 13, class: "tick", "text-anchor": q < low + 3 * longest ? "start" : q > high - 3 * longest ? "end" : "middle" }, label(t))
        : element("text", { x: x + 4, y: q + 4, class: "tick" }, label(t)));
    const tip = element("title", {}, a.head), head = (text, y) => element("text", p.lying ? { x: low, y, class: "tick", style: "fill:var(--ink)" }
        : { x, y, "text-anchor": k === 0 ? "start" : k + 1 === shown.length ? "end" : "middle", ...(k === 0 ? { dx: -44 } : k + 1 === shown.length ? { dx: 70 } : {}) }, text);
    const names = p.lying ? [a.head, ""] : halves(a.head, Math.max(6, Math.floor(p.apart / 7.6)));
    group.append(head(names[0], p.lying ? x - 8 : 16), head(names[1], p.lying ? x - 8 : 32), tip);
    if (bounds.has(c.key)) {
        const ends = bounds.get(c.key).map(v => a.place(Math.max(c.low, Math.min(c.high, v)))).sort((u, v) => u - v);
        group.append(box(ends[0] - 3, ends[1] + 3, 6, { fill: "var(--mark)", "fill-opacity": 0.3, stroke: "var(--mark)" }));
    }
    const hit = box(low - 8, high + 8, 14, { fill: "transparent", style: p.lying ? "cursor:ew-resize" : "cursor:ns-resize;touch-action:none" });
    let begin = null;
    const place = event => {
        const frame = svg.getBoundingClientRect(), ratio = svg.viewBox.baseVal.width / frame.width;
        return (p.lying ? event.clientX - frame.left : event.clientY - frame.top) * ratio;
    };
    hit.addEventListener("pointerdown", event => { begin = place(event); hit.setPointerCapture(event.pointerId); });
    hit.addEventListener("pointerup", event => {
        if (begin === null) return;
        const end = place(event), values = [a.value(begin), a.value(end)].sort((u, v) => u - v);
        if (Math.abs(end - begin) < 4) bound(c.key, c.low, c.high);
        else bound(c.key, ...values);
        begin = null;
    });
    group.append(hit);
    return group;
}

// ---- bounds: fields that stay, so that the focus does ----
const fields = new Map(); // key -> [from, to], or the one choice

function makeBounds() {
    at("bounds").replaceChildren(...shown.map(c => {
        const name = title(c.key), set = element("fieldset", {}, element("legend", {}, name));
        const list = (label, first) => element("select", { "aria-label": `${name}, ${label}` }, element("option", { value: "" }, first),
            ...c.values.map(v => element("option", { value: v }, nameOf(c, v))));
        const field = (label, end) => element("input", { type: "text", "aria-label": `${name}, ${label}`, placeholder: nameOf(c, c[end]) });
        const made = !c.numeric ? [list("value", "any")] : c.values.length <= 24 && c.choice ? [list("at least", "from"), list("at most", "to")]
            : [field("at least", "low"), field("at most", "high")];
        const read = (entry, otherwise) => {
            const value = entry.value.trim() === "" ? otherwise : entry.tagName === "SELECT" ? Number(entry.value) : amount(c.key, entry.value);
            entry.setCustomValidity(isNaN(value) ? `such as ${nameOf(c, otherwise)}` : "");
            return isNaN(value) ? otherwise : value;
        };
        const change = () => made.length === 1 ? bound(c.key, read(made[0], c.low), read(made[0], c.high)) : bound(c.key, read(made[0], c.low), read(made[1], c.high));
        for (const entry of made) entry.addEventListener("change", change);
        fields.set(c.key, made);
        set.append(...(made.length === 1 ? made : [made[0], " to ", made[1]]));
        return set;
    }));
}

// What holds, in the fields that do not have the focus.
function tellBounds() {
    for (const [key, made] of fields) {
        const c = column(key), [low, high] = bounds.get(key) || [c.low, c.high];
        const say = (entry, value, end) => {
            if (entry === document.activeElement && entry.tagName !== "SELECT") return;
            entry.value = made.length === 1 ? low === high ? String(low) : "" : value === c[end] ? ""
                : entry.tagName === "SELECT" ? String((end === "low" ? c.values.find(v => v >= value) : c.values.findLast(v => v <= value)) ?? "") : nameOf(c, value);
        };
        say(made[0], low, "low");
        if (made[1]) say(made[1], high, "high");
    }
}

// ---- the table ----
const csvText = () => [front.head, ...within.map(i => front.rows[i])].map(row => row.map(cell => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(",")).join("\n") + "\n";

function drawDesigns() {
    const c = column(order.key), listed = [columns[0], ...objectives.map(column).filter(Boolean), ...choices.filter(k => k.varies)];
    const sorted = [...within].sort((a, b) => (order.up ? 1 : -1) * (c.value[a] - c.value[b]) || a - b);
    const held = document.activeElement.dataset ? document.activeElement.dataset.sort : "";
    const head = element("tr", {}, ...listed.map(k => {
        const button = element("button", { type: "button", "data-sort": k.key }, title(k.key) + (k.key === order.key ? order.up ? " \u2191" : " \u2193" : ""));
        button.addEventListener("click", () => { order.up = k.key === order.key ? !order.up : true; order.key = k.key; drawDesigns(); writeAddress(); });
        return element("th", { scope: "col", "data-key": k.key }, button);
    }));
    at("designs").replaceChildren(head, ...sorted.slice(0, order.most).map((i, place) => {
        const choose = element("button", { type: "button", "data-sort": "row " + i }, idOf(i));
        choose.addEventListener("click", () => select(i));
        const row = element("tr", { class: (i === selected ? "chosen" : "") + (place < 10 ? "" : " later") }, element("td", { class: "number", title: idOf(i) }, choose),
            ...listed.slice(1).map(k => element("td", { ...(k.numeric ? { class: "number" } : {}), title: front.rows[i][k.place] }, human(k.key, front.rows[i][k.place]))));
        row.addEventListener("pointerenter", () => setFocus(i));
        return row;
    }));
    if (held) at("designs").querySelector(`[data-sort="${held}"]`)?.focus({ preventScroll: true });
    at("more").hidden = sorted.length <= order.most;
    at("more").textContent = `Show ${Math.min(200, sorted.length - order.most)} more of ${plain(sorted.length)}`;
}

function draw() {
    drawScatter();
    drawParallel();
    drawDesigns();
    setFocus(focus);
    writeAddress();
}

function startFront() {
    const varied = columns.filter(c => c.varies && c.values.length > 1);
    at("count").textContent = front.rows.length + " of " + front.rows.length + " designs";
    if (!varied.length) { drawDesign(ownRow); return; }
    for (const id of ["x", "y", "colour"]) at(id).append(...varied.map(c => element("option", { value: c.key }, title(c.key))));
    const vary = key => varied.includes(column(key));
    const first = [objectives.slice(1).find(vary), objectives[0], (shown.find(c => /rank/.test(c.key)) || shown[0] || {}).key];
    ["x", "y", "colour"].forEach((id, k) => { if (first[k] && vary(first[k])) at(id).value = first[k]; });
    for (const [id, key] of [["logx", first[0]], ["logy", first[1]]]) { const c = column(key); at(id).checked = !!c && c.numeric && c.low > 0 && c.high >= 10 * c.low; }
    for (const form of ["axes", "bounds"]) at(form).addEventListener("submit", event => event.preventDefault());
    for (const id of ["x", "y", "colour", "logx", "logy"]) at(id).addEventListener("change", draw);
    at("clear").addEventListener("click", () => { bounds.clear(); filter(); tellBounds(); });
    at("csv").addEventListener("click", () => save(`${data.space.replace(/[^\w.-]+/g, "-")}-designs.csv`, csvText()));
    at("more").addEventListener("click", () => { order.most += 200; drawDesigns(); });
    makeBounds();
    const open = () => { readAddress(); show(selected); filter(); tellBounds(); };
    open();
    addEventListener("hashchange", open);
    let width = innerWidth, waiting;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; draw(); drawDesign(selected); } }, 150); });
}
