// What the lite part says when something is missing or takes long. In words that old browsers know (ES5); docs/make/lite.py puts it
// into each of its pages. data-python: the addresses of what Python is made of; data-numpy: that of NumPy.
(function () {
  var script = document.currentScript, path = /[?&]path=([^&]*)/.exec(location.search), box = null, said = {};
  var name = path && /^(notebooks|exercises)/.test(decodeURIComponent(path[1])) && decodeURIComponent(path[1]).replace(/\.ipynb$/, ".html");
  var reading = name ? ["The page of this notebook", "../../" + name] : ["What notebooks need", "../../run.html"];
  function patience() { return window.autolabPatience || 60; } // seconds for one cell, and for Python to start

  function say(text, more) {
    if (!document.body) {
      document.addEventListener("DOMContentLoaded", function () { say(text, more); });
      return;
    }
    if (said[text]) return;
    said[text] = true;
    if (!box) {
      box = document.createElement("div");
      box.setAttribute("role", "status");
      box.style.cssText = "position:fixed;z-index:10000;bottom:12px;left:12px;right:12px;max-width:44rem;margin:auto;max-height:60vh;overflow:auto;"
        + "padding:4px 16px;border-radius:6px;font:15px/1.45 system-ui,sans-serif;color:#111;background:#fff;border:1px solid #777;"
        + "box-shadow:0 2px 12px rgba(0,0,0,.35)";
      document.body.appendChild(box);
    }
    var line = document.createElement("p"), close = document.createElement("button");
    line.style.margin = "8px 0";
    line.appendChild(document.createTextNode(text + " "));
    if (more) {
      var link = document.createElement("a");
      link.href = more[1];
      link.style.color = "#0b57d0";
      link.appendChild(document.createTextNode(more[0]));
      line.appendChild(link);
      line.appendChild(document.createTextNode(" "));
    }
    close.type = "button";
    close.appendChild(document.createTextNode("Close"));
    close.onclick = function () {
      said[text] = false;
      box.removeChild(line);
      if (!box.firstChild) { box.parentNode.removeChild(box); box = null; }
    };
    line.appendChild(close);
    box.appendChild(line);
  }

  if (!window.WebAssembly || !("noModule" in document.createElement("script"))) {
    say("Python cannot run in this browser: it is too old, or WebAssembly is turned off.", reading);
    return;
  }
  if (![].at || !Object.hasOwn || !window.structuredClone) {
    say("This browser is too old for notebooks, of which some parts fail in it. Update it, or use another.", reading);
  }
  if (Math.min(screen.width, window.innerWidth) < 600) {
    say("Notebooks work on a phone, but Python starts slowly and the keyboard hides half of a cell."
      + (name ? " The page has the same pictures." : ""), reading);
  }

  // Files are kept in IndexedDB.
  var NOT_KEPT = "This browser keeps no files for this site: what you change is lost when you leave. File → Download saves a notebook.";
  try {
    var asked = indexedDB.open("autolab");
    asked.onerror = function (event) { event.preventDefault(); say(NOT_KEPT); };
    asked.onsuccess = function () { asked.result.close(); };
  } catch (error) { say(NOT_KEPT); }

  // Whether a file can be had; nothing of it is transferred.
  function need(address, name, without) {
    fetch(address, { method: "HEAD" }).then(function (answer) { if (!answer.ok) throw answer; })["catch"](function () {
      var host = /^https?:\/\/([^\/]*)/.exec(address);
      say(name + " could not be loaded" + (host ? " from " + host[1] + ", which this network may block" : "") + ": "
        + without + " Your files are kept.", reading);
    });
  }
  script.getAttribute("data-python").split(" ").forEach(function (address) {
    need(address, "A part of Python (" + address.replace(/.*\/|\?.*/g, "") + ")", "no cell runs. Reload the page to try again.");
  });
  need(script.getAttribute("data-numpy"), "NumPy", "`import autolab` and `import torch` fail until it can.");

  setTimeout(function () {
    if (!document.querySelector(".jp-Notebook, .jp-FileBrowser")) {
      say("The notebook does not open. The browser may be too old, or the connection slow; reload the page to try again.", reading);
    }
  }, 30000);

  // A worker that computes cannot be interrupted here, and one that cannot start does not say so.
  var waited = {}, told = {}, LONG = {
    busy: ["A cell has been running for ", " seconds. If it does not end, Kernel → Restart Kernel stops it; what is written in the notebook stays."],
    unknown: ["Python has not started after ", " seconds. On a slow machine, wait. Else reload the page, which fetches what did not arrive; "
      + "what is written in the notebook stays."]
  };
  setInterval(function () {
    for (var status in LONG) {
      var seen = document.querySelector('.jp-Notebook-ExecutionIndicator[data-status="' + status + '"]');
      waited[status] = seen ? (waited[status] || 0) + 1 : 0;
      if (!seen) told[status] = false;
      if (waited[status] >= patience() && !told[status]) { // not "===": the cell before may have been running a moment ago
        told[status] = true;
        say(LONG[status][0] + patience() + LONG[status][1], status === "unknown" ? reading : null);
      }
    }
  }, 1000);
})();
