// ---- what stands whatever design is shown: the recommendation in words, validation, provenance; and the panels of a design ----
const phases = ["forward", "input gradient", "weight gradient", "update"];
const phaseColour = ["var(--a)", "var(--b)", "var(--c)", "var(--d)"];
const phaseKeys = () => keys(phases.map((name, k) => [name, phaseColour[k]]));

function drawPage() {
    at("title").textContent = data.space;
    document.title = data.space + " - tenfold report";
    at("subtitle").textContent = `${data.model} on ${data.device}: ${many(sweep.evaluated)} of ${many(sweep.designs)} designs evaluated, ` +
        `${many(sweep.feasible)} fit, ${plain(front.rows.length)} on the front` + (sweep.complete === "exhausted" ? "" : ` (unfinished: ${sweep.complete})`) +
        (sweep.shards ? ` (part ${sweep.shard} of ${sweep.shards}: not the front of the whole space)` : "");
    at("advice").replaceChildren(...data.advice.trim().split("\n").flatMap(line => {
        const [label, text] = line.split("\t"), typed = label === "next" && /^(tenfold .*?) \((.*)\)$/.exec(text);
        return [element("dt", {}, label), element("dd", {}, ...(typed ? [command(typed[1]), ` (${typed[2]})`] : [text]))];
    }));
    drawOthers();
    drawValidation();
    drawProvenance();
}

function drawOthers() {
    const listed = ["reason", "id", ...objectives, ...choices.filter(c => c.varies).map(c => c.key)].filter(key => recommended.head.includes(key));
    at("others").replaceChildren(element("tr", {}, ...listed.map(key => element("th", { scope: "col" }, title(key)))),
        ...recommended.rows.map(row => element("tr", {}, ...listed.map(key => {
            const cell = row[recommended.head.indexOf(key)], number = cell !== "" && isFinite(Number(cell));
            return element("td", number ? { class: "number", title: cell } : {}, human(key, cell));
        }))));
}

function drawValidation() {
    const section = at("validation"), checks = data.validation ? parse(data.validation) : null;
    const say = (...parts) => section.querySelector("p").replaceChildren(...parts);
    if (!checks) return say("Not executed yet; this runs the recommended design's flows and checks what was counted: ", command(`tenfold validate ${data.folder}`));
    const ok = checks.head.indexOf("ok"), worst = name => Math.max(...checks.rows.map(row => Number(row[checks.head.indexOf(name)]) || 0));
    const failed = checks.rows.filter(row => row[ok] !== "yes").length;
    say(failed ? `${plain(failed)} of ${plain(checks.rows.length)} checks FAIL.`
        : `All ${plain(checks.rows.length)} checks hold: run on a CPU, the flows did as many multiply-adds and kept as many numbers as was counted, and their values are right (relative error at most ${power(worst("relative_error"))}).`);
    section.querySelector("details").hidden = false;
    section.querySelector("details div").replaceChildren(table(checks));
}

function drawProvenance() {
    const said = [["command", sweep.command], ["date", sweep.date], ["tenfold", sweep.tenfold], ["model", data.model], ["device", data.device],
        ["method", `${sweep.method}, ${sweep.complete === "exhausted" ? "every design seen" : sweep.complete}${sweep.exact ? ", the front is exact" : ""}`],
        ["objectives", sweep.objectives.map(o => (o.direction === "maximise" ? "most " : "least ") + title(o.quantity)).join(", ")],
        ["constraints", (sweep.constraints || []).map(c => typeof c === "string" ? c : JSON.stringify(c)).join(", ") || "none but what the device has"],
        ...Object.entries(sweep.sha256 || {}).map(([k, v]) => ["SHA-256 of the " + k.replaceAll("_", " "), v]),
        ["unverified figures of the device file", data.design.unverified.join(", ") || "none"]];
    at("provenance").querySelector("div").replaceChildren(element("table", {}, ...said.filter(([, v]) => v)
        .map(([k, v]) => element("tr", {}, heading(k), element("td", {}, element("code", {}, String(v)))))));
}

// ---- one design ----

// What was explained of it; undefined: the page does not carry it.
const panelsOf = i => idOf(i) === own[0] ? data.design.panels : data.panels[i];
const cellOf = (i, key) => textsOf(i)[column(key).place];

