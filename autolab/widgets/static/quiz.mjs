// ---- quiz -----------------------------------------------------------------------------------------------------

// What to say to an answer that cannot be read: it is not an attempt, and a prediction does not show the truth for it.
function unread({ kind, options }, answer) {
  if (kind === "choice") return options.some((o) => o.text === answer) ? "" : "Choose an answer first.";
  if (kind === "number") return asNumber(answer) === null ? "Write a number, such as 0.5 or 1/3." : "";
  return kind === "shape" && asShape(answer) === null ? "Write a shape, such as 3, 4." : "";
}

// The same judgement as in Python (autolab/widgets/questions.py), so that a page without a kernel answers, too.
function judge(question, answer) {
  const { kind, options } = question;
  if (kind === "choice") {
    const option = options.find((o) => o.text === answer);
    return [option.right, option.why];
  }
  if (kind === "several") {
    const off = options.filter((o) => o.right !== answer.includes(o.text));
    const said = off.map((o) => `${o.right ? "Missing" : "Not"}: ${o.text}. ${o.why}`);
    return [!off.length, (off.length ? said : options.filter((o) => o.right).map((o) => o.why)).join(" ")];
  }
  if (kind === "order") {
    const at = options.findIndex((o, i) => o.text !== answer[i]);
    if (at < 0) return [true, question.why];
    const said = at ? `Up to step ${at} it is right.` : "The first step is another one.";
    const early = options.find((o) => o.text === answer[at])?.early;
    return [false, early ? `${said} Too early: ${answer[at]}. ${early}` : said];
  }
  const value = kind === "number" ? asNumber(answer) : asShape(answer);
  const equal = (other) => kind === "shape" ? String(value) === String(other)
    : Math.abs(value - other) <= question.tolerance * Math.max(1, Math.abs(other));
  if (equal(question.right)) return [true, question.why];
  const known = question.wrong.filter(([wrong]) => equal(wrong));
  if (kind === "number") known.sort(([a], [b]) => Math.abs(a - value) - Math.abs(b - value)); // the nearer mistake
  return [false, known.length ? known[0][1] : nearly(question, value)];
}

// What can be said about a wrong answer that nobody expected.
function nearly({ kind, right }, value) {
  if (kind === "number") {
    const slips = [
      [-right, "The size is right; look at the sign."],
      [2 * right, "Off by a factor of 2: what was counted twice?"],
      [right / 2, "Off by a factor of 2: what was left out?"],
      ...[-6, -3, -2, -1, 1, 2, 3, 6].map((k) => [right * 10 ** k, "The digits are right; count the powers of ten."]),
    ];
    const slip = slips.find(([wrong]) => right && Math.abs(value - wrong) <= 0.01 * Math.abs(wrong));
    return slip ? slip[1] : `It is ${value < right ? "larger" : "smaller"}.`;
  }
  if (value.length !== right.length) return `It has ${right.length} ${right.length === 1 ? "axis" : "axes"}.`;
  const sorted = (shape) => String([...shape].sort((a, b) => a - b));
  if (sorted(value) === sorted(right)) return "These lengths, in another order.";
  const off = right.map((_, axis) => axis).filter((axis) => value[axis] !== right[axis]);
  return `The number of axes is right; look at axis ${off.join(" and axis ")}.`;
}

