"use strict";
// Errors are counted where a test finds them.
document.body.dataset.errors = "0";
window.addEventListener("error", () => { document.body.dataset.errors = String(+document.body.dataset.errors + 1); });

const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const svgNames = new Set(["svg", "g", "path", "rect", "line", "text", "circle", "title"]);

function element(name, attributes, ...children) {
    const made = svgNames.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
}

// A record of CSV (RFC 4180): every other part between quotes is inside of them, an empty part outside is a doubled quote.
function cells(record) {
    const parts = record.split('"'), row = [""];
    parts.forEach((part, k) => {
        if (k % 2) row[row.length - 1] += part;
        else if (part === "" && k && k + 1 < parts.length) row[row.length - 1] += '"';
        else {
            const outside = part.split(",");
            row[row.length - 1] += outside[0];
            for (let i = 1; i < outside.length; i++) row.push(outside[i]);
        }
    });
    return row;
}

function parse(text) {
    const rows = [];
    let record = "";
    for (const line of text.split(/\r?\n/)) {
        record += record && "\n";
        record += line;
        if (record.split('"').length % 2 === 0) continue; // a quoted cell goes on
        if (record) rows.push(cells(record));
        record = "";
    }
    return { head: rows[0] || [], rows: rows.slice(1) };
}

// ---- titles, units, prefixes: the table of src/text/words.c, which everything that tenfold prints reads ----
const title = key => (data.words[key] || [key.replaceAll("_", " ")])[0];
const unitOf = key => (data.words[key] || ["", ""])[1];
const better = key => (data.words[key] || ["", "", 0])[2]; // -1: less, 1: more, 0: neither

function prefixOf(unit, value) {
    const table = data.prefixes[unit], size = Math.abs(value) * 1.0005;
    if (!table) return [unit, 1];
    let i = table.length - 1;
    while (i > 0 && !(size * table[i][1] >= table[i][2])) i--;
    if (value === 0 || !isFinite(value)) for (i = 0; i + 1 < table.length && table[i][1] !== 1;) i++;
    return table[i];
}

const prefixBetween = (unit, least, most) => {
    const [a, b] = [Math.abs(least), Math.abs(most)].sort((p, q) => p - q);
    return prefixOf(unit, a > 0 ? Math.max(Math.sqrt(a) * Math.sqrt(b), b / 2000) : b);
};
const thousands = text => text.replace(/\B(?=(\d{3})+$)/g, ",");

// With n digits behind the point; a tie goes to the even digit, as in C.
function fixed(value, n) {
    const scaled = value * 10 ** n, below = Math.floor(scaled);
    const tie = scaled - below === 0.5 && Number.isInteger(value * 2 ** (n + 1));
    return tie ? ((below % 2 ? below + 1 : below) / 10 ** n).toFixed(n) : value.toFixed(n);
}

// Three or four significant digits.
function plain(value) {
    const size = Math.abs(value);
    if (!isFinite(value)) return "-";
    if (size >= 9999.5 && size < 1e15) return (value < 0 ? "-" : "") + thousands(String(Math.round(size)));
    if (Number.isInteger(value)) return String(value);
    if (size >= 99.95) return fixed(value, 0);
    if (size >= 1e-3) return fixed(value, size < 0.0995 ? 4 : size < 0.9995 ? 3 : size < 9.995 ? 2 : 1);
    return String(+value.toPrecision(3));
}

function quantity(value, unit) {
    const [prefixed, scale] = prefixOf(unit, value);
    return plain(value * scale) + (prefixed && " " + prefixed);
}

// 4.8e-7 as people write it.
function power(value) {
    const [digits, exponent] = value.toExponential(1).split("e");
    return value === 0 ? "0" : `${digits}\u00b710${[...String(+exponent)].map(c => c === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[c]).join("")}`;
}

const many = count => count < 1e18 ? quantity(count, "") : power(Number(count));

// A text of front.csv as a person reads it; ids and choices as they are typed.
const human = (key, text) => key === "rtl" && text !== "yes" ? "no, for its " + text.slice(text.lastIndexOf(".") + 1).replaceAll("_", " ")
    : data.choices.includes(key) && /^\d{5,}$/.test(text) ? thousands(text) : key === "id" || data.choices.includes(key) || text === "" || !isFinite(Number(text)) ? text
    : quantity(Number(text), unitOf(key));

// The other way: "2.4 ms", "7 MiB", "0.5", in the unit that is kept; NaN: it is no such quantity.
function amount(key, text) {
    const found = /^\s*([-+]?[\d.,]+(?:e[-+]?\d+)?)\s*(.*?)\s*$/i.exec(text);
    if (!found) return NaN;
    const prefix = (data.prefixes[unitOf(key)] || []).find(([name]) => name.toLowerCase() === found[2].replace(/^u(?=.)/, "\u00b5").toLowerCase());
    return found[2] && !prefix ? NaN : Number(found[1].replaceAll(",", "")) / (prefix && found[2] ? prefix[1] : 1);
}