// At least as good as it in every objective and better in one; false where a value is not known.
function beats(row, texts) {
    const gains = objectives.map(key => better(key) * (row[column(key).place] - texts[column(key).place]));
    return gains.every(gain => gain >= 0) && gains.some(gain => gain > 0);
}

function standing(i) {
    if (i >= 0) return idOf(i) === String(data.advised) ? "which is recommended" : idOf(i) === knee ? "the knee of the front" : "on the front";
    const has = data.devices[panelsOf(i)[3]].has, lacks = Object.keys(has).filter(key => key !== "on_chip_bytes" && Number(cellOf(i, key)) > has[key]);
    if (lacks.length) return `which does not fit: it takes more ${lacks.map(title).join(", ")} than there are`;
    const above = front.rows.filter(row => beats(row, own)).length;
    return "not on the front" + (above ? `: ${plain(above)} of its designs are at least as good in every objective and better in one` : "");
}

// Whether hardware of it can be generated, before what it would cost.
const hardware = i => !column("rtl") ? "" : cellOf(i, "rtl") === "yes" ? "; tenfold rtl generates it" : `; no hardware is generated of it, as there is no template for key ${cellOf(i, "rtl")}`;

function drawNumbers(i) {
    const beside = advisedRow >= 0 && idOf(i) !== String(data.advised), known = c => textsOf(i)[c.place] !== "nan" && textsOf(i)[c.place] !== "";
    const cell = (c, row) => element("td", { ...(c.numeric ? { class: "number" } : {}), title: textsOf(row)[c.place] }, human(c.key, textsOf(row)[c.place]));
    const head = element("tr", {}, ...["", "design " + idOf(i), ...(beside ? [`design ${data.advised} (recommended)`] : [])].map(t => element("th", { scope: "col" }, t)));
    const lines = list => [head.cloneNode(true), ...list.map(c => element("tr", {}, heading(title(c.key)), cell(c, i), ...(beside ? [cell(c, advisedRow)] : [])))];
    at("headline").replaceChildren(...objectives.filter(column).map(key => element("div", {},
        element("b", { title: cellOf(i, key) }, human(key, cellOf(i, key))), element("span", {}, title(key)))));
    at("choices").replaceChildren(...lines(choices));
    at("quantities").replaceChildren(...lines(columns.filter(c => c.place && !c.choice && known(c))));
}

function drawResources(i) {
    const panels = panelsOf(i), device = data.devices[panels ? panels[3] : 0];
    fillBars(at("resources"), Object.keys(device.has).filter(key => key !== "on_chip_bytes").map(key => {
        const used = Number(cellOf(i, key)), has = device.has[key], budget = device.budget[key];
        return { name: title(key), parts: [[has ? used / has : 0, used > budget ? "var(--mark)" : "var(--a)"]], cap: budget < has ? budget / has : 0,
            text: has ? `${quantity(used, "")} of ${quantity(has, "")} (${plain(100 * used / has)} %)` + (budget < has ? `, budget ${quantity(budget, "")}` : "") : "the device has none" };
    }), 1);
}

function drawMemories(panels) {
    const [list, [more, moreCapacity, moreStored]] = [panels[4], panels[5]], colour = ["var(--a)", "var(--c)", "var(--b)"], rows = [];
    for (let k = 0; k < list.length; k += 8) {
        const [name, others, style, count, width, depth, capacity, stored] = list.slice(k, k + 8);
        rows.push({ name: data.names[name] + (others ? ` and ${plain(others)} more` : ""), capacity, stored, style,
            text: `${quantity(capacity / 8, "B")}: ${count > 1 ? plain(count) + " of " : ""}${plain(depth)} rows of ${plain(width)} bits` });
    }
    if (more) rows.push({ name: `${plain(more)} smaller memories`, capacity: moreCapacity, stored: moreStored, style: 0, text: quantity(moreCapacity / 8, "B") });
    fillBars(at("memory").querySelector("div"), rows.map(m => ({ name: m.name, text: m.text,
        parts: [[m.capacity, `color-mix(in srgb, ${colour[m.style]} 35%, transparent)`], [m.stored, colour[m.style], true]] })),
        Math.max(1, ...rows.map(m => m.capacity)));
    at("memory").querySelector(".note").replaceChildren(...keys([["block RAM", colour[0]], ["UltraRAM", colour[1]], ["LUTRAM", colour[2]]]));
}