// A number as people write it: 0.5, -2e-3, 1/3, 2^16 or 1,000,000.
function asNumber(text) {
  const plain = /^[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
  const [, left, sign, right = "1"] = text.replace(/[\s_]/g, "").replaceAll("\u2212", "-").replaceAll("**", "^").match(/^([^/^]+)(?:([/^])(.+))?$/) || [];
  if (![left, right].every((part) => plain.test(part))) return null;
  const [a, b] = [left, right].map((part) => Number(part.replaceAll(",", "")));
  const value = sign === "^" ? a ** b : a / b;
  return Number.isFinite(value) ? value : null;
}

function asShape(text) {
  const inside = text.trim().replace(/^torch\.Size\(/, "").match(/^[([]?\s*((?:\d+(?:\s*[,x×]\s*|\s+|(?![\d\s,x×])))*)[)\]]*$/);
  return inside && text.trim() ? (inside[1].match(/\d+/g) || []).map(Number) : null;
}

// `code` in a sentence.
function marked(sentence) {
  return sentence.split(/`([^`]+)`/).map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

let quizzes = 0; // radio buttons of one question share a name that no other question has

function quiz(model, el) {
  const questions = model.get("questions"), reveal = model.get("reveal");
  const own = `al-quiz-${quizzes++}`;
  const score = h("p", { class: "al-count", role: "status" });
  const asked = questions.map((question, i) => {
    const input = inputFor(question, `${own}-${i}`);
    const said = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
    const check = () => {
      const answer = input.read(), lacks = unread(question, answer);
      if (lacks) {
        said.classList.remove("al-right", "al-wrong");
        said.replaceChildren(lacks);
        return;
      }
      const [right, why] = judge(question, answer);
      const attempts = model.get("attempts").map((given) => [...given]);
      attempts[i].push([Array.isArray(answer) ? answer.join("; ") : answer, right]);
      show(right, why);
      change(model, { attempts });
    };
    const show = (right, why) => {
      const truth = reveal && !right ? ` It is ${question.shown}. ${question.why}` : "";
      said.classList.toggle("al-right", right);
      said.classList.toggle("al-wrong", !right);
      said.replaceChildren(h("b", {}, right ? "Right. " : reveal ? "Not this time. " : "Not yet. "), ...marked(why + truth));
    };
    const [given] = model.get("attempts")[i]?.at(-1) || []; // an answer of an earlier visit
    if (given !== undefined) {
      const answer = ["several", "order"].includes(question.kind) ? given.split("; ") : given;
      input.write(answer);
      if (!unread(question, answer)) show(...judge(question, answer));
    }
    const button = h("button", { type: "submit", class: "al-button" }, reveal ? "Predict" : "Check");
    const form = h("form", { class: "al-question", onsubmit: (event) => { event.preventDefault(); check(); } },
      h("fieldset", {}, h("legend", {}, ...marked(`${questions.length > 1 ? `${i + 1}. ` : ""}${question.prompt}`)), input.el),
      h("div", { class: "al-bar" }, button), said);
    // in a notebook the keys of a text field are its own
    form.addEventListener("keydown", keepKeys);
    return form;
  });
  const root = h("div", { class: "al-root al-quiz", role: "group", "aria-label": model.get("title") }, ...asked,
    questions.length > 1 ? score : null);
  function count() {
    const right = model.get("attempts").filter((given) => given.some(([, ok]) => ok)).length;
    score.textContent = `${right} of ${questions.length} answered`;
  }
  el.replaceChildren(root);
  const stop = follow(model, ["attempts"], count);
  return () => { stop(); root.remove(); };
}

// What a question is answered with, and how to read the answer.
function inputFor(question, name) {
  const { kind, options } = question;
  if (kind === "choice" || kind === "several") {
    const boxes = options.map((o) => h("input", { type: kind === "choice" ? "radio" : "checkbox", name, value: o.text }));
    const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
    return {
      el: h("div", { class: "al-options" }, ...options.map((o, i) => h("label", {}, boxes[i], h("span", {}, ...marked(o.text))))),
      read: () => (kind === "choice" ? chosen()[0] || "" : chosen()),
      write: (answer) => boxes.forEach((box) => { box.checked = [answer].flat().includes(box.value); }),
    };
  }
  if (kind === "order") {
    const list = h("ol", { class: "al-order" });
    const move = (item, by) => {
      const items = [...list.children], to = items[items.indexOf(item) + by];
      if (!to) return;
      if (by < 0) list.insertBefore(item, to); else list.insertBefore(to, item);
      item.querySelector(by < 0 ? "button" : "button + button").focus();
    };
    for (const k of question.mixed) {
      const step = options[k].text;
      const item = h("li", { "data-step": step }, h("span", {}, ...marked(step)));
      item.append(...[["Up", -1], ["Down", 1]].map(([word, by]) => h("button", { type: "button", class: "al-button",
        "aria-label": `${word}: ${step}`, onclick: () => move(item, by) }, word)));
      list.append(item);
    }
    const write = (answer) => answer.forEach((step) => list.append(...[...list.children].filter((item) => item.dataset.step === step)));
    return { el: list, read: () => [...list.children].map((item) => item.dataset.step), write };
  }
  const hint = kind === "number" ? "a number" : "a shape, such as 3, 4";
  const field = h("input", { type: "text", class: "al-field", "aria-label": hint, placeholder: hint, autocomplete: "off" });
  return { el: field, read: () => field.value, write: (answer) => { field.value = answer; } };
}

VIEWS.quiz = quiz;
