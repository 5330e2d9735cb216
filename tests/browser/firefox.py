"""Debian's Firefox, asked by WebDriver BiDi, which it speaks itself: no driver program, no build of Playwright's."""

import itertools
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import websocket  # websocket-client, which Jupyter's server brings

KEYS = {
    "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Escape": "\ue00c", "Enter": "\ue007",
    "Home": "\ue011", "End": "\ue010", "Shift": "\ue008",
}  # fmt: skip
WAIT = 60  # seconds
HALF = "Invalid markup: Incorrect number of children"  # said of a formula, too, that is laid out when a part of it has arrived


class Firefox:
    """One Firefox with one page. `errors`: what its console said was wrong; `requests`: addresses that were asked for."""

    def __init__(self, path, profile):
        self.path, self.profile, self.numbers = path, Path(profile), itertools.count(1)
        self.errors, self.requests = [], []

    def __enter__(self):
        command = [self.path, "--headless", "--no-remote", "--profile", str(self.profile), "--remote-debugging-port=0"]
        log = self.profile / "firefox.log"
        with open(log, "w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + WAIT
        while not (found := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text("utf-8"))):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"Firefox did not start:\n{log.read_text('utf-8')[-2000:]}")
            time.sleep(0.05)
        self.socket = websocket.create_connection(f"{found[1]}/session", timeout=WAIT, suppress_origin=True)
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.page = self.send("browsingContext.create", type="tab")["context"]  # the first tab's page never has the focus: keys end nowhere
        return self

    def __exit__(self, *error):
        self.socket.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def send(self, method, **params):
        """One command; returns its result."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                if not answer["params"]["text"].startswith(HALF):  # test_site asks whether pages have whole formulas
                    self.errors.append(answer["params"]["text"])
            if answer.get("method") == "network.beforeRequestSent":
                self.requests.append(answer["params"]["request"]["url"])
            if answer.get("id") == number:
                break
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]

    def open(self, address, width=1100, height=900, wait="complete"):
        """Open a page of a size."""
        self.send("browsingContext.setViewport", context=self.page, viewport={"width": width, "height": height})
        self.send("browsingContext.navigate", context=self.page, url=address, wait=wait)

    def evaluate(self, expression):
        """The value of an expression, or of the promise that it is."""
        script = f"(async () => JSON.stringify(await ({expression})))()"
        answer = self.send("script.evaluate", expression=script, target={"context": self.page}, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"].get("value", "null"))

    def until(self, condition, seconds=20):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.02)

    def drag(self, selector, dx, dy, kind="mouse"):
        """Drag the middle of an element by mouse or touch. (0, 0) is a click."""
        x, y = self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); "
            f"return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )

        def to(share):
            return {"type": "pointerMove", "x": round(x + share * dx), "y": round(y + share * dy)}

        path = [to(0), {"type": "pointerDown", "button": 0}, *[to(k / 4) for k in range(1, 5)], {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": path}
        self.send("input.performActions", context=self.page, actions=[pointer])

    def press(self, *keys):
        """Press keys one after another, by their names (`ArrowRight`) or letters; `Shift+Enter` is one."""
        actions = []
        for chord in keys:
            held = [KEYS.get(key, key) for key in chord.split("+")] if len(chord) > 1 else [chord]
            actions += [{"type": "keyDown", "value": key} for key in held] + [{"type": "keyUp", "value": key} for key in held[::-1]]
        self.send("input.performActions", context=self.page, actions=[{"type": "key", "id": "keys", "actions": actions}])