function drawTimeline(panels) {
    const [cycles, clock_MHz] = panels, list = panels[6], figure = at("timeline").querySelector("figure");
    const width = figure.clientWidth || 960, row = 44, left = 84, kernels = list.length / 3, height = row * kernels + 26, parts = 400;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "operations by kernel over time" });
    const x = part => (left + part / parts * (width - left - 60)).toFixed(1), seconds = cycles / clock_MHz / 1e6, [prefixed, scale] = prefixOf("s", seconds);
    for (let r = 0; r < kernels; r++) {
        const [name, busy, runs] = list.slice(3 * r, 3 * r + 3), paths = ["", "", "", ""], top = 6 + row * r;
        let from = 0, critical = "";
        for (const [, count, is] of runs.matchAll(/(\d*)([a-zA-Z.])/g)) {
            const to = from + Number(count || 1), phase = "fiwu".indexOf(is.toLowerCase());
            if (phase >= 0) paths[phase] += `M${x(from)} ${top}H${x(to)}v26H${x(from)}z`;
            if (is !== "." && is < "a") critical += `M${x(from)} ${top + 30}H${x(to)}`;
            from = to;
        }
        svg.append(element("text", { x: left - 8, y: top + 17, "text-anchor": "end" }, data.names[name]),
            element("text", { x: width - 54, y: top + 17, class: "dim" }, (busy / 10).toFixed(1) + " %"),
            ...paths.map((d, k) => element("path", { fill: phaseColour[k], d })), element("path", { stroke: "var(--mark)", "stroke-width": 3, fill: "none", d: critical }));
    }
    for (const share of [0, 0.25, 0.5, 0.75, 1]) svg.append(element("text", { x: x(share * parts), y: height - 8, class: "tick", "text-anchor": "middle" },
        plain(+(share * seconds * scale).toPrecision(3)) + (share === 1 ? " " + prefixed : "")));
    figure.replaceChildren(svg, element("p", { class: "note" }, ...phaseKeys(), ...keys([["critical path", "var(--mark)"]]), "; right: share of the time that a kernel is busy"));
}

function drawLayers(panels) {
    const [cycles, clock_MHz] = panels, list = panels[7], rows = [];
    for (let k = 0; k < list.length; k += 6) {
        const [name, layers, ...times] = list.slice(k, k + 6), all = times.reduce((a, b) => a + b, 0);
        rows.push({ name: (data.names[name] || "other layers") + (layers > 1 ? ` (${plain(layers)})` : ""), all, parts: times.map((t, p) => [t, phaseColour[p]]),
            text: `${quantity(all / clock_MHz / 1e6, "s")}, ${plain(+(100 * all / cycles).toFixed(1))} %` });
    }
    fillBars(at("layers").querySelector("div"), rows, Math.max(1, ...rows.map(r => r.all)));
    at("layers").querySelector(".note").replaceChildren(...phaseKeys(), "; time that kernels are busy for the layer, and its share of the step");
}

// Every panel below the front.
function drawDesign(i) {
    const panels = panelsOf(i), id = idOf(i), point = `--point ${id}`;
    for (const [place, text] of [["shown", "Design "], ["memory", "Memory of design "], ["timeline", "Timeline of a step of design "], ["layers", "Time by layer of design "]])
        at(place).querySelector("h2").textContent = text + id;
    at("bound").textContent = `Design ${id}, ${standing(i)}${hardware(i)}. ${panels ? data.names[panels[2]].replace(/([^.])$/, "$1.") : ""}` + (endsText() ? ` What can be learned lies between these ends: ${endsText()}.` : "");
    drawNumbers(i);
    drawResources(i);
    at("commands").replaceChildren(command(`tenfold cost ${data.folder} ${point}`), " ", command(`tenfold export ${data.folder} ${point} -o OUT`));
    for (const place of ["memory", "timeline", "layers"]) at(place).classList.toggle("missing", !panels);
    if (panels) drawMemories(panels), drawTimeline(panels), drawLayers(panels);
    else at("bound").append(" This page carries the memories and times of the first 4,096 designs alone: ", command(`tenfold report ${data.folder} ${point}`));
}