// ---- designs: one for each row of front.csv, in its order; -1: the page's own, where it is not among them ----
const front = parse(data.front), recommended = parse(data.recommended);
const sweep = JSON.parse(data.sweep);
const objectives = sweep.objectives.map(o => o.quantity);
const own = data.design.texts; // of the design that the page opens with, under the head of front.csv
const ownRow = front.rows.findIndex(row => row[0] === own[0]);
const advisedRow = front.rows.findIndex(row => row[0] === String(data.advised));
const textsOf = i => i < 0 ? own : front.rows[i];
const idOf = i => textsOf(i)[0];
const knee = recommended.rows.length ? recommended.rows[0][recommended.head.indexOf("id")] : "";

// What a column holds as numbers; names are counted in their order. Made when it is first asked for.
function numbersOf(place) {
    const texts = front.rows.map(row => row[place]), numbers = texts.map(Number);
    const numeric = numbers.every((v, i) => v === v && texts[i] !== "" || texts[i] === "nan");
    const names = numeric ? [] : [...new Set(texts)].sort(), placeOf = new Map(names.map((name, i) => [name, i]));
    const value = numeric ? numbers : texts.map(text => placeOf.get(text));
    const values = [...new Set(value)].filter(isFinite).sort((a, b) => a - b);
    return { numeric, names, value, values, low: values[0], high: values[values.length - 1] };
}

const columns = front.head.map((key, place) => {
    let of;
    const made = name => (of = of || numbersOf(place))[name];
    return { key, place, choice: data.choices.includes(key),
             varies: front.rows.some(row => row[place] !== front.rows[0][place]),
             get numeric() { return made("numeric"); }, get names() { return made("names"); }, get value() { return made("value"); },
             get values() { return made("values"); }, // the different ones, rising
             get low() { return made("low"); }, get high() { return made("high"); } };
});
const byKey = new Map(columns.map(c => [c.key, c]));
const column = key => byKey.get(key);
const choices = columns.filter(c => c.choice);
const shown = [...choices, ...objectives.map(column)].filter(c => c && c.varies && c.low < c.high);
const nameOf = (c, v) => c.numeric ? c.choice ? plain(v) : quantity(v, unitOf(c.key)) : c.names[v];

function table(parsed) {
    return element("table", {}, element("tr", {}, ...parsed.head.map(h => element("th", { scope: "col" }, title(h)))),
        ...parsed.rows.map(row => element("tr", {}, ...row.map((cell, k) => {
            const number = isFinite(Number(cell)) && cell !== "";
            return element("td", number ? { class: "number", title: cell } : {}, number ? quantity(Number(cell), /^seconds/.test(parsed.head[k]) ? "s" : "") : cell);
        }))));
}

const heading = text => element("th", { scope: "row" }, text);

// Lines of a bar with its name before and a remark behind it. parts: [value, colour, over]: side by side, or over the others;
// cap: a stroke at that value.
function fillBars(place, rows, most) {
    const share = value => `${Math.min(100, 100 * value / most)}%`;
    place.replaceChildren(...rows.map(row => element("div", {}, element("span", {}, row.name),
        element("span", { class: "bar" }, ...row.parts.map(([value, colour, over]) =>
            element("i", { style: `width:${share(value)};background:${colour}`, ...(over ? { class: "over" } : {}) })),
            ...(row.cap ? [element("i", { class: "cap", style: `left:${share(row.cap)}` })] : [])),
        element("span", {}, row.text))));
}

const keys = list => list.flatMap(([name, colour]) => [element("i", { class: "key", style: "background:" + colour }), name + " "]);

// A command that one types, and a button that copies it.
function command(text) {
    const button = element("button", { type: "button", class: "copy" }, "copy");
    button.addEventListener("click", () => {
        const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
        const field = element("textarea", {}, text);
        if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
        else { document.body.append(field); field.select(); document.execCommand("copy"); field.remove(); button.focus(); done(); }
    });
    return element("span", { class: "command" }, element("code", {}, text), button);
}

function save(name, text) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Anchors would take the place of the state in the address.
function listenLinks() {
    for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", event => {
        event.preventDefault();
        at(link.getAttribute("href").slice(1)).scrollIntoView();
    });
}

function start() {
    listenLinks();
    drawPage();
    startFront();
    document.body.dataset.ready = "yes";
    performance.mark("ready");
}
